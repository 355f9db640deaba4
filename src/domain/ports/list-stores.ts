import type { Environment } from '../caller.ts';
import type { Channel, Message, MessageStatus, Recipient, TimelineEntry } from '../messages/message.ts';
import type { KeyRange } from '../paging.ts';
import type { DeliveryStatus, EventType, WebhookDelivery } from '../webhooks/webhook.ts';

/** A text is searched in this many of the newest messages of each channel in the filter's time span. */
export const SEARCH_REACH = 100_000;

export interface MessageListFilter {
  /** One of these. */
  readonly channel?: readonly Channel[] | undefined;
  readonly status?: readonly MessageStatus[] | undefined;
  readonly environment?: Environment | undefined;
  /** Inclusive bounds of the creation time. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** Part of the text, the sender or a recipient's address. */
  readonly search?: string | undefined;
  readonly apiKeyId?: string | undefined;
  readonly sender?: string | undefined;
  /** Of one of its recipients. */
  readonly errorCode?: string | undefined;
  readonly provider?: string | undefined;
}
/** The position of a message in its account's lists. */
export interface MessageKey {
  readonly id: string;
  readonly channel: Channel;
  readonly seq: number;
  readonly createdAt: Date;
}
/** The last sequence number of a channel, and the number of its messages that retention has kept. */
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
}
export interface DeliveryCounts {
  readonly succeeded: number;
  readonly failed: number;
  readonly pending: number;
  /** In any status, canceled ones too. */
  readonly total: number;
}
export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** Lists of messages for people. What belongs to many messages comes in one statement. */
export interface MessageListStore {
  counters(accountId: string): Promise<ReadonlyMap<Channel, ChannelCounter>>;
  /** For each channel in `before`, up to `limit` messages with smaller sequence numbers, highest first. */
  keys(
    accountId: string,
    filter: MessageListFilter,
    before: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]>;
  count(accountId: string, filter: MessageListFilter): Promise<number>;
  /** Ids of the costliest of the newest `SEARCH_REACH` messages of each channel in the time span, costliest first. */
  costliest(accountId: string, filter: MessageListFilter, limit: number): Promise<readonly string[]>;
  /** Matching messages of the account, oldest first. */
  findMany(
    accountId: string,
    ids: readonly string[],
    filter?: MessageListFilter,
  ): Promise<readonly Message[]>;
  recipients(accountId: string, messageIds: readonly string[]): Promise<readonly Recipient[]>;
  timelineNotes(
    accountId: string,
    messageIds: readonly string[],
  ): Promise<readonly (TimelineEntry & { messageId: string; position: number })[]>;
}

/** Lists of deliveries for people. */
export interface DeliveryListStore {
  /** Deliveries of the messages, oldest first. */
  ofMessages(
    accountId: string,
    messageIds: readonly string[],
    limit: number,
  ): Promise<readonly WebhookDelivery[]>;
  /** Deliveries, newest first. */
  list(accountId: string, filter: DeliveryListFilter, range: KeyRange): Promise<readonly WebhookDelivery[]>;
  /** Deliveries to each of the account's endpoints, newest first. */
  listToEach(
    accountId: string,
    webhookIds: readonly string[],
    range: KeyRange,
  ): Promise<readonly WebhookDelivery[]>;
  /** Deliveries of the account to all its endpoints or to one, oldest first. */
  findMany(
    accountId: string,
    ids: readonly string[],
    webhookId: string | undefined,
  ): Promise<readonly WebhookDelivery[]>;
  count(accountId: string, filter: DeliveryListFilter): Promise<number>;
  countsToEach(
    accountId: string,
    webhookIds: readonly string[],
  ): Promise<ReadonlyMap<string, DeliveryCounts>>;
}
