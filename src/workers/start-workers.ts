import type { Authenticator } from '../domain/api-keys/authenticate.ts';
import type { PublishHealth } from '../domain/messages/provider-health.ts';
import type { UsageStore } from '../domain/ports/account-stores.ts';
import type { AnalyticsStore } from '../domain/ports/analytics-store.ts';
import type { CopyStore } from '../domain/ports/copy-store.ts';
import type { JobQueue } from '../domain/ports/job-queue.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { Measurements } from '../domain/ports/measurements.ts';
import type { InboundSink } from '../domain/ports/provider.ts';
import type { PointBudget, RateLimiter } from '../domain/ports/rate-limiter.ts';
import type { Routing } from '../domain/ports/routing.ts';
import type { AgreedClock } from '../domain/ports/system.ts';
import type { HoldGate } from '../domain/recovery/hold-gate.ts';
import type { RefusalMonitor } from '../domain/refusal-monitor.ts';
import type { RequestLog } from '../domain/requests/request-log.ts';
import type { SecurityWatch } from '../domain/security/security-watch.ts';
import type { WatchAlerts } from './alerts/watch-alerts.ts';
import type { EraseRecipients } from './erasure/erase-recipients.ts';
import type { ExpireMessages } from './expiry/expire-messages.ts';
import type { ImportContacts } from './imports/import-contacts.ts';
import type { PersonMails } from './people/person-mails.ts';
import { repeat } from './repeat.ts';
import type { DeliveryReports } from './reports/delivery-reports.ts';
import type { Retention } from './retention/retention.ts';
import type { SubmitMessages } from './submit/submit-messages.ts';
import type { SubmitOutcomes } from './submit/submit-outcomes.ts';
import type { DeliverWebhooks } from './webhooks/deliver.ts';

/**
 * `concurrency` is the largest number of jobs that a process runs at the same time. `perRoute` is the largest number
 * for one route.
 */
const SUBMIT = { concurrency: 64, perRoute: 8 };
/**
 * No `perRoute`: the lanes (endpoint-lanes.ts) limit the attempts to each endpoint. Jobs that find no place in a lane
 * go to the backlog.
 */
const WEBHOOK = { concurrency: 512, countedMs: 1_000 };
/** `perRoute` is large enough to keep an endpoint's connections busy while other attempts are recorded. */
const WEBHOOK_BACKLOG = { concurrency: 256, perRoute: 4, countedMs: 1_000, pauseMs: 100 };
/** Imports of different accounts run at the same time. Imports of one account run one after another. */
const IMPORTS = { concurrency: 2, perRoute: 1 };
const PERSON_MAILS = { concurrency: 4 };
const KEPT_REPORTS_MS = 1_000;
const MOVED_REPORTS_MS = 2_000;
const SPOOLED_REPORTS_MS = 500;
const REFUSALS_MS = 1_000;
const ADOPTION_MS = 10_000;
const KEY_USES_MS = 2_000;
const SECURITY_MS = 1_000;
const REQUEST_LOG_MS = 1_000;
const HEALTH_MS = 5_000;
/**
 * Interval in ms at which balances are read. A balance changes with each message, but providers limit how often they
 * may be asked.
 */
const BALANCES_MS = 5 * 60_000;
const SWEEPS_MS = 60_000;
const SINGLE_SIGN_ON_MS = 15_000;
const SINGLE_SIGN_ON_DOMAINS_MS = 5 * 60_000;
const SENDER_DOMAINS_MS = 60_000;
const RETENTION_MS = 10_000;
const ERASURES_MS = 2_000;
const REQUEST_RECORDS_MS = 60_000;
const KEY_REQUESTS_MS = 3_600_000;
const USAGE_MS = 10_000;
const CANNOT_ADOPT = 'delivery reports that another process left on disk cannot be read';
const LEDGERS_MS = 60_000;
const ALERTS_MS = 60_000;
/**
 * Interval in ms at which a held copy checks whether it was released. Normally NOTIFY announces the release, but an
 * announcement may be lost.
 */
const HOLD_MS = 5_000;
const SIGN_OF_LIFE_MS = 10_000;

export interface Workers {
  /** Takes no new work, waits up to `timeoutMs` for the work in progress, and closes the providers. */
  stop(timeoutMs: number): Promise<void>;
}

