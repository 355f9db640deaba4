import type { AuditLink, ChainedEntry } from '../audit/audit-chain.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import type { TwoWayRange } from '../paging.ts';
import type { AuditFilter } from './list-stores.ts';

export interface AuditStore {
  /** Appends to the hash chain and locks its end until the transaction ends. */
  append(entry: AuditEntry): Promise<void>;
  /** Returns at most `limit` entries after the number `seq`, in order. */
  chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]>;
  /**
   * Returns the entries with these ids in the hash chain, each with the link before it. Without `accountId`, returns
   * entries of all accounts.
   */
  chained(
    accountId: string | undefined,
    ids: readonly string[],
  ): Promise<readonly (ChainedEntry & { readonly previous: AuditLink })[]>;
  /** Returns the stored end of the hash chain, and the signed head. `signed` is null before the first signature. */
  heads(): Promise<{ readonly logId: string; readonly signed: string | null; readonly end: AuditLink }>;
  /** Replaces the signed head, if the stored head still equals `before`. */
  replaceSigned(before: string | null, signed: string): Promise<void>;
  /**
   * Lists an account's entries, newest first. If `accountId` is undefined, lists the entries of all accounts and of the
   * platform.
   */
  list(
    accountId: string | undefined,
    filter: AuditFilter,
    range: TwoWayRange,
  ): Promise<readonly AuditEntry[]>;
  /** Returns the account's entries with these ids. */
  findMany(accountId: string, ids: readonly string[]): Promise<readonly AuditEntry[]>;
  count(accountId: string | undefined, filter: AuditFilter): Promise<number>;
}

/** The number and hash of the last audit entry at some time. It proves which entries there were at that time. */
export interface AuditHead extends AuditLink {
  /** Id of the log. It is created with the database and never changes. */
  readonly logId: string;
}

/** Signs heads of the audit log with the master key, and stores the last head outside the database. */
export interface AuditHeads {
  /** Returns a signed text of the head. Only the holder of the master key can make it. */
  sign(head: AuditHead): string;
  /** Reads a signed head, also one signed with a previous master key. Returns undefined for any other text. */
  read(signed: string): AuditHead | undefined;
  /** True if the head was signed with a previous master key, so that it should be signed again. */
  isOutdated(signed: string): boolean;
  /** True if the head was signed with a master key that the operator declared lost. */
  isLost(signed: string): boolean;
  /** Stores the head, unless a later head of the same log is already stored. Never rejects: a failure is logged. */
  keep(head: AuditHead): Promise<void>;
  /** Resolves when all heads given to `keep` are stored. */
  idle(): Promise<void>;
  /** Returns the stored head of the log. Undefined if there is none or it cannot be read. */
  kept(logId: string): Promise<AuditHead | undefined>;
}
