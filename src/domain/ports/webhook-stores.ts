/** Storage of webhook events, endpoints and deliveries. */
import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Page, PageRequest } from '../paging.ts';
import type { AppendedEvent, NewEvent, RecordedEvent } from '../webhooks/event.ts';
import type {
  DeliveryAttempt,
  DeliveryStatus,
  EventType,
  Webhook,
  WebhookDelivery,
} from '../webhooks/webhook.ts';
import type { RecipientKey } from './message-stores.ts';

export interface EventStore {
  /** Appends events to their accounts' feeds. Fails if a recipient already has an event of that type. */
  append(events: readonly NewEvent[]): Promise<readonly AppendedEvent[]>;
  /** Returns the number of an account's newest event, in any environment. 0 if there is none. */
  lastNumber(accountId: string): Promise<number>;
  /** Returns an account's events after the number `seq`, in feed order. */
  after(visibility: Visibility, seq: number, limit: number): Promise<readonly RecordedEvent[]>;
  ofMessages(accountId: string, messageIds: readonly string[]): Promise<readonly RecordedEvent[]>;
  /** Returns the events of messages that are about these recipients of them, or about no single recipient. */
  ofRecipients(
    accountId: string,
    messageIds: readonly string[],
    keys: readonly RecipientKey[],
  ): Promise<readonly RecordedEvent[]>;
  /** Returns the events that have these numbers in the account's feed. */
  findMany(accountId: string, seqs: readonly number[]): Promise<readonly RecordedEvent[]>;
  /**
   * Returns events that a recovery must deliver to an endpoint. The endpoint subscribes to their types and has no
   * delivery of them. Their numbers are above a given number, and they were recorded in a time span. Tests are left
   * out. Until the transaction ends, nobody can delete the returned events.
   */
  missing(
    webhook: Webhook,
    span: TimeSpan,
    afterSeq: number,
    limit: number,
  ): Promise<readonly RecordedEvent[]>;
  /**
   * Deletes up to `limit` events that were recorded before `time`, with their deliveries. Returns the number of deleted
   * events.
   */
  forgetBefore(time: Date, limit: number): Promise<number>;
}

/** A time span. It includes both ends. */
export interface TimeSpan {
  readonly since: Date;
  readonly until: Date;
}

export type WebhookPatch = Partial<
  Pick<Webhook, 'url' | 'events' | 'description' | 'isActive' | 'disabledReason' | 'maxRetries'>
> & {
  /** A new secret. If the present one stays valid until `previousEndsAt`, it becomes the previous one. */
  readonly secret?: { readonly sealed: string; readonly previousEndsAt: Date | null };
  readonly failingSince?: null;
};

export interface WebhookStore {
  insert(webhook: Webhook, secretSealed: string): Promise<void>;
  /**
   * Returns the number of an account's endpoints in an environment. Locks the account's registrations until the
   * transaction ends. So concurrent registrations cannot exceed the limit.
   */
  count(owner: AccountEnvironment): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Webhook | undefined>;
  findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly Webhook[]>;
  /** Like `find`. Also locks the endpoint until the transaction ends. */
  lock(visibility: Visibility, id: string): Promise<Webhook | undefined>;
  page(visibility: Visibility, request: PageRequest): Promise<Page<Webhook>>;
  update(id: string, patch: WebhookPatch): Promise<Webhook>;
  /** Hides the endpoint from all queries for callers. Its deliveries stay. */
  markDeleted(id: string, at: Date): Promise<void>;
  /** Returns the active endpoints of these accounts. */
  active(accountIds: readonly string[]): Promise<ActiveEndpoints>;
  /** Returns an endpoint with its secret, even if it is inactive. Undefined if it was deleted. */
  findForDelivery(id: string): Promise<SealedEndpoint | undefined>;
  /** Stores the time since when endpoints have been failing. If a time is already stored, it stays. */
  markFailing(failedAt: ReadonlyMap<string, Date>): Promise<void>;
  /** Clears the time since when endpoints have been failing. Writes nothing for endpoints that have no such time. */
  clearFailing(ids: readonly string[]): Promise<void>;
  /**
   * Locks and returns those active endpoints that have been failing since the first of `days` and had an attempt on
   * each of `days`. Tests do not count.
   */
  failingOn(
    ids: readonly string[],
    days: readonly TimeSpan[],
  ): Promise<readonly { webhook: Webhook; failingSince: Date }[]>;
}

