import type { Submission } from '../domain/ports/provider.ts';

/**
 * Returns the provider's id for an accepted message, or for its part `part` (counted from 0). If the provider names
 * none, an id is made up. The message was accepted, so sending it again would duplicate it. No delivery report can
 * match a made-up id.
 */
export function sidOf(said: unknown, { messageId, position }: Submission, part = 0): string {
  const isSaid = (typeof said === 'string' && said !== '') || typeof said === 'number';
  return isSaid ? String(said) : `unnamed:${messageId}:${position}:${part}`;
}
