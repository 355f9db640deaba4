import type { KeptReport } from './report-store.ts';

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
