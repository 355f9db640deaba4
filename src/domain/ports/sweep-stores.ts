import type { Channel } from '../messages/message.ts';
import type { NewEvent, RecordedEvent } from '../webhooks/event.ts';

/** Stores the progress of each sweep: a periodic pass over all messages. */
export interface SweepStore {
  /** Locks the mark of a sweep until the transaction ends. Returns undefined while another process has it locked. */
  claim(name: string): Promise<SweepMark | undefined>;
  advance(name: string, mark: SweepMark): Promise<void>;
  /**
   * Deletes up to `limit` idempotency records that have expired by PostgreSQL's clock. Returns the number of deleted
   * records.
   */
  forgetExpiredClaims(limit: number): Promise<number>;
}

/** The send time and id of the last message that a sweep visited. */
export interface SweepMark {
  readonly at: Date;
  readonly id: string;
}

/** One channel of an account that has a retention. Retention works through each lane separately. */
export interface RetentionLane {
  readonly accountId: string;
  readonly channel: Channel;
}
/**
 * The progress of retention in a lane, and the retention of its account. If a number of days is null, nothing is erased
 * or deleted.
 */
export interface RetentionProgress extends RetentionLane {
  readonly contentDays: number | null;
  readonly messageDays: number | null;
  /**
   * The contents of all messages up to this number are erased. Excluded are messages that are marked as waiting
   * (`wait`).
   */
  readonly erasedSeq: number;
  /** Messages up to this number are deleted. */
  readonly removedSeq: number;
}
export interface AgedMessage {
  readonly id: string;
  readonly seq: number;
  readonly isPending: boolean;
  readonly payload: Readonly<Record<string, unknown>> | null;
}
export type ErasableEvent = RecordedEvent & NewEvent;

/**
 * Erases contents and deletes messages. Most queries skip locked rows, so that retention causes no deadlock with sends,
 * reports and deliveries.
 */
export interface RetentionStore {
  /** Returns the lanes whose next message must be erased or deleted by `now`. */
  due(now: Date): Promise<readonly RetentionLane[]>;
  /** Locks a lane until the transaction ends. Returns undefined while another process has it locked. */
  claim(lane: RetentionLane): Promise<RetentionProgress | undefined>;
  advance(
    lane: RetentionLane,
    mark: { readonly erasedSeq?: number; readonly removedSeq?: number },
  ): Promise<void>;
  /**
   * Locks the messages after `afterSeq` that were created before `before`. Stops before the first message that another
   * transaction has locked.
   */
  aged(lane: RetentionLane, afterSeq: number, before: Date, limit: number): Promise<readonly AgedMessage[]>;
  /**
   * Returns the messages that have an open delivery, or a delivery whose attempt is being recorded. Locks the
   * deliveries of the other messages.
   */
  delivering(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns the events of the messages. The caller removes their contents and stores them with `erase`. */
  events(messageIds: readonly string[]): Promise<readonly ErasableEvent[]>;
  /** Erases the texts of messages and of their events, and the answers of carriers and endpoints about them. */
  erase(
    payloads: ReadonlyMap<string, Readonly<Record<string, unknown>> | null>,
    events: readonly ErasableEvent[],
  ): Promise<void>;
  /**
   * Deletes messages with everything that belongs to them, except the ledger. Keeps which account wrote last by SMS to a
   * number, so that a STOP still finds it (R533).
   */
  remove(messageIds: readonly string[]): Promise<void>;
  /** Marks messages that could not be erased when they were due. A later pass erases them. */
  wait(messageIds: readonly string[]): Promise<void>;
  /** Returns the messages among these that are marked as waiting. */
  areWaiting(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Locks and returns waiting messages that are due at `now`, in the order of their ids, after `afterId`. */
  waiting(now: Date, afterId: string, limit: number): Promise<readonly AgedMessage[]>;
  stopWaiting(messageIds: readonly string[]): Promise<void>;
  /**
   * Deletes sids of messages whose send time is before `before`, starting after `mark`. `isScheduled` selects scheduled
   * messages, or all others. Visits up to `limit` rows. Returns the new mark, or undefined if no rows were left.
   */
  forgetSids(
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<SweepMark | undefined>;
  /**
   * Erases the texts of up to `limit` inbound messages whose retention period has ended at `now`. Returns the number of
   * these messages.
   */
  eraseInbound(now: Date, limit: number): Promise<number>;
  /**
   * Deletes inbound messages whose retention period has ended at `now`. Also deletes inbound messages without an
   * account that were sent before `ownerlessBefore`. `limit` applies to each of the two kinds. Returns the number of
   * deleted messages.
   */
  removeInbound(now: Date, ownerlessBefore: Date, limit: number): Promise<number>;
  /**
   * Deletes up to `limit` unmatched reports that were received before `before`. Returns the number of deleted reports.
   */
  forgetReports(before: Date, limit: number): Promise<number>;
  /** Forgets up to `limit` accounts that wrote to a number by SMS before `before` (R533). Returns how many. */
  forgetSmsWriters(before: Date, limit: number): Promise<number>;
  /** Does the same for WhatsApp (R559). */
  forgetWhatsAppWriters(before: Date, limit: number): Promise<number>;
}
