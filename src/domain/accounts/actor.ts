/**
 * An **actor** is who did something, as the audit log, the ledger, keys and messages record it: `user:…`, `key:…` or
 * `system:…` (`actorOf`). People and keys are found again after they have left or ended.
 */
import type { ApiKey } from '../api-keys/api-key.ts';
import type { User } from './user.ts';

export type Actor =
  | { readonly kind: 'user'; readonly user: User }
  | { readonly kind: 'key'; readonly key: ApiKey }
  | { readonly kind: 'system'; readonly name: string };

/** Members of an account see an operator of the platform by this name only. */
export const OPERATOR_NAME = 'operator';

/** The kind and the id or name that an actor's text holds. */
export function parseActor(text: string): { readonly kind: string; readonly id: string } {
  const colon = text.indexOf(':');
  return { kind: text.slice(0, Math.max(colon, 0)), id: text.slice(colon + 1) };
}
