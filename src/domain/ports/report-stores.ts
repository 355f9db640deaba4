import type { DeliveryReport } from './provider.ts';

/** Reports of one file of the spool, in the order in which they came. */
export interface SpoolBatch {
  /** The file: a UUID. */
  readonly spool: string;
  /** Where the reports begin and end in it, in bytes. */
  readonly from: number;
  readonly to: number;
  readonly reports: readonly KeptReport[];
}

/** Delivery reports that are kept on this host's disk until the database takes them. */
export interface ReportSpool {
  /** Whether no report waits, nor is being appended. */
  readonly isEmpty: boolean;
  /** Bytes on the disk. */
  readonly bytes: number;
  /**
   * Adds reports behind all that wait, in one file, and resolves once they survive a crash. Throws
   * `service_unavailable`, and keeps none of them, where there is no room or the disk fails.
   */
  append(reports: readonly KeptReport[]): Promise<Omit<SpoolBatch, 'reports'>>;
  /** The oldest file; undefined when nothing waits. */
  oldest(): string | undefined;
  /** Up to `most` reports of a file from a position on; none at its end. */
  read(spool: string, from: number, most: number): Promise<SpoolBatch>;
  /** Removes a file whose reports are applied up to `to`; false where more were added meanwhile. */
  remove(spool: string, to: number): Promise<boolean>;
  /** Takes over the files of processes that are gone; how many. */
  adopt(): Promise<number>;
  /** Lets go of the files; what they hold stays for the next process. */
  close(): Promise<void>;
}

/** A sid that stands for a recipient, or for one part of its text. */
export interface SidRow {
  readonly provider: string;
  readonly sid: string;
  readonly messageId: string;
  readonly position: number;
  /** Number of the part, from 0, of so many. */
  readonly part: number;
  readonly parts: number;
}

export interface MatchedReport {
  readonly report: DeliveryReport;
  readonly messageId: string;
  readonly position: number;
  /** All parts of the recipient's text are reported delivered, this one counted in. */
  readonly complete: boolean;
}

/** A report that came before its sid was known. */
export interface KeptReport {
  readonly provider: string;
  readonly report: DeliveryReport;
  readonly receivedAt: Date;
}

/** Where a kept report stands among the others: by the time it came, to the microsecond, and its id. */
export interface KeptPlace {
  readonly place: string;
  readonly id: string;
}

/** A kept report as it is stored. */
export interface StoredReport extends KeptReport, KeptPlace {}

export interface SoughtReport {
  readonly report: DeliveryReport;
  /** The report names a number, and may be applied to a message to another one where no other has its sid. */
  readonly acceptsOtherNumber: boolean;
}

export interface ReportStore {
  /** Remembers sids, and returns the reports that came before them (R15), which are then forgotten. */
  addSids(rows: readonly SidRow[]): Promise<readonly KeptReport[]>;
  /** Finds the recipients that reports speak of, and marks their parts. */
  match(
    provider: string,
    reports: readonly SoughtReport[],
  ): Promise<{ matched: readonly MatchedReport[]; unmatched: readonly DeliveryReport[] }>;
  keepUnmatched(reports: readonly KeptReport[]): Promise<void>;
  /**
   * Locks kept reports whose sid is known by now, oldest first, `limit` at the most: those after `after`. What another
   * transaction has locked is passed over.
   */
  lockMatchable(after: KeptPlace, limit: number): Promise<readonly StoredReport[]>;
  /** Forgets kept reports. */
  forget(ids: readonly string[]): Promise<void>;
  /** Up to which byte a file of the spool is applied; 0 when nothing of it is. */
  spoolAppliedTo(spool: string): Promise<number>;
  /** Notes that it is applied from `from` up to `to`; false, and nothing is noted, where it is not at `from`. */
  noteSpoolApplied(spool: string, from: number, to: number): Promise<boolean>;
  /** Forgets a file that is removed. */
  forgetSpool(spool: string): Promise<void>;
}
