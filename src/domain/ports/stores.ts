/**
 * What the domain asks of storage. Every query that serves a caller carries the account id, so that another
 * account's object is simply not found; where things belong to an environment and an API key may ask, it carries a
 * `Reach` or a `Home` (reach.ts). `find*` may return undefined.
 */

import type { Account, LedgerEntry, RetentionDays } from '../accounts/account.ts';
import type { ApiKey, ApiKeyCredentials, ApiKeyUse, ScopeUse } from '../api-keys/api-key.ts';
import type { AuditLink, ChainedEntry } from '../audit/audit-chain.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import type { Environment, Reach } from '../caller.ts';
import type {
  Channel,
  Message,
  MessageStatus,
  Recipient,
  RecipientError,
  TimelineEntry,
} from '../messages/message.ts';
import type { PriceRow } from '../money/tariff.ts';
import type { KeyRange } from '../paging.ts';
import type { ChangeKind } from './changes.ts';
import type { ContactImportStore } from './contact-import-store.ts';
import type { ContactStore } from './contact-store.ts';
import type { DeviceStore } from './device-store.ts';
import type { InboundStore } from './inbound-store.ts';
import type { JobSink } from './job-queue.ts';
import type { LedgerCheckStore } from './ledger-check-store.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { ListStore, MessageListStore } from './list-stores.ts';
import type { LiveKind, LiveObject } from './live.ts';
import type { Page, PageRequest } from './page.ts';
import type { SessionStore, SignInFailureStore, UserStore } from './people-stores.ts';
import type { PlanStore } from './plan-store.ts';
import type { ProviderHealthStore } from './provider-health-store.ts';
import type { RefundStore } from './refund-store.ts';
import type { ReportStore } from './report-store.ts';
import type { RetentionStore } from './retention-store.ts';
import type { SweepMark } from './sweep-mark.ts';
import type { UsageStore } from './usage-store.ts';
import type { DeliveryStore, EventStore, WebhookStore } from './webhook-stores.ts';

export interface AccountStore {
  insert(account: Account): Promise<void>;
  find(id: string): Promise<Account | undefined>;
  /** Accounts by id, the newest first; `search` looks into name and email. */
  list(search: string | undefined, range: KeyRange): Promise<readonly Account[]>;
  count(search: string | undefined): Promise<number>;
  /** Says how long an account keeps its messages; returns what it said before, undefined for no account. */
  setRetention(id: string, retention: RetentionDays): Promise<RetentionDays | undefined>;
  /** True when no account exists yet. */
  isEmpty(): Promise<boolean>;
  /**
   * Adds to balances and ledgers, one entry each, and returns the entries. An entry whose refund or reference
   * exists already is left out, and its account unchanged.
   */
  credit(entries: readonly Omit<LedgerEntry, 'seq' | 'balanceAfterMinor'>[]): Promise<readonly LedgerEntry[]>;
  /** What was booked on the account under the reference. */
  findBooked(accountId: string, reference: string): Promise<LedgerEntry | undefined>;
}

export type ApiKeyPatch = Partial<
  Pick<
    ApiKey,
    'name' | 'scopes' | 'environment' | 'ipAllowlist' | 'expiresAt' | 'rotatedAt' | 'revokedAt' | 'rateLimit'
  >
>;

/** Whose keys are looked for, and which of them. */
export interface MakersQuery {
  /** Keys and people, as `actorOf` names them. */
  readonly makers: readonly string[];
  /** Narrows it to one account. */
  readonly accountId?: string | undefined;
  /** Whether a key that a maker created counts as theirs after somebody else has rotated it. */
  readonly isRotatedByOthersToo: boolean;
  /** At most so many rows; all when absent. */
  readonly limit?: number | undefined;
}

