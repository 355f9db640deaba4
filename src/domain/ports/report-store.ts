import type { DeliveryReport } from './provider.ts';

/** A sid that stands for a recipient, or for one part of its text. */
export interface SidRow {
  readonly provider: string;
  readonly sid: string;
  readonly accountId: string;
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

export interface ReportStore {
  /** Remembers sids, and returns the reports that came before them (decision 15), which are then forgotten. */
  addSids(rows: readonly SidRow[]): Promise<readonly KeptReport[]>;
  /** Finds the recipients that reports speak of, and marks their parts. */
  match(
    provider: string,
    reports: readonly DeliveryReport[],
  ): Promise<{ matched: readonly MatchedReport[]; unmatched: readonly DeliveryReport[] }>;
  keepUnmatched(reports: readonly KeptReport[]): Promise<void>;
  /** Unmatched reports received after `since` whose sid is known by now; they are forgotten. */
  takeMatchable(since: Date): Promise<readonly KeptReport[]>;
}