interface WorkParts {
  queue: JobQueue;
  routing: Routing;
  reports: DeliveryReports;
  takeInbound: InboundSink;
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  points: PointBudget;
  security: SecurityWatch;
  requestLog: RequestLog;
  outcomes: SubmitOutcomes;
  submit: SubmitMessages;
  webhooks: DeliverWebhooks;
  health: PublishHealth;
  measurements: Pick<Measurements, 'balanceOf'>;
  imports: ImportContacts;
  personMails: PersonMails;
  checkSingleSignOn: () => Promise<unknown>;
  checkSingleSignOnDomains: () => Promise<unknown>;
  checkSenderDomains: () => Promise<unknown>;
  sweeps: ExpireMessages;
  retention: Retention;
  forwardReports: () => Promise<unknown>;
  erasures: EraseRecipients;
  forgetOldEvents: () => Promise<unknown>;
  forgetOldRequests: () => Promise<unknown>;
  forgetNumberCounts: () => Promise<unknown>;
  clock: AgreedClock & {
    /** Describes the difference of the clocks in a sentence. Undefined if they agree. */
    fault(): string | undefined;
  };
  usage: UsageStore;
  analytics: AnalyticsStore;
  copy: CopyStore;
  holdGate: HoldGate;
  refusals: RefusalMonitor;
  checkLedgers: () => Promise<unknown>;
  alerts: WatchAlerts;
  logger: Logger;
  isWorker: boolean;
}

/** Starts the background work of a process. While the copy is held, everything that sends waits (R231). */
export async function startWorkers(parts: WorkParts): Promise<Workers> {
  const { reports, authenticator, logger } = parts;
  const keyUses = repeat('key uses', KEY_USES_MS, logger, () => authenticator.flushUses());
  const flushUses = () =>
    authenticator.flushUses().catch((error: unknown) => logger.warn({ err: error }, 'key uses are lost'));
  const flushRequests = () =>
    parts.requestLog
      .flush()
      .catch((error: unknown) => logger.warn({ err: error }, 'entries of the request log are lost'));
  const securityEvents = repeat('security events', SECURITY_MS, logger, () => parts.security.flush());
  const endSecurityEvents = async () => {
    await securityEvents.stop();
    await parts.security
      .flush({ isLast: true })
      .catch((error: unknown) => logger.warn({ err: error }, 'security events are lost'));
  };
  // Apply the reports that an earlier process spooled before receiving new ones.
  await reports.adopt().catch((error: unknown) => logger.warn({ err: error }, CANNOT_ADOPT));
  const always = [
    keyUses,
    repeat('request log', REQUEST_LOG_MS, logger, () => parts.requestLog.flush()),
    repeat('hold', HOLD_MS, logger, () => parts.holdGate.refresh()),
    repeat('refusals', REFUSALS_MS, logger, () => parts.refusals.settle()),
    repeat('delivery reports on disk', SPOOLED_REPORTS_MS, logger, () => reports.replay()),
    repeat('delivery reports left on disk', ADOPTION_MS, logger, () => reports.adopt()),
  ];
  const work = parts.isWorker ? await workUnlessHeld(parts, () => startSending(parts)) : undefined;
  return {
    async stop(timeoutMs) {
      await Promise.all([work?.stop(timeoutMs), ...always.map((task) => task.stop())]);
      await flushUses();
      await flushRequests();
      await endSecurityEvents();
    },
  };
}

/** Records the balances of the providers whose API tells the balance. */
async function readBalances({ routing, measurements }: Pick<WorkParts, 'routing' | 'measurements'>) {
  for (const { name, ...probed } of await routing.probe('balances'))
    measurements.balanceOf(name, 'probe' in probed ? probed.probe.balance : undefined);
}

/** Starts the work at once. While the copy is held, starts it when the copy is released. */
async function workUnlessHeld(
  { holdGate, logger }: Pick<WorkParts, 'holdGate' | 'logger'>,
  begin: () => Promise<Workers>,
): Promise<Workers> {
  let begun: Promise<Workers | undefined> | undefined = holdGate.hold === undefined ? begin() : undefined;
  const ignore = holdGate.onChange((hold) => {
    if (hold !== undefined) return;
    begun ??= begin().catch((error: unknown) => {
      logger.error({ err: error }, 'the copy is released, but work cannot begin: restart this process');
      return undefined;
    });
  });
  await begun;
  return {
    async stop(timeoutMs) {
      ignore();
      await (await begun)?.stop(timeoutMs);
    },
  };
}

