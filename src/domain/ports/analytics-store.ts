import type { LedgerEntry } from '../accounts/account.ts';
import type { AnalyticsGroup, AnalyticsInterval, AnalyticsRow } from '../analytics/analytics.ts';
import type { Environment } from '../caller.ts';
import type { Message } from '../messages/message.ts';
import type { MovedRecipient, RecipientMove, StatusMove } from './message-stores.ts';

/** A change of one recipient's status, and its message as it was before the change. */
export interface CountedMove {
  readonly message: Message;
  readonly move: RecipientMove;
  readonly moved: MovedRecipient;
}
export interface CountedMoves {
  readonly statuses: readonly StatusMove[];
  readonly moves: readonly CountedMove[];
}

/** A time span that begins and ends at quarter hours. `to` is not included. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/** What to count. The result has a row for each span and each combination of the groups. */
export interface AnalyticsCount {
  readonly spans: readonly Span[];
  readonly groupBy: readonly AnalyticsGroup[];
  readonly environment: Environment | undefined;
  /** Largest number of rows. */
  readonly limit: number;
}
/** A row of the result. `span` is the index of the span to which it belongs. */
export interface CountedRow extends AnalyticsRow {
  readonly span: number;
}
export interface Counted {
  /** Number of the last ledger entry that the figures contain. Null if later changes are not counted yet. */
  readonly ledgerSeq: number | null;
  readonly rows: readonly CountedRow[];
}
/**
 * Number of recipients whose time is in one bucket of the histogram (latency.ts). Times are not counted by status and
 * error.
 */
export interface CountedTime {
  readonly span: number;
  readonly values: AnalyticsRow['values'];
  readonly measure: 'submit' | 'report';
  readonly bucket: number;
  readonly recipients: number;
}
export type CountedRefund = Pick<LedgerEntry, 'messageId' | 'position' | 'amountMinor'>;

/** Stores figures of messages by time (R292). */
export interface AnalyticsStore {
  /** Counts changes of status. Called in the transaction that makes them. */
  countMoves(moves: CountedMoves): Promise<void>;
  /** Counts refunds. Called in the transaction that books them. */
  countRefunds(refunds: readonly CountedRefund[]): Promise<void>;
  /** Adds the changes since the last call to the figures. Does nothing if another process is doing so. */
  fold(): Promise<void>;
  /**
   * Returns the starts of intervals in a time zone, up to the end of the span. The interval that contains the start of
   * the span has the number 0. `numbers` are the numbers of the first and the last interval to return.
   */
  intervals(
    span: Span,
    interval: AnalyticsInterval,
    timeZone: string,
    numbers: readonly [number, number],
  ): Promise<readonly Date[]>;
  count(accountId: string, asked: AnalyticsCount): Promise<Counted>;
  /** Returns the times of recipients, by the same spans and groups as `count`. */
  times(accountId: string, asked: AnalyticsCount): Promise<readonly CountedTime[]>;
}
