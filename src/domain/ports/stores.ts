/**
 * What the domain asks of storage. Every query that serves a caller carries the account id, so that another
 * account's object is simply not found. `find*` may return undefined.
 */
import type { Account, LedgerEntry } from '../accounts/account.ts';
import type { User } from '../accounts/user.ts';
import type { ApiKey, ApiKeyCredentials } from '../api-keys/api-key.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import type { Environment } from '../caller.ts';
import type {
  Channel,
  Message,
  MessageStatus,
  Recipient,
  RecipientError,
  TimelineEntry,
} from '../messages/message.ts';
import type { PriceRow } from '../money/tariff.ts';
import type { NewEvent, RecordedEvent } from '../webhooks/event.ts';
import type {
  DeliveryAttempt,
  DeliveryStatus,
  EventType,
  Webhook,
  WebhookDelivery,
} from '../webhooks/webhook.ts';
import type { ChangeKind } from './changes.ts';
import type { JobSink } from './job-queue.ts';
import type { DeliveryReport } from './provider.ts';

/** One page of a list and the number of all its rows. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly total: number;
}
/** `page` counts from 1. */
export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}

export interface AccountStore {
  insert(account: Account): Promise<void>;
  find(id: string): Promise<Account | undefined>;
  /** True when no account exists yet. */
  isEmpty(): Promise<boolean>;
  /**
   * Adds to balances and ledgers, one entry each, and returns the entries. An entry whose refund or reference
   * exists already is left out, and its account unchanged.
   */
  credit(
    entries: readonly Omit<LedgerEntry, 'seq' | 'balanceAfterMinor'>[],
  ): Promise<readonly LedgerEntry[]>;
}

export interface UserStore {
  insert(user: User, passwordHash: string): Promise<void>;
  findByEmail(email: string): Promise<{ user: User; passwordHash: string } | undefined>;
}

export type ApiKeyPatch = Partial<
  Pick<ApiKey, 'name' | 'scopes' | 'environment' | 'ipAllowlist' | 'expiresAt' | 'revokedAt' | 'rateLimit'>
>;

