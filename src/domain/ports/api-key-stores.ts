import type { ApiKey, ApiKeyCredentials, ApiKeyUse, ScopeUse } from '../api-keys/api-key.ts';
import type { KeyRequests, KeyUsage, PastKeyRequests } from '../api-keys/key-requests.ts';
import type { Environment } from '../caller.ts';
import type { Page, PageRequest } from '../paging.ts';

export type ApiKeyPatch = Partial<
  Pick<
    ApiKey,
    'name' | 'scopes' | 'environment' | 'ipAllowlist' | 'expiresAt' | 'rotatedAt' | 'revokedAt' | 'rateLimit'
  >
>;

/** Selects keys by their issuers: the people and keys that received the secrets of new keys (R204). */
export interface DescendantsQuery {
  /** Keys and people, in the form that `actorOf` returns. */
  readonly issuers: readonly string[];
  /** Restricts the result to one account. */
  readonly accountId?: string | undefined;
  /** If true, a key that an issuer created counts even after somebody else rotated it. */
  readonly includesRotatedByOthers: boolean;
  /** Largest number of rows. Default: all rows. */
  readonly limit?: number | undefined;
}

export interface ApiKeyStore {
  insert(key: ApiKey, secretHash: Buffer, signingSecretSealed: string | null): Promise<void>;
  /** Locks the keys of the account until the transaction ends. */
  lockAccount(accountId: string): Promise<void>;
  /**
   * Finds a key. Without `accountId`, it finds keys of any account, which only operators and the command line may do.
   */
  find(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** Like `find`. Also locks the key until the transaction ends. */
  lock(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** Returns keys in no particular order. If an account is given, it leaves out keys of other accounts. */
  findMany(accountId: string | undefined, keyIds: readonly string[]): Promise<readonly ApiKey[]>;
  /** Returns the number of the account's keys that have not ended at `now`. */
  countLiving(accountId: string, now: Date): Promise<number>;
  findCredentials(keyId: string): Promise<ApiKeyCredentials | undefined>;
  /** Lists the account's keys, newest first. `environment` restricts the list to one environment. */
  page(accountId: string, request: PageRequest, environment?: Environment): Promise<Page<ApiKey>>;
  /**
   * Returns the keys that each issuer created or rotated, and the descendants of those keys, oldest first. A key that
   * descends from two of the issuers is returned twice.
   */
  findDescendants(
    query: DescendantsQuery,
  ): Promise<readonly { readonly issuer: string; readonly key: ApiKey }[]>;
  update(keyId: string, patch: ApiKeyPatch): Promise<ApiKey>;
  /**
   * Returns the keys that replaced these keys by rotation, in no particular order. If an account is given, it leaves
   * out keys of other accounts. So does `usage`.
   */
  findSuccessors(accountId: string | undefined, keyIds: readonly string[]): Promise<readonly ApiKey[]>;
  /** Adds to the counts of requests of a day. */
  addRequests(day: Date, requests: readonly KeyRequests[]): Promise<void>;
  /** Returns the counts of a key's requests, summed over the days from `since` on. */
  pastRequests(keyId: string, since: Date): Promise<readonly PastKeyRequests[]>;
  /**
   * Returns the daily counts of requests of the keys, newest first. The days `from` and `to` are included.
   */
  usage(
    accountId: string | undefined,
    keyIds: readonly string[],
    from: Date,
    to: Date,
    limit: number,
  ): Promise<readonly KeyUsage[]>;
  /** Deletes the counts of days before `before`. Returns the number of deleted rows. */
  forgetRequests(before: Date): Promise<number>;
  /** Stores the last uses of keys and scopes. If a later time is already stored, that time stays. */
  touch(uses: readonly ApiKeyUse[]): Promise<void>;
  /** Returns the scopes of the keys with their last uses. `accountId` restricts the result to one account. */
  scopeUses(keyIds: readonly string[], accountId?: string): Promise<ReadonlyMap<string, readonly ScopeUse[]>>;
}

/** Stores used request signatures, which all processes share, so that a signature is accepted only once (R10). */
export interface SpentSignatures {
  /** Stores a key's signature until `retainedUntil`. Returns false if it was used before. */
  spend(keyId: string, signature: string, retainedUntil: Date): Promise<boolean>;
  /** Deletes signatures whose `retainedUntil` has passed. Returns the number of deleted signatures. */
  sweep(now: Date): Promise<number>;
}
