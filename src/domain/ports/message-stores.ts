import type { Visibility } from '../caller.ts';
import type {
  Channel,
  Message,
  MessageStatus,
  Recipient,
  RecipientError,
  TimelineEntry,
} from '../messages/message.ts';
import type { Page, PageRequest } from '../paging.ts';
import type { SweepMark } from './sweep-stores.ts';

export interface MessageFilter {
  readonly channel?: Channel;
  readonly status?: MessageStatus;
  readonly to?: string;
  readonly from?: Date;
  readonly until?: Date;
}

export type StatusCounts = Readonly<Partial<Record<MessageStatus, number>>>;

/** A message whose row is locked, with the number of its recipients in each status. */
export interface LockedMessage extends Message {
  readonly counts: StatusCounts;
}

/** A message before its recipients moved, and its status after that. */
export interface StatusMove {
  readonly message: Message;
  readonly to: MessageStatus;
}

/** A move of one recipient along the transition table (status.ts). */
export interface RecipientMove {
  readonly messageId: string;
  readonly position: number;
  readonly from: MessageStatus;
  readonly to: MessageStatus;
  readonly at: Date;
  readonly provider: string | null;
  /** The carrier's ids: one, or one for each part of a text. Empty when the carrier accepted nothing. */
  readonly sids: readonly string[];
  readonly error: RecipientError | null;
  /** For a failure: an earlier submission got no answer and may have sent it. The refund is then deferred (R218). */
  readonly possiblySent?: boolean;
}

export interface RecipientKey {
  readonly messageId: string;
  readonly position: number;
}

/** A recipient whose submission is retried. */
export interface PostponedRecipient extends RecipientKey {
  /** Submissions it had before. */
  readonly attempts: number;
  /** Nothing was sent, so it can be canceled until the next attempt (R18). */
  readonly isFree: boolean;
}

/** A recipient that moved. */
export interface MovedRecipient extends RecipientKey {
  readonly address: string;
  readonly costMinor: number;
  readonly sid: string | null;
  readonly provider: string | null;
  readonly sentAt: Date | null;
}

export interface TimelineNote {
  readonly accountId: string;
  readonly messageId: string;
  readonly position: number;
  readonly at: Date;
  readonly status: string;
  readonly detail: string;
}

export interface MessageStore {
  find(visibility: Visibility, id: string): Promise<Message | undefined>;
  /** Newest first. */
  history(
    visibility: Visibility,
    channel: Channel,
    filter: MessageFilter,
    request: PageRequest,
  ): Promise<Page<Message>>;
  recipients(messageIds: readonly string[]): Promise<readonly Recipient[]>;
  /** The large content of a message; undefined if it has none. */
  bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  timelineNotes(messageId: string): Promise<readonly (TimelineEntry & { position: number })[]>;
  /** Messages with their recipients that are pending and had at most `attempts` submissions. */
  pending(
    messageIds: readonly string[],
    attempts: number,
  ): Promise<readonly { message: Message; recipients: Recipient[] }[]>;
  /** Locks the rows of the messages, in the order of their ids. */
  lock(messageIds: readonly string[]): Promise<ReadonlyMap<string, LockedMessage>>;
  /**
   * Locks the messages like `lock`, and makes the moves whose `from` still is the recipient's status. Returns the
   * messages before the moves, and the recipients that moved.
   */
  lockAndMove(
    messageIds: readonly string[],
    moves: readonly RecipientMove[],
  ): Promise<{
    readonly messages: ReadonlyMap<string, LockedMessage>;
    readonly moved: readonly MovedRecipient[];
  }>;
  /** Stores when delivered recipients read the message. Returns those for which it was not stored yet. */
  markRead(recipients: readonly RecipientKey[], at: Date): Promise<readonly MovedRecipient[]>;
  /**
   * Claims the pending and unclaimed ones of the recipients and returns them. Their messages can then no longer be
   * canceled (R18). Locks the messages.
   */
  claim(recipients: readonly RecipientKey[]): Promise<readonly RecipientKey[]>;
  /** Stores failed submissions. Returns the recipients whose job is still to be created. */
  postpone(recipients: readonly PostponedRecipient[]): Promise<readonly RecipientKey[]>;
  /** Stores the moves of messages in the usage, and clears the reasons of their former status. */
  countMoves(moves: readonly StatusMove[]): Promise<void>;
  /** With `mostAlike`, adds a note only while a recipient has fewer notes with the same text. */
  note(notes: readonly TimelineNote[], mostAlike?: number): Promise<void>;
  /**
   * Production messages of a status with a send time before `before`, by send time, after `mark`; for sweeps.
   * Messages that are not scheduled are ordered by id, which begins with the time.
   */
  agedBefore(
    status: MessageStatus,
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<readonly Message[]>;
  setStatusReason(messageIds: readonly string[], reason: string): Promise<void>;
  /** Clears the reason if it is `reason`. */
  clearStatusReason(messageIds: readonly string[], reason: string): Promise<void>;
}

/** The refund of a recipient that failed after a submission of unknown outcome (R218). */
export interface DeferredRefund {
  readonly messageId: string;
  readonly position: number;
  readonly accountId: string;
  /** Whole minor units, more than 0. */
  readonly amountMinor: number;
}

/** A provider reported after the failure of a recipient that it had accepted the submission. */
export interface LateAcceptance extends Pick<DeferredRefund, 'messageId' | 'position'> {
  readonly at: Date;
  readonly provider: string | null;
  readonly sid: string | null;
}

/** Refunds that wait until no delivery report can arrive (R218). */
export interface RefundStore {
  /** Defers refunds for `delayMs` by PostgreSQL's clock. */
  defer(refunds: readonly DeferredRefund[], delayMs: number): Promise<void>;
  /** Removes and returns up to `limit` due refunds. Skips locked ones. */
  takeDue(limit: number): Promise<readonly DeferredRefund[]>;
  /** Removes the refunds of recipients that a provider had accepted, and stores that. Returns those that existed. */
  cancel(
    accepted: readonly LateAcceptance[],
  ): Promise<readonly Pick<DeferredRefund, 'messageId' | 'position'>[]>;
  /** The messages with a deferred refund. */
  withDeferred(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
}
