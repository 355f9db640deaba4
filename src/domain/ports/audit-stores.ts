import type { AuditLink, ChainedEntry } from '../audit/audit-chain.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import type { KeyRange } from '../paging.ts';
import type { AuditFilter } from './list-stores.ts';

export interface AuditStore {
  /** Appends to the chain and locks its end until the transaction ends. */
  append(entry: AuditEntry): Promise<void>;
  /** The entries after number `seq`, in order. */
  chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]>;
  /** The stored end of the chain, and the signed head; null before the first one. */
  heads(): Promise<{ readonly logId: string; readonly signed: string | null; readonly end: AuditLink }>;
  /** Replaces the signed head if it still is `before`. */
  replaceSigned(before: string | null, signed: string): Promise<void>;
  /** Entries of an account, or of all accounts and the platform when undefined, newest first. */
  list(accountId: string | undefined, filter: AuditFilter, range: KeyRange): Promise<readonly AuditEntry[]>;
  /** Entries of the account by id. */
  findMany(accountId: string, ids: readonly string[]): Promise<readonly AuditEntry[]>;
  count(accountId: string | undefined, filter: AuditFilter): Promise<number>;
}

/** A former end of the audit log: proof of its number of entries and their hash. */
export interface AuditHead extends AuditLink {
  /** Id of the log; a database keeps it for good. */
  readonly logId: string;
}

/** Signs heads of the audit log with the master key, and stores the last one outside the database. */
export interface AuditHeads {
  /** Only the holder of the master key can make this text. */
  sign(head: AuditHead): string;
  /** Reads a signed head, also under a previous master key. Undefined for any other text. */
  read(signed: string): AuditHead | undefined;
  /** Whether the head was signed with a previous master key and should be signed again. */
  isOutdated(signed: string): boolean;
  /** Whether the head was signed with a master key that the operator declared lost. */
  isLost(signed: string): boolean;
  /** Stores the head unless a later one of the same log is stored. Never rejects; logs a failure. */
  keep(head: AuditHead): Promise<void>;
  /** Resolves when all pending heads are stored. */
  idle(): Promise<void>;
  /** The stored head of the log; undefined when none can be read. */
  kept(logId: string): Promise<AuditHead | undefined>;
}
