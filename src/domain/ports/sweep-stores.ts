import type { Channel } from '../messages/message.ts';
import type { NewEvent, RecordedEvent } from '../webhooks/event.ts';

/** How far each sweep over the messages has come. */
export interface SweepStore {
  /** Locks a sweep's mark until the transaction ends; undefined when another process is at it. */
  claim(name: string): Promise<SweepMark | undefined>;
  advance(name: string, mark: SweepMark): Promise<void>;
  /** Forgets idempotency records that have expired by the store's own clock; how many. */
  forgetExpiredClaims(limit: number): Promise<number>;
}

/** The last message that a sweep has looked at: when it was to leave, and its id. */
export interface SweepMark {
  readonly at: Date;
  readonly id: string;
}

/** One channel of an account that keeps its messages for a limited time. */
export interface RetentionLane {
  readonly accountId: string;
  readonly channel: Channel;
}
/** How far a lane has come, and what its account asks for; days are null for ever. */
export interface RetentionProgress extends RetentionLane {
  readonly contentDays: number | null;
  readonly messageDays: number | null;
  /** The messages up to this number have lost their text, but for those that wait. */
  readonly erasedSeq: number;
  /** The messages up to this number are gone. */
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
 * What a retention forgets. Nothing here waits for a row that somebody else holds: what is locked is left out, so
 * no send, report or delivery ever waits in a ring with it.
 */
export interface RetentionStore {
  /** The lanes whose next message has reached its age at `now`. */
  due(now: Date): Promise<readonly RetentionLane[]>;
  /** Locks a lane until the transaction ends; undefined when another process is at it. */
  claim(lane: RetentionLane): Promise<RetentionProgress | undefined>;
  advance(
    lane: RetentionLane,
    mark: { readonly erasedSeq?: number; readonly removedSeq?: number },
  ): Promise<void>;
  /** Locks the messages numbered after `afterSeq` and made before `before`, up to the first that cannot be locked. */
  aged(lane: RetentionLane, afterSeq: number, before: Date, limit: number): Promise<readonly AgedMessage[]>;
  /** Of locked messages, those with a delivery that is open or being recorded; the other deliveries are locked. */
  delivering(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The events of messages, which may be rewritten with `erase`. */
  events(messageIds: readonly string[]): Promise<readonly ErasableEvent[]>;
  /** Takes texts away: of messages, of what carriers and endpoints answered about them, and of their events. */
  erase(
    payloads: ReadonlyMap<string, Readonly<Record<string, unknown>> | null>,
    events: readonly ErasableEvent[],
  ): Promise<void>;
  /** Deletes messages and all that speaks of them, except the ledger. */
  remove(messageIds: readonly string[]): Promise<void>;
  /** Remembers messages whose text could not be taken away in its turn. */
  wait(messageIds: readonly string[]): Promise<void>;
  /** Those of the messages that wait. */
  areWaiting(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Locks messages that wait and are of their age at `now`, after `afterId` in the order of ids. */
  waiting(now: Date, afterId: string, limit: number): Promise<readonly AgedMessage[]>;
  stopWaiting(messageIds: readonly string[]): Promise<void>;
  /**
   * Forgets the sids of messages that were to leave before `before`, after `mark`: of scheduled ones or of the
   * others. Looks at up to `limit` rows and returns how far it came; undefined when there were none.
   */
  forgetSids(
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<SweepMark | undefined>;
  /** Forgets reports received before `before` that never found their message; how many. */
  forgetReports(before: Date, limit: number): Promise<number>;
}