export interface ApiKeyStore {
  insert(key: ApiKey, secretHash: Buffer, signingSecretSealed: string | null): Promise<void>;
  /** Lets nobody else change the keys of the account until the transaction ends. */
  lockAccount(accountId: string): Promise<void>;
  /** Any account's key, for the command line and operators; `accountId` narrows it to one account. */
  find(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** As `find`, and locks the key until the transaction ends. */
  lock(keyId: string, accountId?: string): Promise<ApiKey | undefined>;
  /** Those of the keys that are the account's, in no order. */
  findMany(accountId: string, keyIds: readonly string[]): Promise<readonly ApiKey[]>;
  findCredentials(keyId: string): Promise<ApiKeyCredentials | undefined>;
  /** The account's keys, those of one environment where it is given, the newest first. */
  page(accountId: string, request: PageRequest, environment?: Environment): Promise<Page<ApiKey>>;
  /**
   * What each of the makers created or rotated, and what these keys created or rotated in turn; the oldest first.
   * A key that two of the makers lead to comes twice.
   */
  madeBy(query: MakersQuery): Promise<readonly { readonly maker: string; readonly key: ApiKey }[]>;
  update(keyId: string, patch: ApiKeyPatch): Promise<ApiKey>;
  /** Records when keys and their scopes were last used; later times win. */
  touch(uses: readonly ApiKeyUse[]): Promise<void>;
  /** The scopes of those keys, each with its last use; `accountId` narrows it to one account. */
  scopeUses(keyIds: readonly string[], accountId?: string): Promise<ReadonlyMap<string, readonly ScopeUse[]>>;
}

export interface PriceStore {
  all(): Promise<readonly PriceRow[]>;
  /** Sets a price; returns the minor units it had before. */
  set(id: string, row: PriceRow, at: Date): Promise<number | undefined>;
  /** False when the reference was used before, for whatever price. */
  claimReference(reference: string, row: PriceRow, at: Date): Promise<boolean>;
  byReference(reference: string): Promise<PriceRow | undefined>;
}

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
  readonly mayHaveLeft?: boolean;
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
  find(reach: Reach, id: string): Promise<Message | undefined>;
  /** Newest first. */
  history(
    reach: Reach,
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

/** How far each sweep over the messages has come. */
export interface SweepStore {
  /** Locks a sweep's mark until the transaction ends; undefined when another process is at it. */
  claim(name: string): Promise<SweepMark | undefined>;
  advance(name: string, mark: SweepMark): Promise<void>;
  /** Forgets idempotency records that have expired by the store's own clock; how many. */
  forgetExpiredClaims(limit: number): Promise<number>;
}

export interface AuditStore {
  /** Appends to the end of the chain, which stays locked until the transaction ends. */
  append(entry: AuditEntry): Promise<void>;
  /** The chain's entries after number `seq`, in their order. */
  chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]>;
  /** The end of the chain as it is kept beside the log, and the signed head, null when nobody has signed one yet. */
  heads(): Promise<{ readonly logId: string; readonly signed: string | null; readonly end: AuditLink }>;
  /** Replaces the signed head unless it is another one than `before` by now. */
  replaceSigned(before: string | null, signed: string): Promise<void>;
}

export interface Stores {
  readonly accounts: AccountStore;
  readonly ledger: LedgerStore;
  readonly ledgerCheck: LedgerCheckStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly signInFailures: SignInFailureStore;
  readonly plans: PlanStore;
  readonly apiKeys: ApiKeyStore;
  readonly prices: PriceStore;
  readonly messages: MessageStore;
  readonly contacts: ContactStore;
  readonly contactImports: ContactImportStore;
  readonly refunds: RefundStore;
  readonly reports: ReportStore;
  readonly events: EventStore;
  readonly webhooks: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly devices: DeviceStore;
  readonly inbound: InboundStore;
  readonly sweeps: SweepStore;
  readonly retention: RetentionStore;
  readonly providerHealth: ProviderHealthStore;
  readonly audit: AuditStore;
  readonly lists: ListStore;
  readonly messageLists: MessageListStore;
  readonly usage: UsageStore;
}

/** The stores inside one transaction, with the jobs that commit with it. */
export interface Tx extends Stores {
  readonly jobs: JobSink;
  /** Tells every process, this one included, that cached copies are out of date once this commits. */
  announce(kind: ChangeKind, id: string): void;
  /** Tells whoever watches, in any process, that these objects are new or have changed, once this commits. */
  announceLive(kind: LiveKind, objects: readonly LiveObject[]): void;
}

/** Runs `work` in one transaction: inside, only `tx` may be touched, and nothing may wait for the network. */
export interface UnitOfWork {
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}
