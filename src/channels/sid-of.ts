import type { Submission } from '../domain/ports/provider.ts';

/**
 * The provider's id of a message, or of its part `part` (from 0), that the provider took; a made-up one where it says
 * none. It was taken, and sending it again would double it; only its reports will find no owner.
 */
export function sidOf(said: unknown, { messageId, position }: Submission, part = 0): string {
  const isSaid = (typeof said === 'string' && said !== '') || typeof said === 'number';
  return isSaid ? String(said) : `unnamed:${messageId}:${position}:${part}`;
}
