import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { type Migration, migrations } from '../../../migrations/index.ts';
import { takeOver } from '../../../migrations/take-over.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { DatabaseConnection } from './connection.ts';
import { PATIENCE_MS, runStep, type StepOptions } from './migration-step.ts';
import { ON_DISK } from './pipeline.ts';
import { createKnex } from './sql.ts';

/** Number of the advisory lock for migrations. It could be any number that no other lock uses. */
const MIGRATION_LOCK = 4_872_390;
/** Pool size for migrations: one connection holds the lock, Knex uses the others. */
const MIGRATION_CONNECTIONS = 4;
const LOCK_PAUSE_MS = 200;

const source: Knex.MigrationSource<Migration> = {
  getMigrations: async () => [...migrations],
  getMigrationName: (migration) => migration.name,
  getMigration: async (migration) => migration,
};
const CONFIG = {
  migrationSource: source,
  tableName: 'schema_migrations',
  // A newer release may have run migrations that this release does not know. That must not be an error.
  disableMigrationsListValidation: true,
};
/** Number of the newest migration of this release. */
const KNOWN = migrations.at(-1)?.name.split('_')[0] ?? 'none';

/**
 * The number of the newest migration, before (`from`) and after (`to`) the call. `none` stands for an empty database.
 */
export interface Migrated {
  readonly from: string;
  readonly to: string;
  /** The number of this release's newest migration, if the database has a newer one. Otherwise undefined. */
  readonly newerThan?: string;
}

/**
 * Runs all missing migrations and updates the planner's statistics. One process migrates at a time. A killed process
 * does not leave a lock behind. Does nothing if a newer release has run more migrations. If the database is too old,
 * or a migration gets no lock (R519), throws an error that says what to do. The migrations before that one stay.
 */
export async function migrate(
  knex: Knex,
  { onWait = () => undefined, patienceMs = PATIENCE_MS }: Partial<StepOptions> = {},
): Promise<Migrated> {
  const complete = await findComplete(knex);
  if (complete !== undefined) return complete;
  const from = await migrateAlone(knex, { onWait, patienceMs });
  return migrated(from, await knex.migrate.currentVersion(CONFIG));
}

const migrated = (from: string, to: string): Migrated => ({
  from,
  to,
  ...(to > KNOWN ? { newerThan: KNOWN } : {}),
});

/**
 * Returns the version of a database where all migrations of this release have run, or undefined. It does not wait for
 * the lock, because a newer release may hold it for a long migration.
 */
async function findComplete(knex: Knex): Promise<Migrated | undefined> {
  // Fail early if the user may not call this function. Without it, the gateway could store a message, but not know
  // whether it is on the disk.
  await knex.raw(ON_DISK.text);
  const { rows } = await knex.raw(`SELECT to_regclass('schema_migrations') IS NOT NULL AS "isThere"`);
  if (!rows[0].isThere) return undefined;
  const done = new Set<string>(await knex('schema_migrations').pluck('name'));
  if (!migrations.every(({ name }) => done.has(name))) return undefined;
  const versions = [...done].map((name) => name.split('_')[0] ?? '');
  const version = versions.reduce((one, other) => (one > other ? one : other));
  return migrated(version, version);
}

/** Runs the missing migrations under the lock. Returns the newest migration before that. */
async function migrateAlone(knex: Knex, options: StepOptions): Promise<string> {
  const connection = await knex.client.acquireConnection();
  try {
    await lock(knex, connection);
    const from: string = await knex.migrate.currentVersion(CONFIG);
    await takeOver(knex);
    await knex.migrate.forceFreeMigrationsLock(CONFIG);
    const done = new Set<string>(await knex('schema_migrations').pluck('name'));
    const missing = migrations.filter(({ name }) => !done.has(name));
    for (const migration of missing) {
      // One by one: Knex would run all of them in one transaction, which would keep its locks until the last has run.
      const run = async (hook: (transaction: Knex) => Promise<void>) => {
        await checkLock(knex, connection);
        return knex.migrate.up({ ...CONFIG, name: migration.name, beforeEach: hook } as typeof CONFIG);
      };
      await runStep(knex, migration, run, options);
    }
    if (missing.length > 0) await analyze(knex);
    return from;
  } finally {
    // If this fails, the connection is gone, and its lock with it.
    await knex
      .raw('SELECT pg_advisory_unlock(?)', [MIGRATION_LOCK])
      .connection(connection)
      .catch(() => undefined);
    await knex.client.releaseConnection(connection);
  }
}

/**
 * Updates the planner's statistics of all tables with rows. Empty tables are left out. For a table known to be empty,
 * the planner expects no rows and chooses a sequential scan. A statement keeps that plan until the table is analyzed.
 * For a table that was never analyzed, the planner assumes some hundred rows and uses an index.
 */
async function analyze(knex: Knex): Promise<void> {
  const filled = `SELECT oid::regclass::text AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND pg_relation_size(oid) > 0`;
  const { rows }: { rows: { name: string }[] } = await knex.raw(filled);
  for (const { name } of rows) await knex.raw(`ANALYZE ${name}`);
}

/**
 * Waits for the lock by polling. A statement that waits would block CREATE INDEX CONCURRENTLY, because that waits for
 * all older transactions.
 */
async function lock(knex: Knex, connection: unknown): Promise<void> {
  const ask = 'SELECT pg_try_advisory_lock(?) AS mine';
  while (!(await knex.raw(ask, [MIGRATION_LOCK]).connection(connection)).rows[0].mine)
    await sleep(LOCK_PAUSE_MS);
}

/**
 * Throws if the connection that holds the lock is gone, as after a promotion. The other connections of the pool then
 * lead to the new primary, where another process may have the lock.
 */
async function checkLock(knex: Knex, connection: unknown): Promise<void> {
  try {
    await knex.raw('SELECT 1').connection(connection);
  } catch (cause) {
    throw new Error(
      'The connection that held the lock of the migrations was lost. Run migrate again: the migrations that ended stay.',
      { cause },
    );
  }
}

/**
 * Calls `migrate`. What is missing runs on a pool of its own, which has no time limits. `main` is the pool of the
 * gateway. `tell` is called with a sentence if a migration must wait for a lock.
 */
export async function migrateDatabase(
  main: Knex,
  connection: DatabaseConnection,
  logger: Logger,
  tell: (text: string) => void = () => undefined,
): Promise<Migrated> {
  const done = (await findComplete(main)) ?? (await migrateUnbounded(connection, logger, tell));
  if (done.newerThan !== undefined)
    logger.warn(
      done,
      'the database is at a newer schema than this release knows: go on with the newer release',
    );
  return done;
}

async function migrateUnbounded(
  connection: DatabaseConnection,
  logger: Logger,
  tell: (text: string) => void,
): Promise<Migrated> {
  const knex = createKnex(connection, logger, { poolSize: MIGRATION_CONNECTIONS, statementTimeoutMs: 0 });
  const onWait = (migration: string, holders: string) => {
    logger.warn({ migration, holders }, 'a migration waits for a lock');
    tell(`The migration ${migration} waits for a lock of ${holders}. It is tried again for 5 minutes.`);
  };
  try {
    return await migrate(knex, { onWait });
  } finally {
    await knex.destroy();
  }
}

/** Rolls back all migrations, newest first. */
export async function rollbackAll(knex: Knex): Promise<void> {
  await knex.migrate.rollback(CONFIG, true);
}
