/** What the domain asks of storage for events, the endpoints that are told of them, and what is owed to each. */
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
  /** Appends events to their accounts' feeds. A kind that already fired for a recipient breaks a constraint. */
  append(events: readonly NewEvent[]): Promise<readonly RecordedEvent[]>;
  /** The number of an account's newest event, in any environment; 0 before the first. */
  lastNumber(accountId: string): Promise<number>;
  /** An account's events after a number, in the feed's order. */
  after(visibility: Visibility, seq: number, limit: number): Promise<readonly RecordedEvent[]>;
  /**
   * Events of an endpoint's environment after a number, recorded in a span of time (ends included), that it subscribes to
   * and has no delivery for; nobody forgets them before the transaction ends. Tests are not among them: they were meant for one
   * endpoint.
   */
  missing(
    webhook: Webhook,
    span: TimeSpan,
    afterSeq: number,
    limit: number,
  ): Promise<readonly RecordedEvent[]>;
  /** Forgets events recorded before `time`, with their deliveries; how many, at most `limit`. */
  forgetBefore(time: Date, limit: number): Promise<number>;
}

/** From `since` to `until`, both included. */
export interface TimeSpan {
  readonly since: Date;
  readonly until: Date;
}

export type WebhookPatch = Partial<
  Pick<Webhook, 'url' | 'events' | 'description' | 'isActive' | 'disabledReason' | 'maxRetries'>
> & { readonly secretSealed?: string; readonly failingSince?: null };

export interface WebhookStore {
  insert(webhook: Webhook, secretSealed: string): Promise<void>;
  /** How many endpoints the account has in an environment. Locks the account's registrations until the transaction ends. */
  count(owner: AccountEnvironment): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Webhook | undefined>;
  /** The same, locked until the transaction ends. */
  lock(visibility: Visibility, id: string): Promise<Webhook | undefined>;
  page(visibility: Visibility, request: PageRequest): Promise<Page<Webhook>>;
  update(id: string, patch: WebhookPatch): Promise<Webhook>;
  /** The endpoint is not found any more, but its deliveries keep it. */
  markDeleted(id: string, at: Date): Promise<void>;
  /** Active endpoints of these accounts. */
  active(accountIds: readonly string[]): Promise<ActiveEndpoints>;
  /** Endpoint with its secret, also when inactive; undefined when deleted. */
  findForDelivery(id: string): Promise<SealedEndpoint | undefined>;
  /** Remembers since when endpoints fail, where they did not fail before. */
  markFailing(failedAt: ReadonlyMap<string, Date>): Promise<void>;
  /** Forgets that endpoints failed; writes nothing where they did not. */
  clearFailing(ids: readonly string[]): Promise<void>;
  /**
   * Those that are active, fail since the first of `days` or longer, and had on each of them a delivery (no test) that
   * was attempted; locked.
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
  /** Attempts behind it. */
  readonly attempts: number;
  /** So many of them do not count against `maxRetries`: a recovery gave the retries anew. */
  readonly retriesFrom: number;
  /** When it was to be tried again; null before the first attempt. */
  readonly dueAt: Date | null;
}

/** An endpoint with its secret as it is stored. */
export interface SealedEndpoint {
  readonly webhook: Webhook;
  readonly secretSealed: string;
}

/** Active endpoints, and when they were read. */
export interface ActiveEndpoints {
  readonly endpoints: readonly SealedEndpoint[];
  /** Monotonic time in milliseconds (performance.now). */
  readonly readAt: number;
}

/** Deliveries that are due, and their endpoint as it was when it was read. */
export interface DueAtEndpoint {
  readonly endpoint: SealedEndpoint;
  /** Monotonic time in milliseconds (performance.now). */
  readonly readAt: number;
  readonly due: readonly DueDelivery[];
}

/** What an attempt made of a delivery. */
export interface AttemptRecord {
  readonly deliveryId: string;
  readonly accountId: string;
  /** `dueAt` of the delivery when the attempt was taken up. */
  readonly dueAt: Date | null;
  readonly status: DeliveryStatus;
  readonly nextRetryAt: Date | null;
  readonly responseBody: string | null;
  readonly attempt: DeliveryAttempt;
}

export type DeliveryStand = Pick<WebhookDelivery, 'attempts' | 'nextRetryAt'>;

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly event?: EventType | undefined;
}

export interface DeliveryStore {
  insert(deliveries: readonly WebhookDelivery[]): Promise<void>;
  find(visibility: Visibility, id: string): Promise<WebhookDelivery | undefined>;
  /** Newest first. */
  page(webhookId: string, filter: DeliveryFilter, request: PageRequest): Promise<Page<WebhookDelivery>>;
  /** What was attempted, by delivery, oldest first. */
  attempts(deliveryIds: readonly string[]): Promise<ReadonlyMap<string, readonly DeliveryAttempt[]>>;
  /**
   * Those of the deliveries that are open and to be tried again at `dueAt`, ISO 8601; without one, those with exactly
   * `attempts` attempts behind them.
   */
  due(
    webhookId: string,
    deliveryIds: readonly string[],
    attempts: number,
    dueAt: string | undefined,
  ): Promise<readonly DueDelivery[]>;
  /**
   * Counts and logs attempts, each once however often it is given. A success ends its delivery; a failure decides
   * over it only where it was not tried or made due beside this attempt. What was canceled stays so. Returns how the
   * deliveries of those that are logged now stand.
   */
  record(records: readonly AttemptRecord[]): Promise<ReadonlyMap<AttemptRecord, DeliveryStand>>;
  /**
   * Makes those that have one of `statuses` due at `at`, with their retries `anew` where that is said, unless they are
   * due already; returns those.
   */
  reopen(
    deliveryIds: readonly string[],
    statuses: readonly DeliveryStatus[],
    at: Date,
    anew: boolean,
  ): Promise<readonly WebhookDelivery[]>;
  /** Failed deliveries of events (no tests) recorded in a span of time, by id, after `afterId`. */
  failed(webhookId: string, span: TimeSpan, afterId: string, limit: number): Promise<readonly string[]>;
  /** Ends open deliveries without an attempt; returns those that were open. */
  close(
    deliveryIds: readonly string[],
    status: DeliveryStatus,
    errorMessage: string,
  ): Promise<readonly { readonly id: string; readonly accountId: string }[]>;
  /**
   * Cancels the open ones among an endpoint's next `limit` deliveries after `afterId`; returns the last id looked
   * at, undefined when there were none.
   */
  cancelOpen(
    webhookId: string,
    afterId: string,
    limit: number,
    errorMessage: string,
  ): Promise<string | undefined>;
}
