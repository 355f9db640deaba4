import type { Submission } from '../domain/ports/provider.ts';

/**
 * Returns the provider's id for an accepted message, or for its part `part` (counted from 0). If the provider gave no
 * id, returns an invented id, which no delivery report can match. The message must still count as accepted, because a
 * retry would duplicate it.
 */
export function sidOf(said: unknown, { messageId, position }: Submission, part = 0): string {
  const isSaid = (typeof said === 'string' && said !== '') || typeof said === 'number';
  return isSaid ? String(said) : `unnamed:${messageId}:${position}:${part}`;
}
