/**
 * An **API key** is `msg_<key id>_<secret half>`. The key id may be logged. The secret half is stored only as a hash. A
 * key has scopes and one environment. A key **ends** when it is revoked or expires. An ended key is never changed or
 * reactivated (R203).
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
  /** Networks in CIDR notation from which the key may be used. Empty allows every IP address. */
  readonly ipAllowlist: readonly string[];
  /** Rate limits that replace the limits of the account's plan. Null: the plan's limit applies. */
  readonly rateLimit: { readonly perMinute: number | null; readonly perSecond: number | null };
  readonly createdAt: Date;
  /** The creator, in the form that `actorOf` returns. A rotation keeps it. */
  readonly createdBy: string;
  /**
   * The person or key that received the present secret. This is the creator of the key or, after a rotation, the person
   * or key that rotated the predecessor (R204).
   */
  readonly issuedBy: string;
  /** Id of the key that this key replaced by rotation. Null if this key was created. */
  readonly replaces: string | null;
  /** When another key replaced this key. From then on, the expiry of this key can only be moved to an earlier time. */
  readonly rotatedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A request that used a key. `scope` is the scope that allowed the request. Null stands for any use of the key. */
export interface ApiKeyUse {
  readonly keyId: string;
  readonly scope: Scope | null;
  readonly at: Date;
}

/** The last use of a scope. Null if the scope was never used. */
export interface ScopeUse {
  readonly scope: Scope;
  readonly lastUsedAt: Date | null;
}

/** A key with its secrets, which only authentication needs. */
export interface ApiKeyCredentials {
  readonly key: ApiKey;
  readonly secretHash: Buffer;
  readonly signingSecretSealed: string | null;
  /** True if another cell has the account (R507). */
  readonly hasMoved: boolean;
  /** The plan of the account. Absent if the account has no plan. */
  readonly plan: Omit<Plan, 'name' | 'sessionPerMinute'> | null;
}

/** Builds the API key resource, the form of a key in every response (R7). It has no secrets. */
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

/** True if the key was revoked or has expired. */
export function hasEnded(key: KeyEnd, now: Date): boolean {
  return key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now);
}

/** Throws `key_ended` if a key was revoked, has expired, or was rotated and its overlap is over. */
export function refuseEnded(key: KeyEnd, now: Date): void {
  if (!hasEnded(key, now)) return;
  const how = key.revokedAt ? 'was revoked' : key.rotatedAt ? 'was rotated' : 'has expired';
  const at = (key.revokedAt ?? key.expiresAt)?.toISOString();
  throw keyEnded(`The API key ${how} and ended at ${at}: it cannot be changed. Create a new one.`);
}

/** Throws `key_ended` if a key was already replaced by rotation. */
export function refuseRotated({ rotatedAt }: KeyEnd): void {
  if (!rotatedAt) return;
  const when = rotatedAt.toISOString();
  throw keyEnded(`The API key was rotated at ${when}. Rotate the key that replaced it.`);
}

/** Throws `key_ended` if a rotated key would end later than now planned. */
export function refuseLaterEnd({ rotatedAt, expiresAt }: KeyEnd, later: Date | null): void {
  if (!rotatedAt || !expiresAt || (later && later <= expiresAt)) return;
  throw keyEnded(
    `The API key was rotated and ends at ${expiresAt.toISOString()}: it can end sooner, not later.`,
  );
}
