/**
 * An **API key** is `msg_<key id>_<secret half>`: the key id names it and may be logged, the secret half is
 * stored only as a hash. A key belongs to one environment and carries scopes.
 */
import type { Plan } from '../accounts/account.ts';
import type { Environment, Scope } from '../caller.ts';

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
