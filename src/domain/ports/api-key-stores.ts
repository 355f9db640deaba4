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

/** Selects keys by their issuers (R204). */
export interface DescendantsQuery {
  /** Keys and people, as `actorOf` names them. */
  readonly issuers: readonly string[];
  /** Restricts the result to one account. */
  readonly accountId?: string | undefined;
  /** Whether a key that an issuer created still counts after somebody else rotated it. */
  readonly includesRotatedByOthers: boolean;
  /** Maximum number of rows; all when absent. */
  readonly limit?: number | undefined;
}

export interface ApiKeyStore {
  insert(key: ApiKey, secretHash: Buffer, signingSecretSealed: string | null): Promise<void>;
  /** Locks the keys of the account until the transaction ends. */
  lockAccount(accountId: string): Promise<void>;
  /** A key of any account, for the command line and operators. `accountId` restricts it to one account. */
  find(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** Like `find`; also locks the key until the transaction ends. */
  lock(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** Leaves out keys of other accounts, if an account is given. In no order. */
  findMany(accountId: string | undefined, keyIds: readonly string[]): Promise<readonly ApiKey[]>;
  findCredentials(keyId: string): Promise<ApiKeyCredentials | undefined>;
  /** The account's keys, optionally of one environment, newest first. */
  page(accountId: string, request: PageRequest, environment?: Environment): Promise<Page<ApiKey>>;
  /**
   * What each issuer created or rotated, and its descendants, oldest first. A key with two of the issuers comes
   * twice.
   */
  findDescendants(
    query: DescendantsQuery,
  ): Promise<readonly { readonly issuer: string; readonly key: ApiKey }[]>;
  update(keyId: string, patch: ApiKeyPatch): Promise<ApiKey>;
  /** Keys that replaced these by rotation. In no order. */
  findSuccessors(accountId: string, keyIds: readonly string[]): Promise<readonly ApiKey[]>;
  /** Adds to the counts of a day. */
  addRequests(day: Date, requests: readonly KeyRequests[]): Promise<void>;
  /** Counts of a key since a day, over its days. */
  pastRequests(keyId: string, since: Date): Promise<readonly PastKeyRequests[]>;
  /** Counts of keys of an account, by day, the newest first. Both days are included. */
  usage(
    accountId: string,
    keyIds: readonly string[],
    from: Date,
    to: Date,
    limit: number,
  ): Promise<readonly KeyUsage[]>;
  /** Deletes counts of days before this one. Returns how many. */
  forgetRequests(before: Date): Promise<number>;
  /** Stores the last use of keys and scopes. Later times win. */
  touch(uses: readonly ApiKeyUse[]): Promise<void>;
  /** The scopes of the keys with their last uses. `accountId` restricts it to one account. */
  scopeUses(keyIds: readonly string[], accountId?: string): Promise<ReadonlyMap<string, readonly ScopeUse[]>>;
}

/** Used request signatures, shared by all processes (R10). */
export interface SpentSignatures {
  /** Stores a signature of a key until `retainedUntil`. Returns false when it was used before. */
  spend(keyId: string, signature: string, retainedUntil: Date): Promise<boolean>;
  /** Deletes signatures that are past their time. Returns how many. */
  sweep(now: Date): Promise<number>;
}
