import type { Budgets } from './accounts/budgets.ts';
import type { PlannedRate } from './api-keys/api-key-rules.ts';
import type { LiveUpdates } from './live/live-updates.ts';
import type { AuditHeads } from './ports/audit-stores.ts';
import type { CreateCache } from './ports/changes.ts';
import type { CsvReader } from './ports/csv-reader.ts';
import type { Intake } from './ports/intake.ts';
import type { ReportSink } from './ports/provider.ts';
import type { Routing } from './ports/routing.ts';
import type { Stores, UnitOfWork } from './ports/stores.ts';
import type { AgreedClock, Ids, PasswordHasher, SecretBox } from './ports/system.ts';
import type { WebhookTransport } from './ports/webhook-transport.ts';

/** Everything operations are built on; compose.ts provides it. */
export interface Dependencies {
  /** On the pool, outside any transaction: for reading. */
  readonly stores: Stores;
  readonly uow: UnitOfWork;
  readonly intake: Intake;
  readonly budgets: Pick<Budgets, 'countSend'>;
  readonly routing: Routing;
  readonly transport: WebhookTransport;
  /** Where providers' reports go that come by another way than a provider's own connection. */
  readonly takeReports: ReportSink;
  readonly createCache: CreateCache;
  readonly live: LiveUpdates;
  readonly csv: CsvReader;
  readonly auditHeads: AuditHeads;
  readonly secrets: SecretBox;
  readonly passwords: PasswordHasher;
  readonly clock: AgreedClock;
  readonly ids: Ids;
  readonly settings: {
    readonly defaultSenderId: string;
    /** Requests of a key where neither it nor its account's plan says how many (R12). */
    readonly keyRate: PlannedRate;
    /** Mailbox that mails are from by default. */
    readonly emailFrom: string;
    /** What browsers subscribe with, base64url; undefined where nobody carries Web Push. */
    readonly vapidPublicKey: string | undefined;
  };
}
