import type { AuditLink, ChainedEntry } from '../audit/audit-chain.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';

export interface AuditStore {
  /** Appends to the end of the chain, which stays locked until the transaction ends. */
  append(entry: AuditEntry): Promise<void>;
  /** The chain's entries after number `seq`, in their order. */
  chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]>;
  /** The end of the chain as it is kept beside the log, and the signed head, null when nobody has signed one yet. */
  heads(): Promise<{ readonly logId: string; readonly signed: string | null; readonly end: AuditLink }>;
  /** Replaces the signed head unless it is another one than `before` by now. */
  replaceSigned(before: string | null, signed: string): Promise<void>;
}

/** The end that an audit log had: proof that it held so many entries, and which. */
export interface AuditHead extends AuditLink {
  /** Names the log: a database has one for good. */
  readonly logId: string;
}

/** Signs heads of the audit log with the master key, and keeps the last one outside the database. */
export interface AuditHeads {
  /** Only who has the master key can make such a text. */
  sign(head: AuditHead): string;
  /** What `sign` made, also under a previous master key; undefined for anything else. */
  read(signed: string): AuditHead | undefined;
  /** Whether the text should be signed anew: it is under a previous master key. */
  isOutdated(signed: string): boolean;
  /** Whether the text is under a master key that the operator has declared lost. */
  isLost(signed: string): boolean;
  /** Keeps the head unless a later one of its log is kept. Never fails: what cannot be kept is logged. */
  keep(head: AuditHead): Promise<void>;
  /** Resolves when everything that was to be kept is. */
  idle(): Promise<void>;
  /** The head that is kept for the log; undefined when there is none that can be read. */
  kept(logId: string): Promise<AuditHead | undefined>;
}
