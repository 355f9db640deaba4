/**
 * An **API key** is `msg_<key id>_<secret half>`. The key id may be logged; the secret half is stored only as a
 * hash. A key has scopes and one environment. Its **end** is its revocation or its expiry; an ended key is never
 * changed or revived (R203).
 */
import type { Plan } from '../accounts/account.ts';
import type { Environment, Scope } from '../caller.ts';
import { DomainError } from '../errors.ts';

export interface ApiKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly environment: Environment;
  readonly enableHmac: boolean;
  /** CIDRs. Empty allows every address. */
  readonly ipAllowlist: readonly string[];
  /** Overrides the account's plan. */
  readonly rateLimit: { readonly perMinute: number | null; readonly perSecond: number | null };
  readonly createdAt: Date;
  /** The creator, as `actorOf` names it. A successor inherits it. */
  readonly createdBy: string;
  /** Who was given the secret: the creator, or who rotated the predecessor (R204). */
  readonly issuedBy: string;
  /** The key that a rotation replaced by this one. Null for a key that was created. */
  readonly replaces: string | null;
  /** When a successor replaced it. From then on its end can only be moved forward. */
  readonly rotatedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A use of a key, with the scope that admitted the request, or null for the key itself. */
export interface ApiKeyUse {
  readonly keyId: string;
  readonly scope: Scope | null;
  readonly at: Date;
}

/** The last use of a scope; null if it was never used. */
export interface ScopeUse {
  readonly scope: Scope;
  readonly lastUsedAt: Date | null;
}

/** A key with its secrets, for authentication only. */
export interface ApiKeyCredentials {
  readonly key: ApiKey;
  readonly secretHash: Buffer;
  readonly signingSecretSealed: string | null;
  /** The account's plan, if it has one. */
  readonly plan: Omit<Plan, 'name' | 'sessionPerMinute'> | null;
}

/** An API key as every answer shows it (R7), without secrets. */
export function apiKeyResource(key: ApiKey) {
  return {
    keyId: key.keyId,
    name: key.name,
    scopes: key.scopes,
    environment: key.environment,
    enableHmac: key.enableHmac,
    ipAllowlist: key.ipAllowlist,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  };
}

type KeyEnd = Pick<ApiKey, 'expiresAt' | 'rotatedAt' | 'revokedAt'>;

const keyEnded = (message: string) => new DomainError('key_ended', message);

/** Whether the key was revoked or has expired. */
export function hasEnded(key: KeyEnd, now: Date): boolean {
  return key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now);
}

/** Throws `key_ended` for a key that was revoked, has expired, or was rotated and is past its overlap. */
export function refuseEnded(key: KeyEnd, now: Date): void {
  if (!hasEnded(key, now)) return;
  const how = key.revokedAt ? 'was revoked' : key.rotatedAt ? 'was rotated' : 'has expired';
  const at = (key.revokedAt ?? key.expiresAt)?.toISOString();
  throw keyEnded(`The API key ${how} and ended at ${at}: it cannot be changed. Create a new one.`);
}

/** Throws `key_ended` for a key that already has a successor. */
export function refuseRotated({ rotatedAt }: KeyEnd): void {
  if (!rotatedAt) return;
  const when = rotatedAt.toISOString();
  throw keyEnded(`The API key was rotated at ${when}. Rotate the key that replaced it.`);
}

/** Throws `key_ended` when the end of a rotated key would move back. */
export function refuseLaterEnd({ rotatedAt, expiresAt }: KeyEnd, later: Date | null): void {
  if (!rotatedAt || !expiresAt || (later && later <= expiresAt)) return;
  throw keyEnded(
    `The API key was rotated and ends at ${expiresAt.toISOString()}: it can end sooner, not later.`,
  );
}
