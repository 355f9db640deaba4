import type { AuditEntry } from '../audit/audit-entry.ts';
import type { Environment } from '../caller.ts';
import type { Channel, Message, MessageStatus, Recipient, TimelineEntry } from '../messages/message.ts';
import type { KeyRange } from '../paging.ts';
import type { RecordedEvent } from '../webhooks/event.ts';
import type { DeliveryAttempt, DeliveryStatus, EventType, WebhookDelivery } from '../webhooks/webhook.ts';

/** So many of the newest messages of each channel, within the filter's span of time, are searched for a text. */
export const SEARCH_REACH = 100_000;

export interface MessageListFilter {
  readonly channel?: Channel | undefined;
  readonly status?: MessageStatus | undefined;
  readonly environment?: Environment | undefined;
  /** Created at or after, and at or before. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** Part of the text, the sender or a recipient's address. */
  readonly search?: string | undefined;
  readonly apiKeyId?: string | undefined;
}
/** Where a message stands in its account's lists. */
export interface MessageKey {
  readonly id: string;
  readonly channel: Channel;
  readonly seq: number;
  readonly createdAt: Date;
}
/** The last sequence number of a channel, and how many of its messages no retention has removed. */
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

/** Messages as people look through them. The edges of many messages come in one statement. */
export interface MessageListStore {
  counters(accountId: string): Promise<ReadonlyMap<Channel, ChannelCounter>>;
  /** Of each channel in `before`, up to `limit` messages with a smaller sequence number, in falling order. */
  keys(
    accountId: string,
    filter: MessageListFilter,
    before: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]>;
  count(accountId: string, filter: MessageListFilter): Promise<number>;
  /** Those of the messages that are the account's and match, the oldest first. */
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
  eventsOf(accountId: string, messageIds: readonly string[]): Promise<readonly RecordedEvent[]>;
  /** Events by their number in the feed. */
  events(accountId: string, seqs: readonly number[]): Promise<readonly RecordedEvent[]>;
}

/** Deliveries and the audit log, as people look through them. */
export interface ListStore {
  /** Deliveries of the messages, the oldest first. */
  deliveriesOf(
    accountId: string,
    messageIds: readonly string[],
    limit: number,
  ): Promise<readonly WebhookDelivery[]>;
  /** Deliveries, the newest first. */
  deliveries(
    accountId: string,
    filter: DeliveryListFilter,
    range: KeyRange,
  ): Promise<readonly WebhookDelivery[]>;
  /** Deliveries to each of the endpoints that are the account's, the newest first. */
  deliveriesToEach(
    accountId: string,
    webhookIds: readonly string[],
    range: KeyRange,
  ): Promise<readonly WebhookDelivery[]>;
  /** Those of the deliveries that are the account's, to all its endpoints or to one, the oldest first. */
  findDeliveries(
    accountId: string,
    ids: readonly string[],
    webhookId: string | undefined,
  ): Promise<readonly WebhookDelivery[]>;
  countDeliveries(accountId: string, filter: DeliveryListFilter): Promise<number>;
  deliveryCounts(
    accountId: string,
    webhookIds: readonly string[],
  ): Promise<ReadonlyMap<string, DeliveryCounts>>;
  attempts(
    accountId: string,
    deliveryIds: readonly string[],
  ): Promise<readonly (DeliveryAttempt & { deliveryId: string })[]>;
  /** Audit entries of an account, or of all and of none when it is undefined, the newest first. */
  auditEntries(
    accountId: string | undefined,
    filter: AuditFilter,
    range: KeyRange,
  ): Promise<readonly AuditEntry[]>;
  countAuditEntries(accountId: string | undefined, filter: AuditFilter): Promise<number>;
}
