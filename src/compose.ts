import { createGuardedClient } from './channels/http/guarded-client.ts';
import { createRouting } from './channels/routing.ts';
import { smsRoutes } from './channels/sms/sms-carriers.ts';
import { createWebhookTransport } from './channels/webhook/webhook-transport.ts';
import type { Config } from './config.ts';
import { systemClock, systemIds } from './crypto/ids.ts';
import { loadOrCreateMasterKey } from './crypto/master-key.ts';
import { passwordHasher } from './crypto/password-hasher.ts';
import { createSecretBox } from './crypto/secret-box.ts';
import { Authenticator } from './domain/api-keys/authenticate.ts';
import type { Dependencies } from './domain/dependencies.ts';
import { DeliveryReports } from './domain/messages/delivery-reports.ts';
import { SubmitMessages } from './domain/messages/submit-messages.ts';
import { SubmitOutcomes } from './domain/messages/submit-outcomes.ts';
import { Sweeps } from './domain/messages/sweeps.ts';
import { createOperations } from './domain/operations.ts';
import type { Logger } from './domain/ports/logger.ts';
import { DeliverWebhooks } from './domain/webhooks/deliver.ts';
import { PgBossQueue } from './queue/pg-boss-queue.ts';
import { startEmbeddedPostgres } from './storage/embedded-postgres/embedded-postgres.ts';
import { databaseFault } from './storage/faults.ts';
import { PgIntake } from './storage/intake.ts';
import { migrate } from './storage/migrate.ts';
import { PgChanges } from './storage/pg-changes.ts';
import { PgListener } from './storage/pg-listener.ts';
import { createKnex, type DatabaseConnection, Sql } from './storage/sql.ts';
import { createStores, createUnitOfWork } from './storage/unit-of-work.ts';
import { startWorkers } from './workers/start-workers.ts';

const INTAKE = { maxBatchRecipients: 1_000, maxWaitingRecipients: 20_000 };
const CONNECTIONS_PER_ORIGIN = 256;

/** The running parts of one process, wired. */
export type Gateway = Awaited<ReturnType<typeof compose>>;

/**
 * Wires everything and brings the database up to date. Throws when PostgreSQL or the master key cannot be had.
 * Nothing is sent or fetched before `startWorking`.
 */
export async function compose(config: Config, logger: Logger) {
  const postgres =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, database: 'gateway', logger })
      : undefined;
  const connection: DatabaseConnection = postgres?.connection ?? config.databaseUrl ?? '';
  const knex = createKnex(connection, logger);
  const migration = await migrate(knex);
  const masterKey = config.masterKey ?? (await loadOrCreateMasterKey(config.dataDir));

  const sql = new Sql(knex);
  const listener = new PgListener(connection, logger);
  await listener.start();
  const changes = new PgChanges(listener);
  await changes.start();
  const queue = new PgBossQueue({
    pool: sql.pool,
    logger,
    listen: (channel, onMessage, onReconnect) => listener.listen(channel, onMessage, onReconnect),
  });
  await queue.start();

  const stores = createStores(sql);
  const jobsFor = (client: Parameters<PgBossQueue['sinkFor']>[0]) => queue.sinkFor(client);
  const uow = createUnitOfWork(sql, jobsFor, changes);
  const intake = new PgIntake(sql, jobsFor, INTAKE);
  const routing = createRouting(smsRoutes(config.smsRoutes, logger));
  const client = createGuardedClient({
    allowedNetworks: config.webhookAllowedNetworks,
    requireHttps: config.isProduction,
    maxConnectionsPerOrigin: CONNECTIONS_PER_ORIGIN,
  });
  const transport = createWebhookTransport({ client, serviceName: config.serviceName });
  const secrets = createSecretBox(masterKey, config.previousMasterKeys);
  const deps: Dependencies = {
    stores,
    uow,
    intake,
    routing,
    transport,
    changes,
    secrets,
    passwords: passwordHasher,
    clock: systemClock,
    ids: systemIds,
    settings: { defaultSenderId: config.defaultSenderId },
  };
  const authenticator = new Authenticator(stores.apiKeys, changes, systemClock);
  const outcomes = new SubmitOutcomes(uow, systemIds);
  const reports = new DeliveryReports(uow, systemClock, systemIds);

  return {
    migration,
    stores,
    operations: createOperations(deps),
    authenticator,
    routing,
    queue,
    faultOf: databaseFault,
    /** Resolves when the database and the queue answer; rejects otherwise. */
    async checkReady(): Promise<void> {
      await stores.accounts.isEmpty();
      await queue.check();
    },
    /** Starts to send, to deliver and to clean up, as this process's roles say. */
    async startWorking() {
      return startWorkers({
        queue,
        routing,
        reports,
        authenticator,
        submit: new SubmitMessages(stores, routing, outcomes, systemClock),
        webhooks: new DeliverWebhooks(stores, uow, transport, secrets, systemClock),
        sweeps: new Sweeps(uow, stores, systemClock, systemIds),
        logger,
        isWorker: config.isWorker,
      });
    },
    /** Closes everything, in the order in which nothing is missed. Workers are stopped before. */
    async close(): Promise<void> {
      await intake.drain();
      await reports.drain();
      await transport.close();
      await queue.stop();
      await listener.stop();
      await knex.destroy();
      await postgres?.stop();
    },
  };
}
