import type { Environment } from '../caller.ts';
import type { Channel, Message, MessageStatus, Recipient, TimelineEntry } from '../messages/message.ts';
import type { TwoWayRange } from '../paging.ts';
import type { DeliveryStatus, EventType, WebhookDelivery } from '../webhooks/webhook.ts';
import type { RecipientKey } from './message-stores.ts';

/** Number of messages per channel that a text search reads: the newest in the time span of the filter. */
export const SEARCH_REACH = 100_000;

export interface MessageListFilter {
  /** Filter: the message has one of these channels and one of these statuses. Undefined or empty: any. */
  readonly channel?: readonly Channel[] | undefined;
  readonly status?: readonly MessageStatus[] | undefined;
  readonly environment?: Environment | undefined;
  /** Bounds of the creation time, both included. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** Filter: the message's text, its sender or a recipient's address contains this text. */
  readonly search?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly sender?: string | undefined;
  /** Filter: a recipient of the message has this error code and this provider. */
  readonly errorCode?: string | undefined;
  readonly provider?: string | undefined;
  /**
   * Filter: a recipient of the message has this status. If an error code or a provider is also given, the same
   * recipient must have them.
   */
  readonly recipientStatus?: MessageStatus | undefined;
}
/** The time span that a search reads. */
export type SearchSpan = Pick<MessageListFilter, 'from' | 'to'>;
/** The position of a message in its account's lists. */
export interface MessageKey {
  readonly id: string;
  readonly channel: Channel;
  readonly seq: number;
  readonly createdAt: Date;
}
/**
 * `last`: the highest sequence number of a channel. `kept`: the number of its messages that retention has not deleted.
 */
