import type { DeliveryReport } from './provider.ts';

/** Reports of one spool file, in order. */
export interface SpoolBatch {
  /** The file: a UUID. */
  readonly spool: string;
  /** Byte range of the reports in it. */
  readonly from: number;
  readonly to: number;
  readonly reports: readonly KeptReport[];
}

/** Delivery reports on this host's disk, until the database takes them. */
export interface ReportSpool {
  /** Whether no report is stored or being appended. */
  readonly isEmpty: boolean;
  /** Bytes on the disk. */
  readonly bytes: number;
  /**
   * Appends reports to one file. Resolves when they survive a crash. Throws `service_unavailable` and stores none
   * when there is no room or the disk fails.
   */
  append(reports: readonly KeptReport[]): Promise<Omit<SpoolBatch, 'reports'>>;
  /** The oldest file; undefined without any. */
  oldest(): string | undefined;
  /** Up to `most` reports of a file from a position; none at its end. */
  read(spool: string, from: number, most: number): Promise<SpoolBatch>;
  /** Removes a file whose reports are applied up to `to`. Returns false if more were appended meanwhile. */
  remove(spool: string, to: number): Promise<boolean>;
  /** Takes over the files of processes that are gone. Returns how many. */
  adopt(): Promise<number>;
  /** Closes the files. Their reports stay for the next process. */
  close(): Promise<void>;
}

/** A sid of a recipient, or of one part of its text. */
export interface SidRow {
  readonly provider: string;
  readonly sid: string;
  readonly messageId: string;
  readonly position: number;
  /** Number of the part, from 0, and of all parts. */
  readonly part: number;
  readonly parts: number;
}

export interface MatchedReport {
  readonly report: DeliveryReport;
  readonly messageId: string;
  readonly position: number;
  /** With this report, all parts of the recipient's text are delivered. */
  readonly complete: boolean;
}

/** A report whose sid was unknown when it arrived. */
export interface KeptReport {
  readonly provider: string;
  readonly report: DeliveryReport;
  readonly receivedAt: Date;
}

/** The position of a kept report: its arrival time in microseconds, and its id. */
export interface KeptPlace {
  readonly place: string;
  readonly id: string;
}

/** A kept report as stored. */
export interface StoredReport extends KeptReport, KeptPlace {}

export interface SoughtReport {
  readonly report: DeliveryReport;
  /**
   * The report names a number. It may still apply to a message to another number, if that is the only one with its
   * sid (R220).
   */
  readonly acceptsOtherNumber: boolean;
}

export interface ReportStore {
  /** Stores sids. Returns and deletes the reports that arrived before them (R15). */
  addSids(rows: readonly SidRow[]): Promise<readonly KeptReport[]>;
  /** Finds the recipients of reports, and marks the delivered parts. */
  match(
    provider: string,
    reports: readonly SoughtReport[],
  ): Promise<{ matched: readonly MatchedReport[]; unmatched: readonly DeliveryReport[] }>;
  keepUnmatched(reports: readonly KeptReport[]): Promise<void>;
  /** Locks up to `limit` kept reports after `after` whose sids are known by now, oldest first. Skips locked ones. */
  lockMatchable(after: KeptPlace, limit: number): Promise<readonly StoredReport[]>;
  /** Deletes kept reports. */
  forget(ids: readonly string[]): Promise<void>;
  /** The position up to which a spool file is applied; 0 for none of it. */
  spoolAppliedTo(spool: string): Promise<number>;
  /** Moves the applied position from `from` to `to`. Returns false and changes nothing if it is not at `from`. */
  noteSpoolApplied(spool: string, from: number, to: number): Promise<boolean>;
  /** Deletes the position of a removed file. */
  forgetSpool(spool: string): Promise<void>;
}