export interface ApiKeyStore {
  insert(key: ApiKey, secretHash: Buffer, signingSecretSealed: string | null): Promise<void>;
  /** Any account's key, for the command line and operators; `accountId` narrows it to one account. */
  find(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  findCredentials(keyId: string): Promise<ApiKeyCredentials | undefined>;
  page(accountId: string, request: PageRequest): Promise<Page<ApiKey>>;
  update(keyId: string, patch: ApiKeyPatch): Promise<ApiKey>;
  /** Records when keys were last used; later times win. */
  touch(uses: ReadonlyMap<string, Date>): Promise<void>;
}

export interface PriceStore {
  all(): Promise<readonly PriceRow[]>;
}

export interface MessageFilter {
  readonly channel?: Channel;
  readonly status?: MessageStatus;
  readonly environment?: Environment;
  readonly to?: string;
  readonly from?: Date;
  readonly until?: Date;
}

export type StatusCounts = Readonly<Partial<Record<MessageStatus, number>>>;

/** A step of one recipient along the transition table. */
export interface RecipientMove {
  readonly messageId: string;
  readonly position: number;
  readonly from: MessageStatus;
  readonly to: MessageStatus;
  readonly at: Date;
  readonly provider: string | null;
  readonly sid: string | null;
  readonly error: RecipientError | null;
}

/** A recipient whose move took place. */
export interface MovedRecipient {
  readonly messageId: string;
  readonly position: number;
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
  find(accountId: string, id: string): Promise<Message | undefined>;
  history(
    accountId: string,
    channel: Channel,
    filter: MessageFilter,
    request: PageRequest,
  ): Promise<Page<Message>>;
  recipients(messageIds: readonly string[]): Promise<readonly Recipient[]>;
  timelineNotes(messageId: string): Promise<readonly (TimelineEntry & { position: number })[]>;
  /** Messages with the recipients among them that are still pending. */
  pending(messageIds: readonly string[]): Promise<readonly { message: Message; recipients: Recipient[] }[]>;
  /** Locks the messages' rows in the order of their ids, so that their status can follow their recipients. */
  lock(messageIds: readonly string[]): Promise<ReadonlyMap<string, Message>>;
  /** Carries out the moves that still apply (the recipient's status is `from`) and returns those. */
  move(moves: readonly RecipientMove[]): Promise<readonly MovedRecipient[]>;
  /** How many recipients of each message stand where. */
  statusCounts(messageIds: readonly string[]): Promise<ReadonlyMap<string, StatusCounts>>;
  setStatus(statuses: ReadonlyMap<string, MessageStatus>): Promise<void>;
  note(notes: readonly TimelineNote[]): Promise<void>;
  /** Production messages of a status, by id, after `afterId` and created before `before`: what a sweep looks at. */
  createdBefore(
    status: MessageStatus,
    afterId: string,
    before: Date,
    limit: number,
  ): Promise<readonly Message[]>;
  setStatusReason(messageIds: readonly string[], reason: string): Promise<void>;
}

/** A sid that stands for a recipient, or for one part of its text. */
export interface SidRow {
  readonly provider: string;
  readonly sid: string;
  readonly accountId: string;
  readonly messageId: string;
  readonly position: number;
  readonly part: number;
}

export interface MatchedReport {
  readonly report: DeliveryReport;
  readonly messageId: string;
  readonly position: number;
  /** All parts of the recipient's text are reported delivered, this one counted in. */
  readonly complete: boolean;
}

export interface ReportStore {
  /** Remembers sids, and returns the reports that came before them (decision 15), which are then forgotten. */
  addSids(rows: readonly SidRow[]): Promise<readonly { provider: string; report: DeliveryReport }[]>;
  /** Finds the recipients that reports speak of, and marks their parts. */
  match(
    provider: string,
    reports: readonly DeliveryReport[],
  ): Promise<{ matched: readonly MatchedReport[]; unmatched: readonly DeliveryReport[] }>;
  keepUnmatched(provider: string, reports: readonly DeliveryReport[], at: Date): Promise<void>;
  /** Unmatched reports received after `since` whose sid is known by now; they are forgotten. */
  takeMatchable(since: Date): Promise<readonly { provider: string; report: DeliveryReport }[]>;
}

export interface EventStore {
  /** Appends events to their accounts' feeds. A kind that already fired for a recipient breaks a constraint. */
  append(events: readonly NewEvent[]): Promise<readonly RecordedEvent[]>;
}

export interface WebhookStore {
  insert(webhook: Webhook, secretSealed: string): Promise<void>;
  count(accountId: string): Promise<number>;
  /** Active endpoints of these accounts. */
  active(accountIds: readonly string[]): Promise<readonly Webhook[]>;
  /** Endpoint with its secret, also when inactive; undefined when deleted. */
  findForDelivery(id: string): Promise<{ webhook: Webhook; secretSealed: string } | undefined>;
}

export interface DueDelivery {
  readonly id: string;
  readonly accountId: string;
  readonly event: EventType;
  readonly body: string;
}

/** What an attempt made of a delivery. */
export interface AttemptRecord {
  readonly deliveryId: string;
  readonly accountId: string;
  /** Number of this attempt, from 1. */
  readonly number: number;
  readonly status: DeliveryStatus;
  readonly nextRetryAt: Date | null;
  readonly responseBody: string | null;
  readonly attempt: DeliveryAttempt;
}

export interface DeliveryStore {
  insert(deliveries: readonly WebhookDelivery[]): Promise<void>;
  /** Those of the deliveries that are open and have exactly `attempts` attempts behind them. */
  due(webhookId: string, deliveryIds: readonly string[], attempts: number): Promise<readonly DueDelivery[]>;
  /** Records attempts; one whose number is not the next of its delivery is left out. Returns the ids recorded. */
  record(records: readonly AttemptRecord[]): Promise<readonly string[]>;
  /** Ends open deliveries without an attempt. */
  close(deliveryIds: readonly string[], status: DeliveryStatus, errorMessage: string): Promise<void>;
}

/** How far each sweep over the messages has come. */
export interface SweepStore {
  /** Locks a sweep's mark until the transaction ends; undefined when another process is at it. */
  claim(name: string): Promise<string | undefined>;
  advance(name: string, lastId: string): Promise<void>;
  /** Forgets idempotency records that have expired; how many. */
  forgetExpiredClaims(now: Date, limit: number): Promise<number>;
}

export interface AuditStore {
  append(entry: AuditEntry): Promise<void>;
}

export interface Stores {
  readonly accounts: AccountStore;
  readonly users: UserStore;
  readonly apiKeys: ApiKeyStore;
  readonly prices: PriceStore;
  readonly messages: MessageStore;
  readonly reports: ReportStore;
  readonly events: EventStore;
  readonly webhooks: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly sweeps: SweepStore;
  readonly audit: AuditStore;
}

/** The stores inside one transaction, with the jobs that commit with it. */
export interface Tx extends Stores {
  readonly jobs: JobSink;
  /** Tells every process, this one included, that cached copies are out of date once this commits. */
  announce(kind: ChangeKind, id: string): void;
}

/** Runs `work` in one transaction: inside, only `tx` may be touched, and nothing may wait for the network. */
export interface UnitOfWork {
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}
