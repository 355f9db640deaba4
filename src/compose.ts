import { createPrivateKey, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { CountryDatabase } from './channels/countries/country-database.ts';
import { type BounceListener, startBounceListener } from './channels/email/bounce-listener.ts';
import { type DkimSigning, dkimSigningOf } from './channels/email/dkim.ts';
import { emailRoutes } from './channels/email/email-providers.ts';
import { findMailExchangers } from './channels/email/mail-exchangers.ts';
import { createMailer } from './channels/email/mailer.ts';
import { createGuardedClient } from './channels/guarded-http/guarded-client.ts';
import { pemOf } from './channels/pem.ts';
import { createRouting } from './channels/routing.ts';
import { createOpenId } from './channels/single-sign-on/openid.ts';
import { createTxtRecords } from './channels/single-sign-on/txt-records.ts';
import { smsRoutes } from './channels/sms/sms-carriers.ts';
import { OwnReceiver } from './channels/webhook/own-receiver.ts';
import { createWebhookTransport } from './channels/webhook/webhook-transport.ts';
import { baseUrlOf } from './config/base-url.ts';
import { type Config, ConfigError } from './config/config.ts';
import { embeddedPostgresOf, faultOfFullDisk, masterKeyOf } from './config/data-dir.ts';
import { KeyedAddressHashes } from './crypto/address-hashes.ts';
import { createAuditHeads } from './crypto/audit-heads.ts';
import { createIds } from './crypto/ids.ts';
import { createOptOutTokens } from './crypto/opt-out-tokens.ts';
import { createPasskeys } from './crypto/passkeys.ts';
import { createPasswordHasher } from './crypto/password-hasher.ts';
import { createReturnPaths } from './crypto/return-paths.ts';
import { createSecretBox } from './crypto/secret-box.ts';
import { totp } from './crypto/totp.ts';
import { csvReader } from './csv/csv-reader.ts';
import { Budgets } from './domain/accounts/budgets.ts';
import { Sessions } from './domain/accounts/sessions.ts';
import { Authenticator } from './domain/api-keys/authenticate.ts';
import { keepSignedHead } from './domain/audit/signed-head.ts';
import type { SystemCaller } from './domain/caller.ts';
import type { Dependencies } from './domain/dependencies.ts';
import { DryRuns } from './domain/dry-run.ts';
import { LiveUpdates } from './domain/live/live-updates.ts';
import { parseMailbox } from './domain/messages/email-address.ts';
import { PublishHealth } from './domain/messages/provider-health.ts';
import { createOperations } from './domain/operations.ts';
import { PasswordLinks } from './domain/people/password-links.ts';
import { domainOf } from './domain/people/single-sign-on.ts';
import { SingleSignOnDomains } from './domain/people/single-sign-on-domains.ts';
import { SingleSignOnSignIn } from './domain/people/single-sign-on-sign-in.ts';
import type { CreateCache } from './domain/ports/changes.ts';
import type { Countries } from './domain/ports/countries.ts';
import type { ContactImportJob } from './domain/ports/job-queue.ts';
import type { Logger } from './domain/ports/logger.ts';
import { measureWithBoth } from './domain/ports/measurements.ts';
import type { InboundSink } from './domain/ports/provider.ts';
import type { PasswordHasher } from './domain/ports/system.ts';
import type { Tracing } from './domain/ports/tracing.ts';
import { describeHold } from './domain/recovery/hold.ts';
import { HoldGate } from './domain/recovery/hold-gate.ts';
import { settleCopy } from './domain/recovery/settle-copy.ts';
import { RefusalMonitor } from './domain/refusal-monitor.ts';
import { RequestLog } from './domain/requests/request-log.ts';
import { SecurityWatch } from './domain/security/security-watch.ts';
import type { MailRecords } from './domain/senders/sender.ts';
import { SenderDomains } from './domain/senders/sender-domains.ts';
import { WhatsAppNumbers } from './domain/senders/whatsapp-numbers.ts';
import { LateSuppressions } from './domain/suppressions/late-suppressions.ts';
import { PrometheusMeasurements } from './http/measurements.ts';
import { Readiness } from './http/readiness.ts';
import { PgBossQueue } from './queue/pg-boss-queue.ts';
import { ChangeCache } from './runtime/change-cache.ts';
import { timers } from './runtime/timers.ts';
import { faultOfMasterKey } from './start/check-master-key.ts';
import { pushOf, whatsAppOf } from './start/compose-channels.ts';
import { databaseOf, replicaOf } from './start/database.ts';
import { MessageLog } from './start/message-log.ts';
import { ForwardReports } from './storage/cells/forward-reports.ts';
import { PgIntake } from './storage/intake/index.ts';
import type { DatabaseConnection } from './storage/postgres/connection.ts';
import { askOn, DatabaseClock } from './storage/postgres/database-clock.ts';
import { DatabaseServers } from './storage/postgres/database-servers.ts';
import { PgDiagnostics } from './storage/postgres/diagnostics.ts';
import { databaseFault, mayPassAlone } from './storage/postgres/faults.ts';
import { PgHeartbeat } from './storage/postgres/heartbeat.ts';
import { lookAtReplica } from './storage/postgres/look-at-replica.ts';
import { migrateDatabase } from './storage/postgres/migrate.ts';
import { PgChanges } from './storage/postgres/pg-changes.ts';
import { PgListener } from './storage/postgres/pg-listener.ts';
import { PgLiveFeed } from './storage/postgres/pg-live.ts';
import { poolUse } from './storage/postgres/pool-use.ts';
import { PgPrimaryWatch } from './storage/postgres/primary-watch.ts';
import { createReadPool } from './storage/postgres/read-pool.ts';
import { Replica } from './storage/postgres/replica.ts';
import { PgRolledBackTransactions } from './storage/postgres/rolled-back.ts';
import { checkServer } from './storage/postgres/server-check.ts';
import { createKnex, Sql } from './storage/postgres/sql.ts';
import { createStores, createUnitOfWork } from './storage/postgres/unit-of-work.ts';
import { PgPointBudget, PgRateLimiter } from './storage/rate-limit/index.ts';
import { FileReportSpool } from './storage/report-spool.ts';
import { PgSpentSignatures } from './storage/stores/spent-signatures.ts';
import { SuppressionFilter } from './storage/stores/suppression-filter.ts';
import { WatchAlerts } from './workers/alerts/watch-alerts.ts';
import { EraseRecipients } from './workers/erasure/erase-recipients.ts';
import { ExpireMessages } from './workers/expiry/expire-messages.ts';
import { ImportContacts } from './workers/imports/import-contacts.ts';
import { checkLedgers } from './workers/ledgers/check-ledgers.ts';
import { PersonMails } from './workers/people/person-mails.ts';
import { DeliveryReports } from './workers/reports/delivery-reports.ts';
import { forgetOldEvents } from './workers/retention/event-retention.ts';
import { forgetNumberCounts } from './workers/retention/number-counts.ts';
import { forgetOldRequests } from './workers/retention/request-retention.ts';
import { Retention } from './workers/retention/retention.ts';
import { startWorkers } from './workers/start-workers.ts';
import { SubmitMessages } from './workers/submit/submit-messages.ts';
import { SubmitOutcomes } from './workers/submit/submit-outcomes.ts';
import { DeliverWebhooks } from './workers/webhooks/deliver.ts';

/** Time limit in ms for the preview of an import. During the preview, its contacts are locked. */
const DRY_IMPORT_MS = 1_000;
/** Acts for people who write to a number of the gateway. */
const CARRIERS: SystemCaller = { kind: 'system', name: 'carrier' };
/** Acts for mail servers that return mails. */
const MAIL_SERVERS: SystemCaller = { kind: 'system', name: 'mail-server' };
const INTAKE = { maxBatchRecipients: 1_000, maxWaitingRecipients: 20_000 };
/**
 * Greatest number of concurrent requests of one account to one origin (scheme, host and port). This is more than the 10
 * of one webhook endpoint, because all pushes to browsers of one vendor go to one push service.
 */
const CONNECTIONS_PER_ACCOUNT = 1_024;

/** The parts of one process, connected with each other. */
export type Gateway = Awaited<ReturnType<typeof compose>>;

/**
 * Builds all parts of the process, connects them and migrates the database. Sends nothing and takes no jobs before
 * `startWorking` is called.
 * - Throws if PostgreSQL or the master key is not available.
 * - Throws if the master key does not fit the database, unless `withAnyMasterKey`.
 * - Throws if the clocks of machine and database disagree, unless `withAnyClock`.
 * - Calls `onLockWait` with a sentence if a migration must wait for a lock.
 */
export async function compose(
  config: Config,
  logger: Logger,
  {
    withAnyMasterKey = false,
    withAnyClock = false,
    passwords = createPasswordHasher(),
    onLockWait = (_sentence: string): void => undefined,
  } = {},
) {
  const opened = new AsyncDisposableStack();
  try {
    const gateway = await wire(config, logger, opened, {
      withAnyMasterKey,
      withAnyClock,
      passwords,
      onLockWait,
    });
    if (!withAnyMasterKey) {
      await gateway.addressHashes.start();
      await keepSignedHead(gateway.stores, gateway.auditHeads);
    }
    return gateway;
  } catch (error) {
    await opened.disposeAsync();
    const isEmbedded = config.databaseUrl === undefined;
    throw (isEmbedded && (await faultOfFullDisk(config.dataDir, error))) || error;
  }
}

function smsOf(config: Config, logger: Logger, now: () => Date) {
  try {
    return smsRoutes(config.smsRoutes, {
      logger,
      publicUrl: baseUrlOf(config),
      isProduction: config.isProduction,
      now,
    });
  } catch (error) {
    throw new ConfigError(`SMS_ROUTES cannot be used: ${error instanceof Error ? error.message : error}.`);
  }
}

function dkimOf({ dkim }: Config): DkimSigning | undefined {
  try {
    return dkim && dkimSigningOf(dkim);
  } catch (error) {
    throw new ConfigError(`DKIM_KEY cannot be used: ${error instanceof Error ? error.message : error}.`);
  }
}

function countriesOf({ countryDatabase: path, countryHeader }: Config, logger: Logger): Countries {
  if (path === undefined) {
    return { isConfigured: countryHeader !== undefined, find: () => Promise.resolve(undefined) };
  }
  try {
    return new CountryDatabase(path, logger);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new ConfigError(`COUNTRY_DATABASE cannot be used: ${path}: ${why}.`);
  }
}

/** Returns the certificate and key with which the listener for bounces offers STARTTLS. */
function bounceTlsOf({ bounceListener }: Config): { cert: string; key: string } | undefined {
  const { certificate, key } = bounceListener ?? {};
  if (certificate === undefined || key === undefined) return undefined;
  return {
    cert: pemFile('BOUNCE_TLS_CERT', certificate, (pem) => new X509Certificate(pem)),
    key: pemFile('BOUNCE_TLS_KEY', key, (pem) => createPrivateKey(pem)),
  };
}

/** Reads the PEM of a setting. `parse` throws if the PEM is not right. */
function pemFile(name: string, setting: string, parse: (pem: string) => unknown): string {
  try {
    const pem = pemOf(setting);
    parse(pem);
    return pem;
  } catch (error) {
    throw new ConfigError(`${name} cannot be used: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Returns what the DNS records of accounts' domains must contain, so that receivers accept mails of this gateway. */
function mailRecordsOf({ emailFrom }: Config, dkim: DkimSigning | undefined): MailRecords {
  const domain = domainOf(parseMailbox(emailFrom)?.address ?? '');
  return {
    dkim: dkim && { selector: dkim.keySelector, record: dkim.record },
    spfDomain: domain.includes('.') ? domain : undefined,
  };
}

function emailRoutesOf(config: Config, dkim: DkimSigning | undefined, logger: Logger, now: () => Date) {
  try {
    return emailRoutes(config.emailUrls, { defaultFrom: config.emailFrom, dkim, logger, now });
  } catch (error) {
    throw new ConfigError(`EMAIL_URL cannot be used: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Starts tracing. The packages for it are loaded only if it is configured, so that it costs nothing otherwise. */
async function tracingOf(config: Config, now: () => Date): Promise<Tracing | undefined> {
  if (config.traces === undefined) return undefined;
  const { MessageTraces } = await import('./tracing/message-traces.ts');
  return new MessageTraces({ ...config.traces, serviceName: config.serviceName, now });
}

/** Returns the database connection. Starts the embedded PostgreSQL if no DATABASE_URL is configured. */
async function connectionOf(
  config: Config,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<DatabaseConnection> {
  const own = databaseOf(config);
  if (own === undefined) {
    const postgres = await embeddedPostgresOf(config, logger);
    opened.defer(() => postgres.stop());
    return postgres.connection;
  }
  if (own instanceof DatabaseServers) {
    own.onMove((server) => logger.warn({ server }, 'another database server is the primary now'));
  }
  return own;
}

/**
 * Makes the client for the gateway's own webhook receiver, which developers use for trials. Another process may serve
 * the receiver. Undefined in production.
 */
function ownReceiverOf(config: Config) {
  if (config.isProduction) return undefined;
  const receiver = new OwnReceiver();
  if (config.publicUrl !== undefined || config.port !== 0) receiver.servedAt(baseUrlOf(config));
  // All networks are allowed here, because the operator chose the receiver's URL and this client connects to no other
  // URL.
  const client = createGuardedClient({
    allowedNetworks: ['0.0.0.0/0', '::/0'],
    requireHttps: false,
    maxConnectionsPerAccount: CONNECTIONS_PER_ACCOUNT,
  });
  return { receiver, client };
}

/** Makes the client for the identity provider of the operators. They chose its URL, so it may be in their network. */
function operatorsClientOf(config: Config) {
  return createGuardedClient({
    allowedNetworks: ['0.0.0.0/0', '::/0'],
    requireHttps: config.isProduction,
    maxConnectionsPerAccount: CONNECTIONS_PER_ACCOUNT,
  });
}

/**
 * Builds the parts of the process. Pushes each part that must be closed onto `opened`, which closes them in reverse
 * order. With `withAnyClock`, accepts a machine whose clock is wrong. With `withAnyMasterKey`, accepts a wrong key.
 */
async function wire(
  config: Config,
  logger: Logger,
  opened: AsyncDisposableStack,
  {
    withAnyMasterKey,
    withAnyClock,
    passwords,
    onLockWait,
  }: {
    withAnyMasterKey: boolean;
    withAnyClock: boolean;
    passwords: PasswordHasher;
    onLockWait: (sentence: string) => void;
  },
) {
  const masterKey = await masterKeyOf(config);
  // Create the clock first, because other parts read it. It starts later, when there is a database connection.
  const clock = new DatabaseClock(logger);
  const now = () => clock.now();
  const client = createGuardedClient({
    allowedNetworks: config.webhookAllowedNetworks,
    requireHttps: config.isProduction,
    maxConnectionsPerAccount: CONNECTIONS_PER_ACCOUNT,
    onConcealed: (failure) =>
      logger.warn(failure, "a customer's URL cannot be reached; the customer sees fewer details"),
  });
  const own = ownReceiverOf(config);
  const operatorsClient = operatorsClientOf(config);
  opened.defer(() => operatorsClient.close());
  const transport = createWebhookTransport({ client, own, serviceName: config.serviceName });
  const push = await pushOf(config, logger, client, now);
  const whatsApp = whatsAppOf(config, logger, now);
  const sms = smsOf(config, logger, now);
  const dkim = dkimOf(config);
  const txtRecords = createTxtRecords(config.dnsServers);
  const countries = countriesOf(config, logger);
  const bounceTls = bounceTlsOf(config);
  const registry = new Registry();
  const counted = new PrometheusMeasurements(registry);
  const tracing = await tracingOf(config, now);
  if (tracing) opened.defer(() => tracing.stop());
  const traced = tracing ? measureWithBoth(counted, tracing) : counted;
  const isLogged = config.logLevel === 'debug';
  const measurements = isLogged ? measureWithBoth(new MessageLog(logger), traced) : traced;
  const routes = [
    ...sms.routes,
    ...emailRoutesOf(config, dkim, logger, now),
    ...push.routes,
    ...whatsApp.routes,
  ];
  const routing = createRouting(routes, measurements, whatsApp.numberProvider);
  const connection = await connectionOf(config, logger, opened);
  const poolSize = config.databasePoolSize;
  const server = await checkServer(connection, poolSize);
  const knex = createKnex(connection, logger, { poolSize });
  opened.defer(() => knex.destroy());
  const sql = new Sql(knex);
  opened.defer(() => clock.stop());
  await clock.start(askOn(sql));
  const clockFault = clock.fault();
  if (clockFault !== undefined && !withAnyClock) throw new Error(clockFault);
  const ids = createIds(clock);
  const migration = await migrateDatabase(knex, connection, logger, onLockWait);

  const primary = new PgPrimaryWatch();
  const listener = new PgListener(connection, logger, primary);
  opened.defer(() => listener.stop());
  await listener.start();
  const changes = new PgChanges(listener);
  await changes.start();
  const createCache: CreateCache = (kind, load) => new ChangeCache(kind, changes, load);
  const queue = new PgBossQueue({
    pool: sql.pool,
    transaction: (work) => sql.transaction((_, connection) => work(connection)),
    clock,
    logger,
    ...(config.isWorker && { listen: listener.listen.bind(listener) }),
  });
  opened.defer(() => queue.stop());
  await queue.start();

  const secrets = createSecretBox(masterKey, config.previousMasterKeys);
  const optOutTokens = createOptOutTokens(masterKey, config.previousMasterKeys);
  const returnPaths =
    config.bounceDomain === undefined
      ? undefined
      : createReturnPaths(config.bounceDomain, masterKey, config.previousMasterKeys);
  const auditHeads = createAuditHeads(config.dataDir, secrets, config.lostMasterKeys, logger);
  const reads = createReadPool(connection, logger, knex);
  opened.defer(() => reads.destroy());
  const replicaConnection = replicaOf(config);
  const replica =
    replicaConnection &&
    new Replica({ connection: replicaConnection, primary: reads, watch: primary, logger });
  // Without a replica there is nothing to read while the primary is away.
  const watch = replica ? primary : undefined;
  if (replica) opened.defer(() => replica.close());
  const stores = createStores(
    new Sql(knex, { reads }),
    auditHeads,
    new Sql(knex, { reads, ...(replica && { replica }) }),
  );
  const addressHashes = new KeyedAddressHashes({
    store: stores.erasures,
    createCache,
    secrets,
    lostMasterKeys: config.lostMasterKeys,
    logger,
  });
  const jobsFor = (transaction: Parameters<PgBossQueue['sinkFor']>[0]) => queue.sinkFor(transaction);
  const uow = createUnitOfWork(
    sql,
    jobsFor,
    changes,
    (inside) => createStores(inside, auditHeads),
    measurements,
  );
  const intake = new PgIntake(sql, jobsFor, INTAKE);
  const diagnostics = new PgDiagnostics(sql, server, listener, PgBossQueue.statements);
  const samples = await diagnostics.sealedSamples();
  // Check the key before `settleCopy`, which may write an audit entry: the head of the log would be signed with a wrong
  // key, and `audit verify` would report it (R570).
  const keyFault = faultOfMasterKey(config, secrets, samples, logger);
  if (keyFault && !withAnyMasterKey) throw keyFault;
  const hold = keyFault
    ? (await stores.copy.read()).hold
    : await settleCopy(uow, { clock, ids }, config.mustHold);
  const holdGate = new HoldGate(stores.copy, hold);
  changes.subscribe('hold', () => void holdGate.refresh().catch(() => undefined));
  opened.defer(() => transport.close());
  const spool = new FileReportSpool({
    directory: join(config.dataDir, 'reports'),
    maxBytes: config.reportSpoolMb * 2 ** 20,
  });
  opened.defer(() => spool.close());
  const reports = new DeliveryReports(uow, clock, ids, {
    mayPassAlone,
    isFault: (error) => databaseFault(error) !== undefined,
    spool,
    progress: stores.reports,
    measurements,
    logger,
  });
  const forwardReports = new ForwardReports(sql, secrets);
  const rateLimiter = new PgRateLimiter(sql);
  const points = new PgPointBudget(sql);
  opened.defer(() => points.close());
  const defaults = config.rateLimits;
  const budgets = new Budgets({
    rateLimiter,
    points,
    defaults,
    accounts: stores.accounts,
    createCache,
    clock,
    primary: watch,
  });
  let servedUrl = baseUrlOf(config);
  const mailer = createMailer(config, routing);
  if (mailer.isConfigured && config.publicUrl === undefined)
    logger.warn(
      { publicUrl: baseUrlOf(config) },
      'PUBLIC_URL is not set: links in mails to people lead there',
    );
  const whatsAppNumbers = new WhatsAppNumbers({ stores, createCache, routing, settings: config });
  const deps: Dependencies = {
    stores,
    uow,
    intake,
    holdGate,
    budgets,
    routing,
    whatsAppNumbers,
    askAboutNumber: whatsApp.askAboutNumber,
    measurements,
    transport,
    takeReports: (provider, taken) => reports.take(provider, taken),
    createCache,
    suppressionFilter: new SuppressionFilter(stores.suppressions, changes),
    live: new LiveUpdates(new PgLiveFeed(listener), timers),
    csv: csvReader,
    auditHeads,
    secrets,
    optOutTokens,
    addressHashes,
    passwords,
    totp,
    passkeys: createPasskeys(() => servedUrl, config.productName),
    openId: createOpenId({
      accounts: client,
      operators: operatorsClient,
      requireHttps: config.isProduction,
      logger,
    }),
    txtRecords,
    mailer,
    countries,
    clock,
    ids,
    logger,
    settings: {
      isProduction: config.isProduction,
      slots: config.slots,
      defaultSenderId: config.defaultSenderId,
      sharedPhoneNumberId: config.whatsApp.provider?.phoneNumberId,
      keyRate: config.rateLimits,
      quietHours: config.quietHours,
      emailFrom: config.emailFrom,
      requiresApprovedSenders: config.requiresApprovedSenders,
      watchesPumping: config.watchesPumping,
      mailRecords: mailRecordsOf(config, dkim),
      vapidPublicKey: push.vapidPublicKey,
      secondFactorPolicy: config.secondFactorPolicy,
      restrictsOneTimePasswords: config.restrictsOneTimePasswords,
      operatorProvider: config.operatorProvider,
      productName: config.productName,
      publicUrl: () => (config.isProduction && config.publicUrl === undefined ? undefined : servedUrl),
    },
  };
  const thisProcess = `${hostname()}:${process.pid}`;
  const heartbeat = new PgHeartbeat(sql, thisProcess);
  const readiness = new Readiness({
    parts: [
      { name: 'database', look: () => heartbeat.beat() },
      { name: 'queue', look: () => queue.check() },
      { name: 'worker', look: () => queue.checkWorking() },
    ],
    clockFault: () => clock.fault(),
    whyHeld: () => holdGate.hold && describeHold(holdGate.hold),
    faultOf: databaseFault,
    logger,
  });
  const refusals = new RefusalMonitor({
    logger,
    takesWrites: async () => {
      const verdict = await readiness.check();
      return verdict.isReady || verdict.check !== 'database';
    },
    onDatabaseFault: () => readiness.doubt(),
    now: timers.monotonicMs,
  });
  const authenticator = new Authenticator({
    store: stores.apiKeys,
    createCache,
    clock,
    secrets,
    spentSignatures: new PgSpentSignatures(sql),
  });
  const requestLog = new RequestLog({
    store: stores.requests,
    clock,
    ids,
    isFault: (error) => databaseFault(error) !== undefined,
  });
  const security = new SecurityWatch(deps, logger);
  const sessions = new Sessions({ ...deps, security, primary: watch });
  const singleSignOn = new SingleSignOnSignIn({ ...deps, security, publicUrl: () => servedUrl }, sessions);
  const singleSignOnDomains = new SingleSignOnDomains(deps);
  const senderDomains = new SenderDomains(deps);
  const outcomes = new SubmitOutcomes(
    uow,
    { clock, ids },
    { isFault: (error) => databaseFault(error) !== undefined, logger },
  );

  const operations = createOperations(deps, sessions);
  const alerts = new WatchAlerts(deps, logger);
  const takeInbound: InboundSink = (provider, message) =>
    operations.messages.takeInboundSms.run(CARRIERS, { ...message, provider });

  return {
    migration,
    stores,
    operations,
    dryRuns: new DryRuns(
      deps,
      sessions,
      new PgRolledBackTransactions(sql, auditHeads, INTAKE),
      async ({ queue: name, data }, dry) => {
        if (name !== 'contact-import') return;
        const imports = new ImportContacts(dry.stores, dry.uow, csvReader, clock, ids);
        const signal = AbortSignal.timeout(DRY_IMPORT_MS);
        // The time limit may end the preview of a long file. Then the preview shows the rows before that point.
        await imports.handle({ data: data as ContactImportJob }, signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      },
    ),
    sessions,
    passwordLinks: new PasswordLinks(deps),
    singleSignOn,
    security,
    requestLog,
    authenticator,
    rateLimiter,
    rateLimits: config.rateLimits,
    budgets,
    routing,
    whatsAppNumbers,
    reports,
    spool,
    secrets,
    addressHashes,
    auditHeads,
    bounces:
      config.bounceDomain === undefined
        ? undefined
        : {
            domain: config.bounceDomain,
            /** Returns the hosts to which mails that come back go. */
            exchangers: () => findMailExchangers(config.bounceDomain ?? '', config.dnsServers),
          },
    dkim: dkim && {
      recordName: dkim.recordName,
      record: dkim.record,
      /** Returns the TXT records of the name under which the DKIM key must be. */
      published: () => txtRecords.find(dkim.recordName),
    },
    diagnostics,
    live: deps.live,
    registry,
    tracing,
    /** True if the log or a trace links a message to the request that sent it. */
    followsRequests: isLogged || tracing !== undefined,
    poolUse: () => ({
      main: poolUse(knex),
      reads: poolUse(reads),
      ...(replica && { replica: poolUse(replica.pool) }),
    }),
    replica,
    /** Looks at the replica of DATABASE_READ_URL. Undefined if none is configured. */
    lookAtReplica: replicaConnection === undefined ? undefined : () => lookAtReplica(replicaConnection, sql),
    dataDir: config.dataDir,
    queue,
    whatsAppCallbacks: whatsApp.callbacks,
    readSmsCallback: sms.readCallback,
    takeReports: deps.takeReports,
    takeInbound,
    takeKnownReports: reports.takeKnown.bind(reports),
    webhookHeaders: transport.headerNames,
    /** Gives the parts the URL of this process. Call it when the server listens. */
    servedAt(baseUrl: string) {
      servedUrl = baseUrl;
      own?.receiver.servedAt(baseUrl);
    },
    faultOf: databaseFault,
    heartbeat,
    clock,
    holdGate,
    readiness,
    refusals,
    /** Checks people at their identity providers, if their check is due. */
    checkSingleSignOn: () => singleSignOn.check(),
    /** Reads the DNS records of the domains of single sign-on, if their check is due. */
    checkSingleSignOnDomains: () => singleSignOnDomains.check(),
    /** Reads the DNS records of the domains of senders, if their check is due. */
    checkSenderDomains: () => senderDomains.check(),
    /** Compares all balances with their ledgers once. Returns the number of accounts that differ. */
    async checkLedgers(): Promise<number> {
      await checkLedgers(uow, logger);
      return stores.ledgerCheck.countMismatched();
    },
    alerts,
    /** Starts to take mails that come back, if this process is configured to. */
    async startBounceListener(): Promise<BounceListener | undefined> {
      const { bounceListener: listener, bounceDomain: domain } = config;
      if (listener === undefined || domain === undefined || returnPaths === undefined) return undefined;
      return startBounceListener({
        ...listener,
        domain,
        tls: bounceTls,
        returnPaths,
        take: (returned) => operations.messages.takeReturnedMail.run(MAIL_SERVERS, returned),
        measurements,
        logger,
      });
    },
    /** Starts the background work of this process's roles. */
    async startWorking() {
      return startWorkers({
        queue,
        routing,
        reports,
        takeInbound,
        authenticator,
        rateLimiter,
        points,
        security,
        requestLog,
        outcomes,
        submit: new SubmitMessages(
          stores,
          uow,
          routing,
          outcomes,
          clock,
          optOutTokens,
          config.quietHours,
          new LateSuppressions(deps),
          whatsAppNumbers,
          returnPaths,
        ),
        webhooks: new DeliverWebhooks(stores, uow, transport, secrets, deps),
        measurements,
        health: new PublishHealth(uow, routing, whatsAppNumbers, thisProcess, clock),
        imports: new ImportContacts(stores, uow, csvReader, clock, ids),
        personMails: new PersonMails({
          ...deps,
          logger,
          publicUrl: () => servedUrl,
          productName: config.productName,
        }),
        checkSingleSignOn: () => singleSignOn.check(),
        checkSingleSignOnDomains: () => singleSignOnDomains.check(),
        checkSenderDomains: () => senderDomains.check(),
        sweeps: new ExpireMessages(uow, stores, clock, ids),
        retention: new Retention(uow, stores, clock),
        forwardReports: () => forwardReports.run(),
        erasures: new EraseRecipients(uow, stores, { clock, ids }, addressHashes),
        forgetOldEvents: () => forgetOldEvents(stores.events, clock),
        forgetOldRequests: () => forgetOldRequests(stores.requests, clock),
        forgetNumberCounts: () => forgetNumberCounts(stores, clock),
        clock,
        usage: stores.usage,
        analytics: stores.analytics,
        copy: stores.copy,
        holdGate,
        refusals,
        checkLedgers: () => checkLedgers(uow, logger),
        alerts,
        logger,
        isWorker: config.isWorker,
      });
    },
    /** Finishes waiting work and closes everything. Stop the workers first. */
    async close(): Promise<void> {
      await intake.drain();
      await reports.drain();
      await auditHeads.idle();
      await opened.disposeAsync();
    },
  };
}
