/** Storage of events, endpoints and deliveries. */
import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Page, PageRequest } from '../paging.ts';
import type { NewEvent, RecordedEvent } from '../webhooks/event.ts';
import type {
  DeliveryAttempt,
  DeliveryStatus,
  EventType,
  Webhook,
  WebhookDelivery,
} from '../webhooks/webhook.ts';

export interface EventStore {
  /** Appends events to their accounts' feeds. Fails for a second event of the same type and recipient. */
  append(events: readonly NewEvent[]): Promise<readonly RecordedEvent[]>;
  /** The number of an account's newest event in any environment; 0 before the first. */
  lastNumber(accountId: string): Promise<number>;
  /** An account's events after a number, in feed order. */
  after(visibility: Visibility, seq: number, limit: number): Promise<readonly RecordedEvent[]>;
  ofMessages(accountId: string, messageIds: readonly string[]): Promise<readonly RecordedEvent[]>;
  /** Events by number in the account's feed. */
  findMany(accountId: string, seqs: readonly number[]): Promise<readonly RecordedEvent[]>;
  /**
   * Events after a number, recorded in a time span, that an endpoint subscribes to and has no delivery of; without
   * tests. They are not deleted before the transaction ends.
   */
  missing(
    webhook: Webhook,
    span: TimeSpan,
    afterSeq: number,
    limit: number,
  ): Promise<readonly RecordedEvent[]>;
  /** Deletes up to `limit` events recorded before `time`, with their deliveries. Returns how many. */
  forgetBefore(time: Date, limit: number): Promise<number>;
}

/** Both ends included. */
export interface TimeSpan {
  readonly since: Date;
  readonly until: Date;
}

export type WebhookPatch = Partial<
  Pick<Webhook, 'url' | 'events' | 'description' | 'isActive' | 'disabledReason' | 'maxRetries'>
> & { readonly secretSealed?: string; readonly failingSince?: null };

export interface WebhookStore {
  insert(webhook: Webhook, secretSealed: string): Promise<void>;
  /**
   * Number of endpoints of an account in an environment. Locks the account's registrations until the transaction
   * ends.
   */
  count(owner: AccountEnvironment): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Webhook | undefined>;
  findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly Webhook[]>;
  /** Like `find`; also locks the endpoint until the transaction ends. */
  lock(visibility: Visibility, id: string): Promise<Webhook | undefined>;
  page(visibility: Visibility, request: PageRequest): Promise<Page<Webhook>>;
  update(id: string, patch: WebhookPatch): Promise<Webhook>;
  /** Hides the endpoint. Its deliveries stay. */
  markDeleted(id: string, at: Date): Promise<void>;
  /** Active endpoints of these accounts. */
  active(accountIds: readonly string[]): Promise<ActiveEndpoints>;
  /** An endpoint with its secret, also when inactive; undefined when deleted. */
  findForDelivery(id: string): Promise<SealedEndpoint | undefined>;
  /** Stores since when endpoints have been failing, unless they already were. */
  markFailing(failedAt: ReadonlyMap<string, Date>): Promise<void>;
  /** Clears the failures of endpoints. Writes nothing without any. */
  clearFailing(ids: readonly string[]): Promise<void>;
  /**
   * Locks and returns the active endpoints that have been failing since the first of `days` and had an attempted
   * delivery (no test) on each of them.
   */
  failingOn(
    ids: readonly string[],
    days: readonly TimeSpan[],
  ): Promise<readonly { webhook: Webhook; failingSince: Date }[]>;
}

export interface DueDelivery {
  readonly id: string;
  readonly accountId: string;
  readonly event: EventType;
  readonly body: string;
  /** Attempts so far. */
  readonly attempts: number;
  /** Attempts that do not count against `maxRetries`, because a recovery granted new retries. */
  readonly retriesFrom: number;
  /** When the retry was due; null before the first attempt. */
  readonly dueAt: Date | null;
}

/** An endpoint with its sealed secret. */
export interface SealedEndpoint {
  readonly webhook: Webhook;
  readonly secretSealed: string;
}

/** Active endpoints and when they were read. */
export interface ActiveEndpoints {
  readonly endpoints: readonly SealedEndpoint[];
  /** Monotonic milliseconds (performance.now). */
  readonly readAt: number;
}

/** Due deliveries with their endpoint as read at `readAt`. */
export interface DueAtEndpoint {
  readonly endpoint: SealedEndpoint;
  /** Monotonic milliseconds (performance.now). */
  readonly readAt: number;
  readonly due: readonly DueDelivery[];
}

/** The result of an attempt. */
export interface AttemptRecord {
  readonly deliveryId: string;
  readonly accountId: string;
  /** `dueAt` of the delivery when the attempt began. */
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
  /** Newest first. */
  page(webhookId: string, filter: DeliveryFilter, request: PageRequest): Promise<Page<WebhookDelivery>>;
  /** The attempts of the account's deliveries, by delivery, oldest first. */
  attempts(
    accountId: string,
    deliveryIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly DeliveryAttempt[]>>;
  /** The open deliveries that are due at `dueAt` (ISO 8601) or, without it, have had exactly `attempts` attempts. */
  due(
    webhookId: string,
    deliveryIds: readonly string[],
    attempts: number,
    dueAt: string | undefined,
  ): Promise<readonly DueDelivery[]>;
  /**
   * Stores attempts, each once. A success ends its delivery. A failure decides only if the delivery was not retried
   * or made due meanwhile. Canceled deliveries stay canceled. Returns the state of the deliveries whose attempts are
   * new.
   */
  record(records: readonly AttemptRecord[]): Promise<ReadonlyMap<AttemptRecord, DeliveryState>>;
  /**
   * Makes deliveries in one of `statuses` due at `at`, with new retries if `withNewRetries`, unless they are already due.
   * Returns them.
   */
  reopen(
    deliveryIds: readonly string[],
    statuses: readonly DeliveryStatus[],
    at: Date,
    withNewRetries: boolean,
  ): Promise<readonly WebhookDelivery[]>;
  /** Failed deliveries of events (no tests) recorded in a time span, by id, after `afterId`. */
  failed(webhookId: string, span: TimeSpan, afterId: string, limit: number): Promise<readonly string[]>;
  /** Ends open deliveries without an attempt. Returns those that were open. */
  close(
    deliveryIds: readonly string[],
    status: DeliveryStatus,
    errorMessage: string,
  ): Promise<readonly { readonly id: string; readonly accountId: string }[]>;
  /**
   * Cancels the open ones of an endpoint's next `limit` deliveries after `afterId`. Returns the last id visited;
   * undefined when there were none.
   */
  cancelOpen(
    webhookId: string,
    afterId: string,
    limit: number,
    errorMessage: string,
  ): Promise<string | undefined>;
}
