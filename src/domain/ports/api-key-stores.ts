import type { ApiKey, ApiKeyCredentials, ApiKeyUse, ScopeUse } from '../api-keys/api-key.ts';
import type { Environment } from '../caller.ts';
import type { Page, PageRequest } from '../paging.ts';

export type ApiKeyPatch = Partial<
  Pick<
    ApiKey,
    'name' | 'scopes' | 'environment' | 'ipAllowlist' | 'expiresAt' | 'rotatedAt' | 'revokedAt' | 'rateLimit'
  >
>;

/** Whose keys are looked for, and which of them. */
export interface DescendantsQuery {
  /** Keys and people, as `actorOf` names them. */
  readonly issuers: readonly string[];
  /** Narrows it to one account. */
  readonly accountId?: string | undefined;
  /** Whether a key that a maker created counts as theirs after somebody else has rotated it. */
  readonly includesRotatedByOthers: boolean;
  /** At most so many rows; all when absent. */
  readonly limit?: number | undefined;
}

export interface ApiKeyStore {
  insert(key: ApiKey, secretHash: Buffer, signingSecretSealed: string | null): Promise<void>;
  /** Lets nobody else change the keys of the account until the transaction ends. */
  lockAccount(accountId: string): Promise<void>;
  /** Any account's key, for the command line and operators; `accountId` narrows it to one account. */
  find(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** As `find`, and locks the key until the transaction ends. */
  lock(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** Those of the keys that are the account's, in no order. */
  findMany(accountId: string, keyIds: readonly string[]): Promise<readonly ApiKey[]>;
  findCredentials(keyId: string): Promise<ApiKeyCredentials | undefined>;
  /** The account's keys, those of one environment where it is given, the newest first. */
  page(accountId: string, request: PageRequest, environment?: Environment): Promise<Page<ApiKey>>;
  /**
   * What each of the issuers created or rotated, and what these keys created or rotated in turn; the oldest first.
   * A key that two of the issuers lead to comes twice.
   */
  findDescendants(
    query: DescendantsQuery,
  ): Promise<readonly { readonly issuer: string; readonly key: ApiKey }[]>;
  update(keyId: string, patch: ApiKeyPatch): Promise<ApiKey>;
  /** Records when keys and their scopes were last used; later times win. */
  touch(uses: readonly ApiKeyUse[]): Promise<void>;
  /** The scopes of those keys, each with its last use; `accountId` narrows it to one account. */
  scopeUses(keyIds: readonly string[], accountId?: string): Promise<ReadonlyMap<string, readonly ScopeUse[]>>;
}

/** The request signatures that were used, shared by all processes (R10). */
export interface SpentSignatures {
  /** Remembers a key's signature until `retainedUntil`; false when it was spent before, by whichever process. */
  spend(keyId: string, signature: string, retainedUntil: Date): Promise<boolean>;
  /** Forgets those whose time has passed; how many. */
  sweep(now: Date): Promise<number>;
}
