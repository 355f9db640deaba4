/**
 * A **message** is one accepted send request. It has one **recipient** row per address. The status of a recipient only
 * moves forward (status.ts). The status of a message follows from its recipients (R13).
 *
 * Costs are whole minor units. `position` numbers the recipients of a message from 0 and never changes.
 */
import type { Environment } from '../caller.ts';

export const CHANNELS = ['sms', 'email', 'push', 'whatsapp'] as const;
export type Channel = (typeof CHANNELS)[number];

/** What a message is for (R376). */
export const PURPOSES = ['transactional', 'otp', 'marketing'] as const;
export type Purpose = (typeof PURPOSES)[number];

export const MESSAGE_STATUSES = ['pending', 'sent', 'delivered', 'failed'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** Reasons that explain a status further (R14, R218, R393). */
export const STATUS_REASONS = ['delivery_unconfirmed', 'refund_pending', 'held_for_review'] as const;
export type StatusReason = (typeof STATUS_REASONS)[number];

/** A message fails if no carrier has answered within this time (R14). */
export const SUBMIT_DEADLINE_MS = 24 * 3_600_000;
/** A sent message becomes `delivery_unconfirmed` if no delivery report has come within this time (R14). */
export const REPORT_DEADLINE_MS = 72 * 3_600_000;

export interface Message {
  readonly id: string;
  readonly accountId: string;
  readonly channel: Channel;
  readonly environment: Environment;
  /** Number within the account and channel, from 1, without gaps. A page of the history is a range of these numbers. */
  readonly seq: number;
  readonly status: MessageStatus;
  readonly statusReason: StatusReason | null;
  readonly from: string;
  readonly to: readonly string[];
  /** The sid, the carrier's message id, of the first accepted recipient. */
  readonly sid: string | null;
  readonly tally: RecipientTally;
  readonly content: string;
  /** The members that only the message's channel has. */
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly costMinor: number;
  readonly unitPriceMinor: number;
  readonly currency: string;
  readonly invalidSkipped: number;
  readonly duplicatesRemoved: number;
  readonly purpose: Purpose;
  /** Number of recipients that were left out because they are suppressed (R378). */
  readonly suppressedSkipped: number;
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  readonly createdAt: Date;
  readonly scheduledFor: Date | null;
  /** When the last recipient that is held in quiet hours may leave. Null if none was held (R385). */
  readonly heldUntil: Date | null;
  readonly expiresAt: Date;
}

/**
 * Counts of a message's recipients. `reached`: accepted by a provider. This includes `delivered`. `unregistered`:
 * failed because the device is no longer registered (R24). These are also in `failed`.
 */
export interface RecipientTally {
  readonly reached: number;
  readonly delivered: number;
  readonly failed: number;
  readonly unregistered: number;
  /** When the first recipient read the message, on channels that report reading. */
  readonly readAt: Date | null;
}

/** Returns the number of a message's recipients in each status (R291). */
export function recipientCounts({
  to,
  tally,
}: Pick<Message, 'to' | 'tally'>): Readonly<Record<MessageStatus, number>> {
  const { reached, delivered, failed } = tally;
  return { pending: to.length - reached - failed, sent: reached - delivered, delivered, failed };
}

export interface RecipientError {
  readonly code: string;
  readonly message: string;
}

export interface Recipient {
  readonly messageId: string;
  readonly position: number;
  readonly address: string;
  readonly status: MessageStatus;
  readonly costMinor: number;
  readonly provider: string | null;
  readonly sid: string | null;
  readonly error: RecipientError | null;
  readonly sentAt: Date | null;
  readonly deliveredAt: Date | null;
  readonly failedAt: Date | null;
  readonly readAt: Date | null;
  /**
   * True once a worker has claimed the recipient. The worker may submit it at any moment or has done so, so it can no
   * longer be canceled (R18).
   */
  readonly isClaimed: boolean;
  /** Number of submissions that the provider did not answer, or answered with a temporary error. */
  readonly attempts: number;
  /**
   * When the deferred refund of a failed recipient is due (R218). A refund is deferred if it is unknown whether a
   * submission succeeded. Null without a deferred refund.
   */
  readonly refundDueAt: Date | null;
  /** It waits, or waited, until this time, because the hours before are quiet for its number (R385). */
  readonly heldUntil: Date | null;
}

/**
 * Returns the refunded part of a recipient's cost, in minor units. The whole cost is refunded if the recipient failed,
 * no carrier accepted it, and no refund is deferred.
 */
export function refundedMinor({ status, sentAt, refundDueAt, costMinor }: Recipient): number {
  return status === 'failed' && sentAt === null && refundDueAt === null ? costMinor : 0;
}

/** Returns when the message may leave to this recipient: after its quiet hours, at its scheduled time, or at once. */
export function dueAt(
  { scheduledFor, createdAt }: Pick<Message, 'scheduledFor' | 'createdAt'>,
  { heldUntil }: Pick<Recipient, 'heldUntil'>,
): Date {
  return heldUntil ?? scheduledFor ?? createdAt;
}

/** The members of a message that its submission needs. They do not change after the message was accepted. */
export type OutgoingMessage = Pick<
  Message,
  | 'id'
  | 'accountId'
  | 'channel'
  | 'purpose'
  | 'from'
  | 'content'
  | 'payload'
  | 'apiKeyId'
  | 'userId'
  | 'createdAt'
  | 'scheduledFor'
  | 'expiresAt'
>;
export type OutgoingRecipient = Pick<
  Recipient,
  'messageId' | 'position' | 'address' | 'isClaimed' | 'heldUntil'
>;
/** A message with the recipients that one job submits. */
export interface Outgoing {
  readonly message: OutgoingMessage;
  readonly recipients: readonly OutgoingRecipient[];
}

export interface TimelineEntry {
  readonly at: Date;
  readonly status: string;
  readonly recipient?: string;
  readonly detail?: string;
}

/**
 * A send request that passed the rules of its channel. Its costs are production prices, also in the sandbox.
 * `leaveOut` turns it into a `KeptMessage`, and `prepareMessage` turns that into a `PreparedMessage`.
 */
export interface PricedMessage {
  readonly from: string;
  readonly content: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** Large content that only the submission needs, such as attachments. */
  readonly bulk?: Readonly<Record<string, unknown>>;
  readonly recipients: readonly { readonly address: string; readonly costMinor: number }[];
  /** Price of one billing unit to the first recipient. */
  readonly unitPriceMinor: number;
  readonly currency: string;
  /** Recipients that the message leaves out: invalid addresses and, for push, devices without a provider. */
  readonly skipped: readonly string[];
  readonly duplicatesRemoved: number;
  readonly scheduledFor: Date | null;
  /**
   * A submission is useless this long after the send time, in ms. If the deadline of R14 is earlier, it applies
   * instead.
   */
  readonly maxDelayMs?: number | undefined;
  /** The route of all recipients. Undefined: the routes of their addresses. */
  readonly routeKey?: string | undefined;
}

export interface PreparedRecipient {
  readonly address: string;
  readonly costMinor: number;
  /** The route that carries the message to this recipient. A message has one job per route. */
  readonly routeKey: string;
  /** The recipient waits until this time, because the hours before are quiet for its number (R385). */
  readonly heldUntil: Date | null;
}

/** The idempotency key of a request. Only the first request with it is executed (R19). */
export interface IdempotencyClaim {
  readonly route: string;
  readonly key: string;
}

/** Why a message waits for a person's decision, and what it costs if it is released (R393). */
export interface PendingReview {
  /** The block of numbers that was written to too often. */
  readonly block: string;
  readonly costMinor: number;
  /** Cost of each recipient, by position. */
  readonly costs: readonly number[];
}

/** A row of send limits that must count a message. */
export interface CountedLimit {
  readonly id: string;
  /** True if the row also counts the messages to each phone number. */
  readonly countsNumbers: boolean;
}

/** A message that is ready for intake. Intake only charges and stores it. */
export interface PreparedMessage {
  readonly id: string;
  readonly accountId: string;
  readonly channel: Channel;
  readonly environment: Environment;
  readonly from: string;
  readonly content: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** Large content that only the submission needs, such as attachments. Lists never read it. */
  readonly bulk: Readonly<Record<string, unknown>> | null;
  readonly recipients: readonly PreparedRecipient[];
  readonly costMinor: number;
  readonly unitPriceMinor: number;
  readonly currency: string;
  readonly invalidSkipped: number;
  readonly duplicatesRemoved: number;
  readonly purpose: Purpose;
  readonly suppressedSkipped: number;
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  /** When the message was requested. */
  readonly createdAt: Date;
  readonly scheduledFor: Date | null;
  /** The latest `heldUntil` of its recipients. */
  readonly heldUntil: Date | null;
  readonly expiresAt: Date;
  readonly idempotency: IdempotencyClaim | null;
  /** The send limits that count the message (R371). */
  readonly limits: readonly CountedLimit[];
  /** Set if it is held for review. Then its own costs are 0, and no worker submits it. */
  readonly review: PendingReview | null;
}

/** Returns what send limits count as the spend of a message: its cost, also if it is not charged yet (R393). */
export function spendOf({ review, costMinor }: Pick<PreparedMessage, 'review' | 'costMinor'>): number {
  return review?.costMinor ?? costMinor;
}

/** Returns the message that intake stores for `prepared` as number `seq`. A sandbox message is `sent` at once. */
export function acceptedMessage(prepared: PreparedMessage, seq: number, acceptedAt: Date): Message {
  return {
    id: prepared.id,
    accountId: prepared.accountId,
    channel: prepared.channel,
    environment: prepared.environment,
    seq,
    status: prepared.environment === 'sandbox' ? 'sent' : 'pending',
    statusReason: prepared.review ? 'held_for_review' : null,
    from: prepared.from,
    to: prepared.recipients.map((recipient) => recipient.address),
    sid: null,
    tally: {
      reached: prepared.environment === 'sandbox' ? prepared.recipients.length : 0,
      delivered: 0,
      failed: 0,
      unregistered: 0,
      readAt: null,
    },
    content: prepared.content,
    payload: prepared.payload,
    costMinor: prepared.costMinor,
    unitPriceMinor: prepared.unitPriceMinor,
    currency: prepared.currency,
    invalidSkipped: prepared.invalidSkipped,
    duplicatesRemoved: prepared.duplicatesRemoved,
    purpose: prepared.purpose,
    suppressedSkipped: prepared.suppressedSkipped,
    apiKeyId: prepared.apiKeyId,
    userId: prepared.userId,
    createdAt: acceptedAt,
    scheduledFor: prepared.scheduledFor,
    heldUntil: prepared.heldUntil,
    expiresAt: prepared.expiresAt,
  };
}
