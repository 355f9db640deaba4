import type { Budgets } from './accounts/budgets.ts';
import type { PlannedRate } from './api-keys/api-key-rules.ts';
import type { SlotRange } from './cells/slots.ts';
import type { LiveUpdates } from './live/live-updates.ts';
import type { QuietHours } from './messages/quiet-hours.ts';
import type { SecondFactorPolicy } from './people/second-factor.ts';
import type { OperatorProvider } from './people/single-sign-on.ts';
import type { AddressHashes } from './ports/address-hashes.ts';
import type { AuditHeads } from './ports/audit-stores.ts';
import type { CreateCache } from './ports/changes.ts';
import type { Countries } from './ports/countries.ts';
import type { CsvReader } from './ports/csv-reader.ts';
import type { Intake } from './ports/intake.ts';
import type { Logger } from './ports/logger.ts';
import type { Mailer } from './ports/mailer.ts';
import type { Measurements } from './ports/measurements.ts';
import type { OptOutTokens } from './ports/opt-out-tokens.ts';
import type { Passkeys } from './ports/passkeys.ts';
import type { ReportSink } from './ports/provider.ts';
import type { Routing } from './ports/routing.ts';
import type { OpenId, TxtRecords } from './ports/single-sign-on.ts';
import type { Stores, UnitOfWork } from './ports/stores.ts';
import type { SuppressionStore } from './ports/suppression-store.ts';
import type { AgreedClock, Ids, PasswordHasher, SecretBox, Totp } from './ports/system.ts';
import type { WebhookTransport } from './ports/webhook-transport.ts';
import type { AskAboutNumber } from './ports/whatsapp.ts';
import type { HoldGate } from './recovery/hold-gate.ts';
import type { MailRecords } from './senders/sender.ts';
import type { WhatsAppNumbers } from './senders/whatsapp-numbers.ts';

/** The dependencies of the operations. compose.ts provides them. */
export interface Dependencies {
  /** The stores outside any transaction, for reading. */
  readonly stores: Stores;
  readonly uow: UnitOfWork;
  readonly intake: Intake;
  readonly holdGate: HoldGate;
  readonly budgets: Pick<Budgets, 'countSend'>;
  readonly routing: Routing;
  readonly whatsAppNumbers: WhatsAppNumbers;
  readonly askAboutNumber: AskAboutNumber;
  readonly measurements: Measurements;
  readonly transport: WebhookTransport;
  /** Accepts delivery reports that arrive as HTTP callbacks. */
  readonly takeReports: ReportSink;
  readonly createCache: CreateCache;
  /** Finds suppressed addresses, and asks the database only about those that may be. */
  readonly suppressionFilter: Pick<SuppressionStore, 'among'>;
  readonly live: LiveUpdates;
  readonly csv: CsvReader;
  readonly auditHeads: AuditHeads;
  readonly secrets: SecretBox;
  readonly optOutTokens: OptOutTokens;
  readonly addressHashes: AddressHashes;
  readonly passwords: PasswordHasher;
  readonly totp: Totp;
  readonly passkeys: Passkeys;
  readonly openId: OpenId;
  readonly txtRecords: TxtRecords;
  readonly mailer: Mailer;
  readonly countries: Countries;
  readonly clock: AgreedClock;
  readonly ids: Ids;
  readonly logger: Pick<Logger, 'warn'>;
  readonly settings: {
    readonly isProduction: boolean;
    /** The slots of this cell, with which new key ids begin (CELL_SLOTS). */
    readonly slots: readonly SlotRange[];
    readonly defaultSenderId: string;
    /** The platform's id of the gateway's own WhatsApp number (WHATSAPP_PHONE_NUMBER_ID). Undefined if it has none. */
    readonly sharedPhoneNumberId: string | undefined;
    /** Default rate limits of API keys, for accounts without a plan (R12). */
    readonly keyRate: PlannedRate;
    /** The hours in which marketing waits (QUIET_HOURS). */
    readonly quietHours: QuietHours;
    /** Default sender of emails. */
    readonly emailFrom: string;
    /** If true, accounts send under approved names only (SENDER_POLICY). */
    readonly requiresApprovedSenders: boolean;
    /** If true, SMS that look like pumping are held for review (PUMPING_WATCH). */
    readonly watchesPumping: boolean;
    /** What the DNS records of a domain must contain, so that receivers accept mails that the gateway sends from it. */
    readonly mailRecords: MailRecords;
    /** The VAPID key with which browsers subscribe, in base64url. Undefined if no Web Push provider is configured. */
    readonly vapidPublicKey: string | undefined;
    /** Who must have a second factor (REQUIRE_SECOND_FACTOR). */
    readonly secondFactorPolicy: SecondFactorPolicy;
    /** If true, a person with a one-time password may only change that password (ONE_TIME_PASSWORDS). */
    readonly restrictsOneTimePasswords: boolean;
    /** The identity provider of the operators, if there is one (OIDC_ISSUER). */
    readonly operatorProvider: OperatorProvider | undefined;
    /** The name that authenticator apps show for this service. */
    readonly productName: string;
    /**
     * Returns the URL of the gateway for people outside (PUBLIC_URL), without a slash at its end. Undefined in
     * production if it is not set.
     */
    readonly publicUrl: () => string | undefined;
  };
}