export interface ChannelCounter {
  readonly last: number;
  readonly kept: number;
}
export interface DeliveryListFilter {
  readonly environment?: Environment | undefined;
  readonly webhookId?: string | undefined;
  readonly status?: DeliveryStatus | undefined;
  readonly event?: EventType | undefined;
  readonly messageId?: string | undefined;
  /** Only deliveries that were made at this time or later. */
  readonly since?: Date | undefined;
  /** Only deliveries that were made before this time. */
  readonly until?: Date | undefined;
}
export interface DeliveryCounts {
  readonly succeeded: number;
  readonly failed: number;
  readonly pending: number;
  /** Number of deliveries in any status, canceled ones included. */
  readonly total: number;
}
/** Intervals of whole hours. Each ends where the next one starts, and the last one ends at `to`. */
export interface DeliveryIntervals {
  readonly starts: readonly Date[];
  readonly to: Date;
  readonly byEvent: boolean;
}
export interface CountedDeliveries extends DeliveryCounts {
  readonly webhookId: string;
  /** Index of the interval. */
  readonly interval: number;
  /** The event type. Null if deliveries are not counted by event. */
  readonly event: string | null;
}
export interface AuditFilter {
  readonly action?: string | undefined;
  /** Any of these. */
  readonly actors?: readonly string[] | undefined;
  /** Any of these. */
  readonly targets?: readonly string[] | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** Lists of messages for people. The recipients or notes of many messages are read with one statement. */
export interface MessageListStore {
  counters(accountId: string): Promise<ReadonlyMap<Channel, ChannelCounter>>;
  /**
   * For each channel in `before`, returns up to `limit` messages with a sequence number below the given one, highest
   * first.
   */
  keys(
    accountId: string,
    filter: MessageListFilter,
    before: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]>;
  /**
   * For each channel in `from`, returns up to `limit` messages with the given sequence number or a higher one, lowest
   * first. An index must serve the filter.
   */
  keysFrom(
    accountId: string,
    filter: MessageListFilter,
    from: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]>;
  count(accountId: string, filter: MessageListFilter): Promise<number>;
  /**
   * Returns the ids of the messages with the highest cost, the highest first. For each channel, it looks only at the
   * newest `SEARCH_REACH` messages in the time span of the filter.
   */
  costliest(accountId: string, filter: MessageListFilter, limit: number): Promise<readonly string[]>;
  /**
   * For each channel, a search reads messages backwards from the number in `before`. It may stop before the start of
   * the time span. Returns the latest time at which it stopped in one of these channels. Undefined if it stopped in
   * none.
   */
  searchStop(
    accountId: string,
    filter: SearchSpan,
    before: ReadonlyMap<Channel, number | undefined>,
  ): Promise<Date | undefined>;
  /** Returns the account's messages with these ids that match the filter, oldest first. */
  findMany(
    accountId: string,
    ids: readonly string[],
    filter?: MessageListFilter,
  ): Promise<readonly Message[]>;
  recipients(accountId: string, messageIds: readonly string[]): Promise<readonly Recipient[]>;
  /** Returns single recipients, in any order. */
  recipientsAt(accountId: string, keys: readonly RecipientKey[]): Promise<readonly Recipient[]>;
  timelineNotes(
    accountId: string,
    messageIds: readonly string[],
  ): Promise<readonly (TimelineEntry & { messageId: string; position: number })[]>;
}

export interface RecipientListFilter {
  /** Filter: the recipient has one of these statuses, and its message one of these channels. */
  readonly channel?: readonly Channel[] | undefined;
  readonly status?: readonly MessageStatus[] | undefined;
  /** Filter: the whole address of the recipient, as it is stored. */
  readonly address?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly provider?: string | undefined;
  /** Filters on the message. Both bounds of its creation time are included. */
  readonly environment?: Environment | undefined;
  readonly sender?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}
/** A recipient with the position and the currency of its message. `id` is the id of the message. */
export type ListedRecipient = Recipient & MessageKey & Pick<Message, 'currency'>;
/** A place in a channel's list of recipients. The next page begins after it. */
export interface RecipientPlace {
  /** Number of the message. */
  readonly seq: number;
  /** Position of the recipient in its message. */
  readonly position: number;
}

/** Lists of the recipients of all messages. */
export interface RecipientListStore {
  /**
   * For each channel, returns up to `limit` recipients after the given place. The newest message comes first. Without
   * an address, reads only the newest `SEARCH_REACH` messages before the place in the time span of the filter.
   */
  list(
    accountId: string,
    filter: RecipientListFilter,
    after: ReadonlyMap<Channel, RecipientPlace>,
    limit: number,
  ): Promise<readonly ListedRecipient[]>;
  /**
   * For each channel, returns up to `limit` recipients before the given place, the nearest first. The filter must have
   * an address. A filter without an address may have only a channel and a time span.
   */
  listBefore(
    accountId: string,
    filter: RecipientListFilter,
    before: ReadonlyMap<Channel, RecipientPlace>,
    limit: number,
  ): Promise<readonly ListedRecipient[]>;
  /** Returns the number of matching recipients in the messages that `list` reads. */
  count(accountId: string, filter: RecipientListFilter, channels: readonly Channel[]): Promise<number>;
}

/** Lists of webhook deliveries for people. */
export interface DeliveryListStore {
  /** Returns up to `limit` deliveries of the messages' events, oldest first. */
  ofMessages(
    accountId: string,
    messageIds: readonly string[],
    limit: number,
  ): Promise<readonly WebhookDelivery[]>;
  /** Returns the deliveries of the events with these numbers, oldest first. */
  ofEvents(accountId: string, seqs: readonly number[]): Promise<readonly WebhookDelivery[]>;
  /** Returns the account's deliveries, newest first, or from the end of the list oldest first. */
  list(
    accountId: string,
    filter: DeliveryListFilter,
    range: TwoWayRange,
  ): Promise<readonly WebhookDelivery[]>;
  /** Returns the deliveries to each of the account's endpoints, in the same order. */
  listToEach(
    accountId: string,
    webhookIds: readonly string[],
    range: TwoWayRange,
  ): Promise<readonly WebhookDelivery[]>;
  /** Returns the account's deliveries with these ids, oldest first. `webhookId` restricts them to one endpoint. */
  findMany(
    accountId: string,
    ids: readonly string[],
    webhookId: string | undefined,
  ): Promise<readonly WebhookDelivery[]>;
  count(accountId: string, filter: DeliveryListFilter): Promise<number>;
  /** Counts the deliveries to the account's endpoints by time, the oldest first. */
  countsByTime(
    accountId: string,
    webhookIds: readonly string[],
    intervals: DeliveryIntervals,
  ): Promise<readonly CountedDeliveries[]>;
  countsToEach(
    accountId: string,
    webhookIds: readonly string[],
  ): Promise<ReadonlyMap<string, DeliveryCounts>>;
}
