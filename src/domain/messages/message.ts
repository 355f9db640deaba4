/**
 * A **message** is one accepted request to send; it has one **recipient** row per address. A recipient's status
 * only moves forward (status.ts) and the message's status follows from its recipients' (R13).
 * Money is in whole minor units. `position` numbers the recipients of a message from 0 and never changes.
 */
import type { Environment } from '../caller.ts';

export const CHANNELS = ['sms', 'email', 'push', 'whatsapp'] as const;
export type Channel = (typeof CHANNELS)[number];

export const MESSAGE_STATUSES = ['pending', 'sent', 'delivered', 'failed'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** A message with no answer from its carrier after this long has failed (R14). */
export const SUBMIT_DEADLINE_MS = 24 * 3_600_000;
/** A sent message with no delivery report after this long is `delivery_unconfirmed` (R14). */
export const REPORT_DEADLINE_MS = 72 * 3_600_000;

export interface Message {
  readonly id: string;
  readonly accountId: string;
  readonly channel: Channel;
  readonly environment: Environment;
  /** Dense number within the account and channel, from 1: what history pages are cut by. */
  readonly seq: number;
  readonly status: MessageStatus;
  readonly statusReason: string | null;
  readonly from: string;
  readonly to: readonly string[];
  /** The first accepted recipient's sid. */
  readonly sid: string | null;
  readonly tally: RecipientTally;
  readonly content: string;
  /** What a channel has beyond its text. */
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly costMinor: number;
  readonly unitPriceMinor: number;
  readonly currency: string;
  readonly invalidSkipped: number;
  readonly duplicatesRemoved: number;
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  readonly createdAt: Date;
  readonly scheduledFor: Date | null;
  readonly expiresAt: Date;
}

/** How many of a message's recipients a provider took, and how many failed, some as unregistered (R24). */
export interface RecipientTally {
  readonly reached: number;
  readonly failed: number;
  readonly unregistered: number;
  /** When the first recipient read it, where the channel tells. */
  readonly readAt: Date | null;
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
  /** A worker may hand it over at any moment, or has: it cannot be canceled any more (R18). */
  readonly isClaimed: boolean;
  /** Hand-overs that ended without an answer, or with one that says to try again. */
  readonly handOvers: number;
  /** It failed although an earlier hand-over may have left: it is refunded then, unless a provider says it took it. */
  readonly refundDueAt: Date | null;
}

/**
 * What of a recipient's cost was given back, in minor units: all of it when it failed before anybody accepted it, and no
 * refund is deferred.
 */
export function refundedMinor({ status, sentAt, refundDueAt, costMinor }: Recipient): number {
  return status === 'failed' && sentAt === null && refundDueAt === null ? costMinor : 0;
}

/** What of a message its hand-over takes: it never changes. */
export type OutgoingMessage = Pick<
  Message,
  'id' | 'channel' | 'from' | 'content' | 'payload' | 'createdAt' | 'scheduledFor' | 'expiresAt'
>;
export type OutgoingRecipient = Pick<Recipient, 'messageId' | 'position' | 'address' | 'isClaimed'>;
/** A message with those of its recipients that are to be handed over. */
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
 * A send request that passed the rules of its channel, with the prices of production. `prepareMessage` makes a
 * `PreparedMessage` of it.
 */
export interface PricedMessage {
  readonly from: string;
  readonly content: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** Large content that only the submission needs, such as attachments. */
  readonly bulk?: Readonly<Record<string, unknown>>;
  readonly recipients: readonly { readonly address: string; readonly costMinor: number }[];
  /** One unit to the first recipient. */
  readonly unitPriceMinor: number;
  readonly currency: string;
  /** Recipients that were left out: invalid ones and, of push, devices without a provider. */
  readonly skipped: readonly string[];
  readonly duplicatesRemoved: number;
  readonly scheduledFor: Date | null;
  /** Submitting later than this after the send time is useless. R14's deadline holds where it is absent or longer. */
  readonly maxDelayMs?: number | undefined;
}

export interface PreparedRecipient {
  readonly address: string;
  readonly costMinor: number;
  /** The route that will carry it: jobs are cut by it. */
  readonly routeKey: string;
}

/** The claim of a request on its idempotency key (R19). */
export interface IdempotencyClaim {
  readonly route: string;
  readonly key: string;
}

/** A message that passed every rule and waits only for its money: what intake takes. */
export interface PreparedMessage {
  readonly id: string;
  readonly accountId: string;
  readonly channel: Channel;
  readonly environment: Environment;
  readonly from: string;
  readonly content: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** What only the hand-over needs and no list should read, such as attachments. */
  readonly bulk: Readonly<Record<string, unknown>> | null;
  readonly recipients: readonly PreparedRecipient[];
  readonly costMinor: number;
  readonly unitPriceMinor: number;
  readonly currency: string;
  readonly invalidSkipped: number;
  readonly duplicatesRemoved: number;
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  /** When it was asked for. */
  readonly createdAt: Date;
  readonly scheduledFor: Date | null;
  readonly expiresAt: Date;
  readonly idempotency: IdempotencyClaim | null;
}

/** The message that `prepared` becomes once accepted under `seq`; sandbox messages are `sent` at once. */
export function acceptedMessage(prepared: PreparedMessage, seq: number, acceptedAt: Date): Message {
  return {
    id: prepared.id,
    accountId: prepared.accountId,
    channel: prepared.channel,
    environment: prepared.environment,
    seq,
    status: prepared.environment === 'sandbox' ? 'sent' : 'pending',
    statusReason: null,
    from: prepared.from,
    to: prepared.recipients.map((recipient) => recipient.address),
    sid: null,
    tally: {
      reached: prepared.environment === 'sandbox' ? prepared.recipients.length : 0,
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
    apiKeyId: prepared.apiKeyId,
    userId: prepared.userId,
    createdAt: acceptedAt,
    scheduledFor: prepared.scheduledFor,
    expiresAt: prepared.expiresAt,
  };
}
