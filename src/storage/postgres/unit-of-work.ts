import type { AuditHeads } from '../../domain/ports/audit-stores.ts';
import type { JobSink } from '../../domain/ports/job-queue.ts';
import { type CommittedMeasurements, UNMEASURED } from '../../domain/ports/measurements.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import { PgAccessTokenStore } from '../stores/access-token.store.ts';
import { PgAccountStore } from '../stores/account.store.ts';
import { PgAlertStore } from '../stores/alert.store.ts';
import { PgAlertFactStore } from '../stores/alert-fact.store.ts';
import { PgAnalyticsStore } from '../stores/analytics.store.ts';
import { PgApiKeyStore } from '../stores/api-key.store.ts';
import { PgAuditStore } from '../stores/audit.store.ts';
import { PgContactStore } from '../stores/contact.store.ts';
import { PgContactImportStore } from '../stores/contact-import.store.ts';
import { PgCopyStore } from '../stores/copy.store.ts';
import { PgDeliveryListStore, PgDeliveryStore } from '../stores/delivery.store.ts';
import { PgDeviceStore } from '../stores/device.store.ts';
import { PgErasureStore } from '../stores/erasure.store.ts';
import { PgEventStore } from '../stores/event.store.ts';
import { PgHeldStore } from '../stores/held.store.ts';
import { PgInboundStore } from '../stores/inbound.store.ts';
import { PgKnownDeviceStore } from '../stores/known-device.store.ts';
import { PgLedgerStore } from '../stores/ledger.store.ts';
import { PgLedgerCheckStore } from '../stores/ledger-check.store.ts';
import { PgMailLinkStore } from '../stores/mail-link.store.ts';
import { PgMessageListStore, PgMessageStore } from '../stores/message.store.ts';
import { PgObjectStore } from '../stores/object.store.ts';
import { PgOperatorResetStore } from '../stores/operator-reset.store.ts';
import { PgPersonStore } from '../stores/person.store.ts';
import { PgPlanStore } from '../stores/plan.store.ts';
import { PgPlatformStore } from '../stores/platform.store.ts';
import { PgPriceStore } from '../stores/price.store.ts';
import { PgProviderHealthStore } from '../stores/provider-health.store.ts';
import { PgRecipientListStore } from '../stores/recipient-list.store.ts';
import { PgRefundStore } from '../stores/refund.store.ts';
import { PgReportStore } from '../stores/report.store.ts';
import { PgRequestStore } from '../stores/request.store.ts';
import { PgRetentionStore } from '../stores/retention.store.ts';
import { PgSecondFactorStore } from '../stores/second-factor.store.ts';
import { PgSendLimitStore } from '../stores/send-limit.store.ts';
import { PgSenderStore } from '../stores/sender.store.ts';
import { PgSessionStore, PgSignInFailureStore } from '../stores/session.store.ts';
import { PgSingleSignOnStore } from '../stores/single-sign-on.store.ts';
import { PgSuppressionStore } from '../stores/suppression.store.ts';
import { PgSweepStore } from '../stores/sweep.store.ts';
import { PgUsageStore } from '../stores/usage.store.ts';
import { PgUserStore } from '../stores/user.store.ts';
import { PgWebhookStore } from '../stores/webhook.store.ts';
import { CHANGES_CHANNEL, type Change, changePayload, type PgChanges } from './pg-changes.ts';
import { announceLive } from './pg-live.ts';
import type { Sql } from './sql.ts';

/** What a job sink needs of a transaction: a way to insert jobs, and a call at its end. */
export interface JobTransaction {
  readonly connection: Sql['sender'];
  onEnd(callback: (isCommitted: boolean) => void): void;
}

/** Returns the job sink that inserts jobs in the given transaction. */
export type JobSinkFor = (transaction: JobTransaction) => JobSink;

/**
 * Creates all stores, on the pool or on one transaction. Those of lists, searches and usage use `lists`, which may read
 * from a replica (R420). No store of money or of authentication does.
 */
export function createStores(sql: Sql, heads: AuditHeads, lists = sql): Stores {
  return {
    accounts: new PgAccountStore(sql),
    ledger: new PgLedgerStore(sql),
    ledgerCheck: new PgLedgerCheckStore(sql),
    users: new PgUserStore(sql),
    sessions: new PgSessionStore(sql),
    signInFailures: new PgSignInFailureStore(sql),
    secondFactors: new PgSecondFactorStore(sql),
    accessTokens: new PgAccessTokenStore(sql),
    mailLinks: new PgMailLinkStore(sql),
    operatorResets: new PgOperatorResetStore(sql),
    knownDevices: new PgKnownDeviceStore(sql),
    singleSignOn: new PgSingleSignOnStore(sql),
    plans: new PgPlanStore(sql),
    apiKeys: new PgApiKeyStore(sql),
    prices: new PgPriceStore(sql),
    sendLimits: new PgSendLimitStore(sql),
    held: new PgHeldStore(sql),
    senders: new PgSenderStore(sql),
    suppressions: new PgSuppressionStore(sql),
    erasures: new PgErasureStore(sql),
    persons: new PgPersonStore(sql),
    objects: new PgObjectStore(sql),
    requests: new PgRequestStore(sql),
    messages: new PgMessageStore(sql),
    contacts: new PgContactStore(lists),
    contactImports: new PgContactImportStore(sql),
    refunds: new PgRefundStore(sql),
    reports: new PgReportStore(sql),
    events: new PgEventStore(lists),
    webhooks: new PgWebhookStore(sql),
    deliveries: new PgDeliveryStore(sql),
    devices: new PgDeviceStore(sql),
    inbound: new PgInboundStore(sql),
    sweeps: new PgSweepStore(sql),
    retention: new PgRetentionStore(sql),
    providerHealth: new PgProviderHealthStore(sql),
    audit: new PgAuditStore(sql, heads),
    copy: new PgCopyStore(sql),
    deliveryLists: new PgDeliveryListStore(lists),
    messageLists: new PgMessageListStore(lists),
    recipientLists: new PgRecipientListStore(lists),
    usage: new PgUsageStore(lists),
    analytics: new PgAnalyticsStore(lists),
    alerts: new PgAlertStore(sql),
    alertFacts: new PgAlertFactStore(sql),
    platform: new PgPlatformStore(lists),
  };
}

/**
 * Creates the unit of work, which runs transactions on the pool of `sql`. Announcements of changes are sent with the
 * commit. Measurements are passed to `measurements` after the commit.
 */
export function createUnitOfWork(
  sql: Sql,
  jobsFor: JobSinkFor,
  changes: Pick<PgChanges, 'deliver'>,
  storesOn: (sql: Sql) => Stores,
  measurements: CommittedMeasurements = UNMEASURED,
): UnitOfWork {
  return {
    async run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      const announced: Change[] = [];
      const result = await sql.transaction(async (inside) => {
        return work({
          ...storesOn(inside),
          jobs: jobsFor({ connection: inside.sender, onEnd: (callback) => inside.onEnd(callback) }),
          measurements: {
            moved: (moves) => inside.onEnd((isCommitted) => isCommitted && measurements.moved(moves)),
            refunded: (count) => inside.onEnd((isCommitted) => isCommitted && measurements.refunded(count)),
          },
          announce: (kind, id, detail) => {
            const change = { kind, id, detail };
            announced.push(change);
            inside.notify(CHANGES_CHANNEL, changePayload(change));
          },
          announceLive: (kind, objects) => announceLive(inside, kind, objects),
        });
      });
      for (const change of announced) changes.deliver(change);
      return result;
    },
  };
}
