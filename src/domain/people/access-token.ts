/**
 * An **access token** lets a program use some of a person's permissions over GraphQL without signing in. It is `gat_`
 * and 32 random bytes. The store has its SHA-256. It ends when it expires, when it is revoked, when the password of its
 * person is reset, and when the person is removed. It never allows more than the person's present role.
 */
import { createHash } from 'node:crypto';
import type { PersonFacts } from '../accounts/user.ts';

export interface AccessToken {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** Names of operations, such as `message.list`. */
  readonly permissions: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A valid token with its person. */
export interface KnownToken extends PersonFacts {
  readonly token: AccessToken;
}

export const ACCESS_TOKEN_PREFIX = 'gat_';
export const ACCESS_TOKEN_MAX_DAYS = 365;
export const ACCESS_TOKENS_MAX = 50;
export const TOKEN_NAME_MAX_LENGTH = 100;

/** Returns the hash under which a session token, an access token or a challenge is stored. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
