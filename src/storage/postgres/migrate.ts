import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { type Migration, migrations } from '../../../migrations/index.ts';
import { takeOver } from '../../../migrations/take-over.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import { ON_DISK } from './pipeline.ts';
import { createKnex, type DatabaseConnection } from './sql.ts';

/** Any number: it names the lock under which one process at a time migrates. */
const MIGRATION_LOCK = 4_872_390;
/** One holds the lock, Knex takes the others. */
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
  // A process may find steps that it does not know: another one with a newer release has already started.
  disableMigrationsListValidation: true,
};
/** The newest step of this release. */
const KNOWN = migrations.at(-1)?.name.split('_')[0] ?? 'none';

/** From which step to which the schema was brought, by the times in their names; `none` is an empty database. */
export interface Migrated {
  readonly from: string;
  readonly to: string;
  /** The newest step that this release knows, where the database is at a newer one. */
  readonly newerThan?: string;
}

/**
 * Brings the schema to the newest migration and gives the planner its statistics. One process migrates at a time;
 * a lock that a killed one left behind is freed. Does nothing where a newer release has taken all steps. Throws an error
 * that says what to do where the database is too old to be taken over.
 */
export async function migrate(knex: Knex): Promise<Migrated> {
  // Whoever may not do it could store a message, and not tell whether it is on the disk.
  await knex.raw(ON_DISK.text);
  const began = (await hasEveryStep(knex)) ? undefined : await migrateAlone(knex);
  const to: string = await knex.migrate.currentVersion(CONFIG);
  return { from: began ?? to, to, ...(to > KNOWN ? { newerThan: KNOWN } : {}) };
}

/** Whether no step of this release is missing. Whoever takes a newer one may take long, and is not waited for. */
async function hasEveryStep(knex: Knex): Promise<boolean> {
  const { rows } = await knex.raw(`SELECT to_regclass('schema_migrations') IS NOT NULL AS "isThere"`);
  if (!rows[0].isThere) return false;
  const done = new Set(await knex('schema_migrations').pluck('name'));
  return migrations.every(({ name }) => done.has(name));
}

/** Takes the steps that are missing while no other process does; returns where it began. */
async function migrateAlone(knex: Knex): Promise<string> {
  const connection = await knex.client.acquireConnection();
  try {
    await lock(knex, connection);
    const from: string = await knex.migrate.currentVersion(CONFIG);
    await takeOver(knex);
    await knex.migrate.forceFreeMigrationsLock(CONFIG);
    const [, applied]: [number, string[]] = await knex.migrate.latest(CONFIG);
    if (applied.length > 0) await analyze(knex);
    return from;
  } finally {
    await knex.raw('SELECT pg_advisory_unlock(?)', [MIGRATION_LOCK]).connection(connection);
    await knex.client.releaseConnection(connection);
  }
}

/**
 * Gives the planner its statistics. A table that is known to be empty is planned for as if it stayed so, and a
 * statement's plan stays until the server analyses the table by itself; one of which nothing is known is taken for a
 * few hundred rows, for which an index is worth while.
 */
async function analyze(knex: Knex): Promise<void> {
  const filled = `SELECT oid::regclass::text AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND pg_relation_size(oid) > 0`;
  const { rows }: { rows: { name: string }[] } = await knex.raw(filled);
  for (const { name } of rows) await knex.raw(`ANALYZE ${name}`);
}

/** Asks again and again: who waits inside a statement would be waited for by an index that is built concurrently. */
async function lock(knex: Knex, connection: unknown): Promise<void> {
  const ask = 'SELECT pg_try_advisory_lock(?) AS mine';
  while (!(await knex.raw(ask, [MIGRATION_LOCK]).connection(connection)).rows[0].mine)
    await sleep(LOCK_PAUSE_MS);
}

/** `migrate` on a pool of its own, on which a step may take as long as it needs. */
export async function migrateDatabase(connection: DatabaseConnection, logger: Logger): Promise<Migrated> {
  const knex = createKnex(connection, logger, MIGRATION_CONNECTIONS, 0);
  try {
    const migrated = await migrate(knex);
    if (migrated.newerThan !== undefined)
      logger.warn(
        migrated,
        'the database is at a newer schema than this release knows: go on with the newer release',
      );
    return migrated;
  } finally {
    await knex.destroy();
  }
}

/** Takes back every migration, the newest first. */
export async function rollbackAll(knex: Knex): Promise<void> {
  await knex.migrate.rollback(CONFIG, true);
}
