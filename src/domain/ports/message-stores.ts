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

/** A message whose row is locked, and how many of its recipients stand where. */
export interface LockedMessage extends Message {
  readonly counts: StatusCounts;
}

/** A message, as it was, and the status that it has since its recipients moved. */
export interface StatusMove {
  readonly message: Message;
  readonly to: MessageStatus;
}

/** A step of one recipient along the transition table. */
export interface RecipientMove {
  readonly messageId: string;
  readonly position: number;
  readonly from: MessageStatus;
  readonly to: MessageStatus;
  readonly at: Date;
  readonly provider: string | null;
  /** The carrier's names for what it took: one, or one for each part of a text; none where it took nothing now. */
  readonly sids: readonly string[];
  readonly error: RecipientError | null;
  /**
   * Of a failure: an earlier hand-over of the recipient got no answer and may have left. It is refunded when no delivery
   * report can come any more.
   */
  readonly possiblySent?: boolean;
}

export interface RecipientKey {
  readonly messageId: string;
  readonly position: number;
}

/** A recipient whose hand-over is tried again. */
export interface PostponedRecipient extends RecipientKey {
  /** Hand-overs that it has behind it. */
  readonly attempts: number;
  /** Nothing of it has left: it may be canceled until the next one (R18). */
  readonly isFree: boolean;
}

/** A recipient whose move took place. */
export interface MovedRecipient extends RecipientKey {
  readonly address: string;
  readonly costMinor: number;
  readonly sid: string | null;
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
  /** The large content that a message was accepted with; undefined when it has none. */
  bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  timelineNotes(messageId: string): Promise<readonly (TimelineEntry & { position: number })[]>;
  /** Messages with the recipients among them that are still pending and have no more than `attempts` hand-overs behind them. */
  pending(
    messageIds: readonly string[],
    attempts: number,
  ): Promise<readonly { message: Message; recipients: Recipient[] }[]>;
  /** Locks the messages' rows in the order of their ids, so that their status can follow their recipients. */
  lock(messageIds: readonly string[]): Promise<ReadonlyMap<string, LockedMessage>>;
  /**
   * Locks the messages as `lock` does, and carries out the moves that still apply (the recipient's status is `from`).
   * Returns the messages as they were before, and the recipients that moved.
   */
  lockAndMove(
    messageIds: readonly string[],
    moves: readonly RecipientMove[],
  ): Promise<{
    readonly messages: ReadonlyMap<string, LockedMessage>;
    readonly moved: readonly MovedRecipient[];
  }>;
  /** Records when delivered recipients read the message, and returns those of which it was not known yet. */
  markRead(recipients: readonly RecipientKey[], at: Date): Promise<readonly MovedRecipient[]>;
  /**
   * Claims those of the recipients that are pending and free, and returns them: from then on their messages cannot
   * be canceled (R18). Their messages are locked.
   */
  claim(recipients: readonly RecipientKey[]): Promise<readonly RecipientKey[]>;
  /** Records hand-overs that are to be tried again. Returns those of which it was not known: their jobs are yet to be made. */
  postpone(recipients: readonly PostponedRecipient[]): Promise<readonly RecipientKey[]>;
  /** Counts each message's move in the usage; a reason given for its former status holds no longer. */
  countMoves(moves: readonly StatusMove[]): Promise<void>;
  /** `mostAlike`: of notes that say the same of a recipient no more are added once there are so many; no bound when absent. */
  note(notes: readonly TimelineNote[], mostAlike?: number): Promise<void>;
  /**
   * Production messages of a status that were to leave before `before`, in that order, after `mark`: what a sweep
   * looks at. Messages that are not scheduled are ordered by their ids, which begin with the time.
   */
  agedBefore(
    status: MessageStatus,
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<readonly Message[]>;
  setStatusReason(messageIds: readonly string[], reason: string): Promise<void>;
  /** Takes the reason away where it is `reason`. */
  clearStatusReason(messageIds: readonly string[], reason: string): Promise<void>;
}

/** What is to be given back for a recipient that failed although an earlier hand-over may have left. */
export interface DeferredRefund {
  readonly messageId: string;
  readonly position: number;
  readonly accountId: string;
  /** Whole minor units, more than 0. */
  readonly amountMinor: number;
}

/** A hand-over that was accepted, as its provider told after the recipient had failed. */
export interface LateAcceptance extends Pick<DeferredRefund, 'messageId' | 'position'> {
  readonly at: Date;
  readonly provider: string | null;
  readonly sid: string | null;
}

/** Refunds that wait until no delivery report can come any more. */
export interface RefundStore {
  /** Keeps refunds for `delayMs`, by PostgreSQL's clock. */
  defer(refunds: readonly DeferredRefund[], delayMs: number): Promise<void>;
  /** Takes out refunds that are due, `limit` at the most; those that another transaction has at hand are passed over. */
  takeDue(limit: number): Promise<readonly DeferredRefund[]>;
  /** Takes out the refunds of recipients that a provider had accepted, and records that; returns those there were. */
  cancel(
    accepted: readonly LateAcceptance[],
  ): Promise<readonly Pick<DeferredRefund, 'messageId' | 'position'>[]>;
  /** Of the messages those with a refund that is not settled yet. */
  withDeferred(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
}