/** Starts everything that sends, delivers, expires and deletes. */
async function startSending(parts: WorkParts): Promise<Workers> {
  const { queue, routing, reports, takeInbound, authenticator, health, logger } = parts;
  /**
   * Makes a task fail while the clocks disagree (R222), because nobody then knows how old a row is. `repeat` logs the
   * failure and tries again.
   */
  const ifClocksAgree = (task: () => Promise<unknown>) => async () => {
    if (!(await parts.clock.agrees())) throw new Error(parts.clock.fault());
    await task();
  };
  routing.start((provider, taken) => reports.take(provider, taken), takeInbound);
  await queue.work('submit', SUBMIT, (job, signal) => parts.submit.handle(job, signal));
  await queue.work('webhook', WEBHOOK, (job, signal) => parts.webhooks.handle(job, signal));
  await queue.work('webhook-backlog', WEBHOOK_BACKLOG, (job, signal) => parts.webhooks.handle(job, signal));
  await queue.work('contact-import', IMPORTS, (job, signal) => parts.imports.handle(job, signal));
  await queue.work('person-mail', PERSON_MAILS, (job, signal) => parts.personMails.handle(job, signal));
  const periodic = [
    repeat('sign of life', SIGN_OF_LIFE_MS, logger, () => parts.copy.renew()),
    repeat('kept delivery reports', KEPT_REPORTS_MS, logger, () => reports.matchKept()),
    repeat('reports of moved accounts', MOVED_REPORTS_MS, logger, () => parts.forwardReports()),
    repeat('usage', USAGE_MS, logger, () => parts.usage.fold()),
    repeat('analytics', USAGE_MS, logger, () => parts.analytics.fold()),
    repeat('provider health', HEALTH_MS, logger, () => health.run()),
    repeat('provider balances', BALANCES_MS, logger, () => readBalances(parts), 0),
    repeat(
      'sweeps',
      SWEEPS_MS,
      logger,
      ifClocksAgree(() => parts.sweeps.run()),
    ),
    repeat(
      'retention',
      RETENTION_MS,
      logger,
      ifClocksAgree(() => parts.retention.run()),
    ),
    repeat(
      'erasures',
      ERASURES_MS,
      logger,
      ifClocksAgree(() => parts.erasures.run()),
    ),
    repeat(
      'old events',
      SWEEPS_MS,
      logger,
      ifClocksAgree(() => parts.forgetOldEvents()),
    ),
    repeat(
      'old imports',
      SWEEPS_MS,
      logger,
      ifClocksAgree(() => parts.imports.cleanUp()),
    ),
    repeat(
      'people of single sign-on',
      SINGLE_SIGN_ON_MS,
      logger,
      ifClocksAgree(() => parts.checkSingleSignOn()),
    ),
    repeat(
      'domains of single sign-on',
      SINGLE_SIGN_ON_DOMAINS_MS,
      logger,
      ifClocksAgree(() => parts.checkSingleSignOnDomains()),
    ),
    repeat(
      'domains of senders',
      SENDER_DOMAINS_MS,
      logger,
      ifClocksAgree(() => parts.checkSenderDomains()),
    ),
    repeat('ledgers', LEDGERS_MS, logger, () => parts.checkLedgers()),
    repeat(
      'alerts of carriers',
      ALERTS_MS,
      logger,
      ifClocksAgree(() => parts.alerts.watchCarriers()),
    ),
    repeat(
      'alerts',
      ALERTS_MS,
      logger,
      ifClocksAgree(() => parts.alerts.watchAccounts()),
    ),
    repeat('idle rate limits', REQUEST_RECORDS_MS, logger, () => parts.rateLimiter.sweep()),
    repeat('idle point budgets', REQUEST_RECORDS_MS, logger, () => parts.points.sweep()),
    repeat(
      'spent signatures',
      REQUEST_RECORDS_MS,
      logger,
      ifClocksAgree(() => authenticator.forgetSpentSignatures()),
    ),
    repeat(
      'old key requests',
      KEY_REQUESTS_MS,
      logger,
      ifClocksAgree(() => authenticator.forgetOldRequests()),
    ),
    repeat('old requests', SWEEPS_MS, logger, ifClocksAgree(parts.forgetOldRequests)),
    repeat('old counts of numbers', KEY_REQUESTS_MS, logger, ifClocksAgree(parts.forgetNumberCounts)),
  ];
  return {
    async stop(timeoutMs) {
      parts.outcomes.giveUpSoon();
      await Promise.all(periodic.map((task) => task.stop()));
      await queue.stopWorking(timeoutMs);
      await routing.stop();
      await health
        .withdraw()
        .catch((error: unknown) => logger.warn({ err: error }, 'provider health stays for a minute'));
    },
  };
}
