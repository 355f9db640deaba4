import type { Visibility } from '../caller.ts';
import type {
  Channel,
  Message,
  MessageStatus,
  Purpose,
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

/** A change of a message's status. `message` is as it was before the change. `to` is the new status. */
export interface StatusMove {
  readonly message: Message;
  readonly to: MessageStatus;
}

/** A change of one recipient's status, from `from` to `to`. The table in status.ts lists the allowed changes. */
export interface RecipientMove {
  readonly messageId: string;
  readonly position: number;
  readonly from: MessageStatus;
  readonly to: MessageStatus;
  readonly at: Date;
  readonly provider: string | null;
  /**
   * The carrier's message ids: one, or one for each part of a text. Empty if the carrier did not accept the message.
   */
  readonly sids: readonly string[];
  readonly error: RecipientError | null;
  /**
   * Set on a failure if an earlier submission got no answer and may have sent the message. The refund is then deferred
   * (R218).
   */
  readonly possiblySent?: boolean;
  /** Set on a failure if the provider knows no such address (R382). */
  readonly addressUnknown?: true | undefined;
}

export interface RecipientKey {
  readonly messageId: string;
  readonly position: number;
}

/** A recipient whose submission will be retried. */
export interface PostponedRecipient extends RecipientKey {
  /** Number of submissions before this one. */
  readonly attempts: number;
  /** True if certainly nothing was sent. Until the next attempt, the recipient can then be canceled (R18). */
  readonly isFree: boolean;
  /** Set if the recipient waits for the end of quiet hours (R385). */
  readonly heldUntil: Date | null;
}

/** A recipient whose status was changed. */
export interface MovedRecipient extends RecipientKey {
  readonly address: string;
  readonly costMinor: number;
  readonly sid: string | null;
  readonly provider: string | null;
  readonly sentAt: Date | null;
  readonly heldUntil: Date | null;
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
  /** Returns a page of the channel's messages, newest first. */
  history(
    visibility: Visibility,
    channel: Channel,
    filter: MessageFilter,
    request: PageRequest,
  ): Promise<Page<Message>>;
  recipients(messageIds: readonly string[]): Promise<readonly Recipient[]>;
  /** Returns the large content of a message. Undefined if it has none. */
  bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  timelineNotes(messageId: string): Promise<readonly (TimelineEntry & { position: number })[]>;
  /** Returns the messages with their pending recipients that had at most `attempts` submissions. */
  pending(
    messageIds: readonly string[],
    attempts: number,
  ): Promise<readonly { message: Message; recipients: Recipient[] }[]>;
  /** Locks the rows of the messages, in the order of their ids. */
  lock(messageIds: readonly string[]): Promise<ReadonlyMap<string, LockedMessage>>;
  /**
   * Locks the messages as `lock` does. Then makes each change of status, if the recipient still has the status `from`.
   * Returns the messages as they were before, and the recipients whose status changed.
   */
  lockAndMove(
    messageIds: readonly string[],
    moves: readonly RecipientMove[],
  ): Promise<{
    readonly messages: ReadonlyMap<string, LockedMessage>;
    readonly moved: readonly MovedRecipient[];
  }>;
  /**
   * Stores when delivered recipients read the message. Returns the recipients for which no such time was stored yet.
   */
  markRead(recipients: readonly RecipientKey[], at: Date): Promise<readonly MovedRecipient[]>;
  /**
   * Claims the recipients that are pending and not claimed, and returns them. Their messages can then no longer be
   * canceled (R18). Locks the messages.
   */
  claim(recipients: readonly RecipientKey[]): Promise<readonly RecipientKey[]>;
  /** Stores failed submissions. Returns the recipients that still need a job for their retry. */
  postpone(recipients: readonly PostponedRecipient[]): Promise<readonly RecipientKey[]>;
  /** Adds changes of messages' status to the usage counts. Clears the `statusReason` of the former status. */
  countMoves(moves: readonly StatusMove[]): Promise<void>;
  /** Adds notes to timelines. With `mostAlike`, a recipient gets no more notes with the same text than this number. */
  note(notes: readonly TimelineNote[], mostAlike?: number): Promise<void>;
  /**
   * Returns production messages of a status whose send time is before `before`. They are in order of send time and
   * start after `mark`. Periodic sweeps call this method. Messages that are not scheduled are ordered by id, because an
   * id begins with its creation time. With `purpose`, only messages of this purpose are returned.
   */
  agedBefore(
    status: MessageStatus,
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
    purpose?: Purpose,
  ): Promise<readonly Message[]>;
  setStatusReason(messageIds: readonly string[], reason: string): Promise<void>;
  /** Clears the `statusReason` of messages if it is `reason`. */
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

/** A provider had accepted the submission of a recipient, but reported this only after the recipient had failed. */
export interface LateAcceptance extends Pick<DeferredRefund, 'messageId' | 'position'> {
  readonly at: Date;
  readonly provider: string | null;
  readonly sid: string | null;
}

/** Stores refunds that wait until a delivery report can no longer arrive (R218). */
export interface RefundStore {
  /** Defers refunds for `delayMs`, by PostgreSQL's clock. */
  defer(refunds: readonly DeferredRefund[], delayMs: number): Promise<void>;
  /** Removes and returns up to `limit` due refunds. Skips locked refunds. */
  takeDue(limit: number): Promise<readonly DeferredRefund[]>;
  /**
   * Removes the deferred refunds of recipients that a provider had accepted after all, and stores that acceptance.
   * Returns the recipients that had a deferred refund.
   */
  cancel(
    accepted: readonly LateAcceptance[],
  ): Promise<readonly Pick<DeferredRefund, 'messageId' | 'position'>[]>;
  /** Returns the messages among these that have a deferred refund. */
  withDeferred(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
}
