/**
 * An **API key** is `msg_<key id>_<secret half>`: the key id names it and may be logged, the secret half is
 * stored only as a hash. A key belongs to one environment and carries scopes.
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
  /** CIDRs; empty: every address may use the key. */
  readonly ipAllowlist: readonly string[];
  /** Overrides of the account's plan. */
  readonly rateLimit: { readonly perMinute: number | null; readonly perSecond: number | null };
  readonly createdAt: Date;
  /** Who made the key, as `actorOf` names them. A key that replaces another one inherits it. */
  readonly createdBy: string;
  /** Who was given the secret: who created the key, or rotated the one that it replaces. */
  readonly issuedBy: string;
  /** When another key replaced it; its end can then only come sooner. */
  readonly rotatedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** That a key was used: with the scope that let the request in, or null for the key as such. */
export interface ApiKeyUse {
  readonly keyId: string;
  readonly scope: Scope | null;
  readonly at: Date;
}

/** When a scope of a key last let a request in; null for never. */
export interface ScopeUse {
  readonly scope: Scope;
  readonly lastUsedAt: Date | null;
}

/** What authentication needs besides the key itself; never leaves the domain. */
export interface ApiKeyCredentials {
  readonly key: ApiKey;
  readonly secretHash: Buffer;
  readonly signingSecretSealed: string | null;
  /** The account's plan, where one is set. */
  readonly plan: Omit<Plan, 'name' | 'sessionPerMinute'> | null;
}

/** An API key as every answer about it shows it (R7); neither half of a secret is in it. */
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

/** The **end** of a key: it was revoked, or its time has passed. What has ended is never changed or revived. */

type Ending = Pick<ApiKey, 'expiresAt' | 'rotatedAt' | 'revokedAt'>;

const keyEnded = (message: string) => new DomainError('key_ended', message);

/** Whether the key works no more at `now`. */
export function hasEnded(key: Ending, now: Date): boolean {
  return key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now);
}

/** Throws `key_ended` for a key that was revoked, has expired, or was rotated and is past its overlap. */
export function refuseEnded(key: Ending, now: Date): void {
  if (!hasEnded(key, now)) return;
  const how = key.revokedAt ? 'was revoked' : key.rotatedAt ? 'was rotated' : 'has expired';
  const at = (key.revokedAt ?? key.expiresAt)?.toISOString();
  throw keyEnded(`The API key ${how} and ended at ${at}: it cannot be changed. Create a new one.`);
}

/** Throws `key_ended` when a key that another one replaced would be replaced again. */
export function refuseRotated({ rotatedAt }: Ending): void {
  if (!rotatedAt) return;
  const when = rotatedAt.toISOString();
  throw keyEnded(`The API key was rotated at ${when}. Rotate the key that replaced it.`);
}

/** Throws `key_ended` when a key that another one replaced would end later than its overlap does. */
export function refuseLaterEnd({ rotatedAt, expiresAt }: Ending, later: Date | null): void {
  if (!rotatedAt || !expiresAt || (later && later <= expiresAt)) return;
  throw keyEnded(
    `The API key was rotated and ends at ${expiresAt.toISOString()}: it can end sooner, not later.`,
  );
}
