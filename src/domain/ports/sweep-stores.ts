import type { Channel } from '../messages/message.ts';
import type { NewEvent, RecordedEvent } from '../webhooks/event.ts';

/** The progress of each sweep over the messages. */
export interface SweepStore {
  /** Locks the mark of a sweep until the transaction ends. Undefined while another process has it. */
  claim(name: string): Promise<SweepMark | undefined>;
  advance(name: string, mark: SweepMark): Promise<void>;
  /** Deletes expired idempotency records, by PostgreSQL's clock. Returns how many. */
  forgetExpiredClaims(limit: number): Promise<number>;
}

/** The send time and id of the last message that a sweep visited. */
export interface SweepMark {
  readonly at: Date;
  readonly id: string;
}

/** A channel of an account with a retention. */
export interface RetentionLane {
  readonly accountId: string;
  readonly channel: Channel;
}
/** The progress of a lane and the retention of its account; null days keep for ever. */
export interface RetentionProgress extends RetentionLane {
  readonly contentDays: number | null;
  readonly messageDays: number | null;
  /** Messages up to this number are erased, except waiting ones. */
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
 * Erasing and deleting. Locked rows are skipped, so that retention causes no deadlock with sends, reports and
 * deliveries.
 */
export interface RetentionStore {
  /** Lanes whose next message is due at `now`. */
  due(now: Date): Promise<readonly RetentionLane[]>;
  /** Locks a lane until the transaction ends. Undefined while another process has it. */
  claim(lane: RetentionLane): Promise<RetentionProgress | undefined>;
  advance(
    lane: RetentionLane,
    mark: { readonly erasedSeq?: number; readonly removedSeq?: number },
  ): Promise<void>;
  /**
   * Locks the messages after `afterSeq` that were created before `before`, up to the first one that cannot be
   * locked.
   */
  aged(lane: RetentionLane, afterSeq: number, before: Date, limit: number): Promise<readonly AgedMessage[]>;
  /** The messages with a delivery that is open or being recorded. Locks the deliveries of the other messages. */
  delivering(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The events of messages, to be rewritten with `erase`. */
  events(messageIds: readonly string[]): Promise<readonly ErasableEvent[]>;
  /** Removes the texts of messages, of carriers' and endpoints' answers about them, and of their events. */
  erase(
    payloads: ReadonlyMap<string, Readonly<Record<string, unknown>> | null>,
    events: readonly ErasableEvent[],
  ): Promise<void>;
  /** Deletes messages with everything about them except the ledger. */
  remove(messageIds: readonly string[]): Promise<void>;
  /** Marks messages that could not be erased when they were due. */
  wait(messageIds: readonly string[]): Promise<void>;
  /** The messages that are marked. */
  areWaiting(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Locks marked messages that are due at `now`, after `afterId` in the order of ids. */
  waiting(now: Date, afterId: string, limit: number): Promise<readonly AgedMessage[]>;
  stopWaiting(messageIds: readonly string[]): Promise<void>;
  /**
   * Deletes sids of messages with a send time before `before`, after `mark`, either of scheduled messages or of the
   * others. Visits up to `limit` rows and returns the new mark; undefined when there were none.
   */
  forgetSids(
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<SweepMark | undefined>;
  /** Erases the texts of inbound messages whose account says so at `now`. Returns how many, up to `limit`. */
  eraseInbound(now: Date, limit: number): Promise<number>;
  /**
   * Deletes inbound messages whose account says so at `now`, and those of no account that were sent before
   * `ownerlessBefore`. Returns how many, up to `limit` of each.
   */
  removeInbound(now: Date, ownerlessBefore: Date, limit: number): Promise<number>;
  /** Deletes unmatched reports received before `before`. Returns how many. */
  forgetReports(before: Date, limit: number): Promise<number>;
}
