import type { DeliveryReport } from './provider.ts';

/** Reports from one spool file, in order. A spool file stores reports on the disk until the database accepts them. */
export interface SpoolBatch {
  /** Name of the file, a UUID. */
  readonly spool: string;
  /** Range of bytes that the reports have in the file. */
  readonly from: number;
  readonly to: number;
  readonly reports: readonly KeptReport[];
}

/** Stores delivery reports on this host's disk until the database accepts them. */
export interface ReportSpool {
  /** True if no report is stored or being appended. */
  readonly isEmpty: boolean;
  /** Number of bytes on the disk. */
  readonly bytes: number;
  /**
   * Appends reports to one file. Resolves when a crash can no longer lose them. If the disk is full or fails, throws
   * `service_unavailable` and stores no report.
   */
  append(reports: readonly KeptReport[]): Promise<Omit<SpoolBatch, 'reports'>>;
  /** Returns the name of the oldest file. Undefined if there is none. */
  oldest(): string | undefined;
  /** Reads up to `most` reports of a file from the byte `from` on. Returns none at the end of the file. */
  read(spool: string, from: number, most: number): Promise<SpoolBatch>;
  /** Removes a file whose reports up to `to` are in the database. Returns false if more were appended meanwhile. */
  remove(spool: string, to: number): Promise<boolean>;
  /** Takes over the spool files of processes that no longer run. Returns the number of files. */
  adopt(): Promise<number>;
  /** Closes the files. Their reports stay for the next process. */
  close(): Promise<void>;
}

/** A sid of a recipient, or of one part of the recipient's text. */
export interface SidRow {
  readonly provider: string;
  readonly sid: string;
  readonly messageId: string;
  readonly position: number;
  /** Number of this part, from 0, and number of all parts. */
  readonly part: number;
  readonly parts: number;
}

export interface MatchedReport {
  readonly report: DeliveryReport;
  readonly messageId: string;
  readonly position: number;
  /** True if this report completes the delivery: all parts of the recipient's text are delivered. */
  readonly complete: boolean;
}

/** A report that is stored because its sid was unknown when it arrived. */
export interface KeptReport {
  readonly provider: string;
  readonly report: DeliveryReport;
  readonly receivedAt: Date;
}

/** The position of a kept report in the order of arrival. `place` is its arrival time in microseconds. */
export interface KeptPlace {
  readonly place: string;
  readonly id: string;
}

/** A kept report with its position. */
export interface StoredReport extends KeptReport, KeptPlace {}

export interface SoughtReport {
  readonly report: DeliveryReport;
  /**
   * True if the number in the report may differ from the recipient's number. The report then applies only if no other
   * message has the same sid (R220).
   */
  readonly acceptsOtherNumber: boolean;
}

export interface ReportStore {
  /** Stores sids. Returns the reports that arrived before their sids, and deletes them (R15). */
  addSids(rows: readonly SidRow[]): Promise<readonly KeptReport[]>;
  /** Finds the recipients of reports by sid, and marks the delivered parts. */
  match(
    provider: string,
    reports: readonly SoughtReport[],
  ): Promise<{ matched: readonly MatchedReport[]; unmatched: readonly DeliveryReport[] }>;
  keepUnmatched(reports: readonly KeptReport[]): Promise<void>;
  /**
   * Locks up to `limit` kept reports after `after` whose sids are known by now, oldest first. Skips reports that are
   * already locked.
   */
  lockMatchable(after: KeptPlace, limit: number): Promise<readonly StoredReport[]>;
  /** Deletes kept reports. */
  forget(ids: readonly string[]): Promise<void>;
  /** Returns the byte up to which a spool file's reports are in the database. 0 if none are. */
  spoolAppliedTo(spool: string): Promise<number>;
  /**
   * Moves the stored position of a spool file from `from` to `to`. If the position is not `from`, returns false and
   * changes nothing.
   */
  noteSpoolApplied(spool: string, from: number, to: number): Promise<boolean>;
  /** Deletes the stored position of a removed spool file. */
  forgetSpool(spool: string): Promise<void>;
}
