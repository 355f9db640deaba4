import type { LedgerEntry } from '../accounts/account.ts';
import type { AnalyticsGroup, AnalyticsInterval, AnalyticsRow } from '../analytics/analytics.ts';
import type { Environment } from '../caller.ts';
import type { Message } from '../messages/message.ts';
import type { MovedRecipient, RecipientMove, StatusMove } from './message-stores.ts';

/** A move of one recipient with its message, as it was before. */
export interface CountedMove {
  readonly message: Message;
  readonly move: RecipientMove;
  readonly moved: MovedRecipient;
}
export interface CountedMoves {
  readonly statuses: readonly StatusMove[];
  readonly moves: readonly CountedMove[];
}

/** A span of time; `to` is not part of it. Both are at quarter hours. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/** What is counted: one row for each span and each combination of the groups. */
export interface AnalyticsCount {
  readonly spans: readonly Span[];
  readonly groupBy: readonly AnalyticsGroup[];
  readonly environment: Environment | undefined;
  /** Rows at most. */
  readonly limit: number;
}
/** A row of one of the spans. */
export interface CountedRow extends AnalyticsRow {
  readonly span: number;
}
export interface Counted {
  /** The last ledger entry that the figures contain; null while they catch up. */
  readonly ledgerSeq: number | null;
  readonly rows: readonly CountedRow[];
}
/** Recipients whose time is in a bucket (latency.ts). Times are not counted by status and error. */
export interface CountedTime {
  readonly span: number;
  readonly values: AnalyticsRow['values'];
  readonly measure: 'submit' | 'report';
  readonly bucket: number;
  readonly recipients: number;
}
export type CountedRefund = Pick<LedgerEntry, 'messageId' | 'position' | 'amountMinor'>;

/** Figures of messages by time (R292). */
export interface AnalyticsStore {
  /** Counts moves, in the transaction that makes them. */
  countMoves(moves: CountedMoves): Promise<void>;
  /** Counts refunds, in the transaction that books them. */
  countRefunds(refunds: readonly CountedRefund[]): Promise<void>;
  /** Adds what happened since the last time to the figures. Does nothing while another process does so. */
  fold(): Promise<void>;
  /**
   * The starts of intervals of a zone, before the end of the span. `numbers` are those of the first and the last one,
   * counted from the interval that contains the start of the span.
   */
  intervals(
    span: Span,
    interval: AnalyticsInterval,
    timeZone: string,
    numbers: readonly [number, number],
  ): Promise<readonly Date[]>;
  count(accountId: string, asked: AnalyticsCount): Promise<Counted>;
  /** The times of recipients by the spans and groups of `count`. */
  times(accountId: string, asked: AnalyticsCount): Promise<readonly CountedTime[]>;
}
