/**
 * An **actor** is the person, key or system that did something. The audit log, the ledger, keys and messages record it
 * as a text: `user:…`, `key:…` or `system:…` (`actorOf`). The text still finds a person who was removed and a key that
 * has ended.
 */
import type { ApiKey } from '../api-keys/api-key.ts';
import type { User } from './user.ts';

export type Actor =
  | { readonly kind: 'user'; readonly user: User }
  | { readonly kind: 'key'; readonly key: ApiKey }
  | { readonly kind: 'system'; readonly name: string };

/** The name under which members of an account see any operator of the platform. */
export const OPERATOR_NAME = 'operator';

/** Splits the text of an actor into its kind and its id or name. */
export function parseActor(text: string): { readonly kind: string; readonly id: string } {
  const colon = text.indexOf(':');
  return { kind: text.slice(0, Math.max(colon, 0)), id: text.slice(colon + 1) };
}
