/**
 * The storage ports. Every query that serves a caller takes the account id, so it never finds objects of other
 * accounts. Queries on rows with an environment take a `Visibility` or an `AccountEnvironment` (caller.ts), because an
 * API key has one environment. `find*` may return undefined.
 */

import type {
  AccountStore,
  LedgerCheckStore,
  LedgerStore,
  PlanStore,
  PriceStore,
  UsageStore,
} from './account-stores.ts';
import type { AlertFactStore, AlertStore } from './alert-store.ts';
import type { AnalyticsStore } from './analytics-store.ts';
import type { ApiKeyStore } from './api-key-stores.ts';
import type { AuditStore } from './audit-stores.ts';
import type { ChangeKind, LiveKind, LiveObject } from './changes.ts';
import type { ContactImportStore, ContactStore } from './contact-stores.ts';
import type { CopyStore } from './copy-store.ts';
import type { DeviceStore } from './device-store.ts';
import type { ErasureStore } from './erasure-store.ts';
import type { HeldStore } from './held-store.ts';
import type { Intake } from './intake.ts';
import type { JobSink, NewJob } from './job-queue.ts';
import type { DeliveryListStore, MessageListStore, RecipientListStore } from './list-stores.ts';
import type { CommittedMeasurements } from './measurements.ts';
import type { MessageStore, RefundStore } from './message-stores.ts';
import type { ObjectStore } from './object-store.ts';
import type {
  AccessTokenStore,
  KnownDeviceStore,
  MailLinkStore,
  OperatorResetStore,
  SecondFactorStore,
  SessionStore,
  SignInFailureStore,
  UserStore,
} from './people-stores.ts';
import type { PersonStore } from './person-store.ts';
import type { PlatformStore } from './platform-store.ts';
import type { ReportStore } from './report-stores.ts';
import type { RequestStore } from './request-store.ts';
import type { ProviderHealthStore } from './routing.ts';
import type { SendLimitStore } from './send-limit-store.ts';
import type { SenderStore } from './sender-store.ts';
import type { SingleSignOnStore } from './single-sign-on.ts';
import type { SuppressionStore } from './suppression-store.ts';
import type { RetentionStore, SweepStore } from './sweep-stores.ts';
import type { DeliveryStore, EventStore, WebhookStore } from './webhook-stores.ts';
import type { InboundStore } from './whatsapp.ts';

export interface Stores {
  readonly accounts: AccountStore;
  readonly ledger: LedgerStore;
  readonly ledgerCheck: LedgerCheckStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly signInFailures: SignInFailureStore;
  readonly secondFactors: SecondFactorStore;
  readonly accessTokens: AccessTokenStore;
  readonly mailLinks: MailLinkStore;
  readonly operatorResets: OperatorResetStore;
  readonly knownDevices: KnownDeviceStore;
  readonly singleSignOn: SingleSignOnStore;
  readonly plans: PlanStore;
  readonly apiKeys: ApiKeyStore;
  readonly prices: PriceStore;
  readonly sendLimits: SendLimitStore;
  readonly held: HeldStore;
  readonly senders: SenderStore;
  readonly suppressions: SuppressionStore;
  readonly erasures: ErasureStore;
  readonly persons: PersonStore;
  readonly objects: ObjectStore;
  readonly requests: RequestStore;
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
  readonly copy: CopyStore;
  readonly deliveryLists: DeliveryListStore;
  readonly messageLists: MessageListStore;
  readonly recipientLists: RecipientListStore;
  readonly usage: UsageStore;
  readonly analytics: AnalyticsStore;
  readonly alerts: AlertStore;
  readonly alertFacts: AlertFactStore;
  readonly platform: PlatformStore;
}

/** The stores within one transaction, and the jobs that commit with it. */
export interface Tx extends Stores {
  readonly jobs: JobSink;
  /** Measurements that count when the transaction has committed. */
  readonly measurements: CommittedMeasurements;
  /**
   * When the transaction commits, invalidates the cached copies of this object in every process. `detail` says what
   * exactly has changed, without spaces, for those that can do with that.
   */
  announce(kind: ChangeKind, id: string, detail?: string): void;
  /** When the transaction commits, notifies the live subscriptions to these objects in every process. */
  announceLive(kind: LiveKind, objects: readonly LiveObject[]): void;
}

/** Runs `work` in one transaction. Inside `work`, use only `tx`, and never wait for the network. */
export interface UnitOfWork {
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A transaction that is always rolled back. What is written in it can be seen only in it. */
export interface RolledBackTransaction {
  readonly stores: Stores;
  readonly uow: UnitOfWork;
  readonly intake: Intake;
  /** The jobs that a commit would have started, in order. No worker runs them. */
  readonly jobs: readonly NewJob[];
  /** True if the time limit has passed. The transaction is then rolled back, and each use of it fails. */
  readonly isOverdue: boolean;
  /** Rolls the transaction back. Never rejects. */
  end(): Promise<void>;
}

export interface RolledBackTransactions {
  /**
   * Opens a transaction that is rolled back after `maxMs` at the latest. Each holder has one such transaction at a
   * time, and further ones wait. Throws `service_unavailable` if too many are open or wait.
   */
  open(holder: string, maxMs: number): Promise<RolledBackTransaction>;
}