export interface DueDelivery {
  readonly id: string;
  readonly messageId: string | null;
  readonly accountId: string;
  readonly event: EventType;
  readonly body: string;
  /** Number of attempts so far. */
  readonly attempts: number;
  /**
   * Number of earlier attempts that do not count against `maxRetries`, because a recovery after them granted new
   * retries.
   */
  readonly retriesFrom: number;
  /** When the retry is due. Null before the first attempt. */
  readonly dueAt: Date | null;
}

/** An endpoint with its encrypted secrets. */
export interface SealedEndpoint {
  readonly webhook: Webhook;
  readonly secretSealed: string;
  /** The secret before the last rotation. `previousSecretEndsAt` of the webhook says until when it signs. */
  readonly previousSecretSealed: string | null;
}

/** Active endpoints, and when they were read. */
export interface ActiveEndpoints {
  readonly endpoints: readonly SealedEndpoint[];
  /** When the endpoints were read (performance.now, ms). */
  readonly readAt: number;
}

/** Due deliveries of an endpoint, and the endpoint as it was read at `readAt`. */
export interface DueAtEndpoint {
  readonly endpoint: SealedEndpoint;
  /** When the endpoint was read (performance.now, ms). */
  readonly readAt: number;
  readonly due: readonly DueDelivery[];
}

/** The result of one attempt, as it is stored. */
export interface AttemptRecord {
  readonly deliveryId: string;
  readonly accountId: string;
  /** The `dueAt` that the delivery had when the attempt began. */
  readonly dueAt: Date | null;
  readonly status: DeliveryStatus;
  readonly nextRetryAt: Date | null;
  readonly responseBody: string | null;
  readonly attempt: DeliveryAttempt;
}

export type DeliveryState = Pick<WebhookDelivery, 'attempts' | 'nextRetryAt'>;

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly event?: EventType | undefined;
}

export interface DeliveryStore {
  insert(deliveries: readonly WebhookDelivery[]): Promise<void>;
  find(visibility: Visibility, id: string): Promise<WebhookDelivery | undefined>;
  /** Returns a page of an endpoint's deliveries, newest first. */
  page(webhookId: string, filter: DeliveryFilter, request: PageRequest): Promise<Page<WebhookDelivery>>;
  /** Returns the attempts of the account's deliveries, by delivery id, oldest first. */
  attempts(
    accountId: string,
    deliveryIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly DeliveryAttempt[]>>;
  /**
   * Returns the open deliveries that are due at `dueAt` (ISO 8601). Without `dueAt`, returns the open deliveries that
   * have had exactly `attempts` attempts.
   */
  due(
    webhookId: string,
    deliveryIds: readonly string[],
    attempts: number,
    dueAt: string | undefined,
  ): Promise<readonly DueDelivery[]>;
  /**
   * Stores attempts, each once. A success ends its delivery. A failure changes the delivery only if nobody retried it
   * or made it due in the meantime. Canceled deliveries stay canceled. Returns the state of each delivery whose attempt
   * was not stored before.
   */
  record(records: readonly AttemptRecord[]): Promise<ReadonlyMap<AttemptRecord, DeliveryState>>;
  /**
   * Makes deliveries with one of `statuses` due at `at`, unless they are due already. With `withNewRetries`, they get
   * new retries. Returns the deliveries that changed.
   */
  reopen(
    deliveryIds: readonly string[],
    statuses: readonly DeliveryStatus[],
    at: Date,
    withNewRetries: boolean,
  ): Promise<readonly WebhookDelivery[]>;
  /**
   * Returns the ids of failed deliveries after `afterId`, in order of id. Only events that were recorded in `span`
   * count. Events of `webhook.test` do not.
   */
  failed(webhookId: string, span: TimeSpan, afterId: string, limit: number): Promise<readonly string[]>;
  /** Ends open deliveries without an attempt. Returns the deliveries that were open. */
  close(
    deliveryIds: readonly string[],
    status: DeliveryStatus,
    errorMessage: string,
  ): Promise<readonly { readonly id: string; readonly accountId: string }[]>;
  /**
   * Looks at an endpoint's next `limit` deliveries after `afterId`, and cancels the open ones. Returns the id of the
   * last one, or undefined if there were none.
   */
  cancelOpen(
    webhookId: string,
    afterId: string,
    limit: number,
    errorMessage: string,
  ): Promise<string | undefined>;
}
