import type { Submission } from '../domain/ports/provider.ts';

/**
 * The provider's id for an accepted message, or for its part `part` (from 0). Made up when the provider names none:
 * the message was accepted, and sending it again would duplicate it. Reports cannot be matched to a made-up id.
 */
export function sidOf(said: unknown, { messageId, position }: Submission, part = 0): string {
  const isSaid = (typeof said === 'string' && said !== '') || typeof said === 'number';
  return isSaid ? String(said) : `unnamed:${messageId}:${position}:${part}`;
}
