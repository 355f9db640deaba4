import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Knex } from 'knex';

/** Any number: it names the lock under which one process at a time migrates. */
const MIGRATION_LOCK = 4_872_390;

interface MigrationModule {
  up(knex: Knex): Promise<void>;
  down(knex: Knex): Promise<void>;
}

/** Migrations of a folder, named without their ending, so that the built and the source files are the same ones. */
function sourceIn(folder: string): Knex.MigrationSource<string> {
  return {
    async getMigrations() {
      const files = await readdir(folder);
      return files.filter((file) => /^\d{14}_\w+\.(ts|js)$/.test(file) && !file.endsWith('.d.ts')).sort();
    },
    getMigrationName: (file) => file.replace(/\.(ts|js)$/, ''),
    getMigration: async (file) => {
      const loaded: MigrationModule = await import(pathToFileURL(join(folder, file)).href);
      return loaded;
    },
  };
}

/** The migration before the first one. */
export const NO_MIGRATION = 'none';

/**
 * Brings the schema to the newest migration and gives the planner its statistics. One process migrates at a time;
 * a lock that a killed one left behind is freed.
 */
export async function migrate(knex: Knex, folder: string): Promise<{ from: string; to: string }> {
  const config = { migrationSource: sourceIn(folder), tableName: 'schema_migrations' };
  const connection = await knex.client.acquireConnection();
  try {
    await knex.raw('SELECT pg_advisory_lock(?)', [MIGRATION_LOCK]).connection(connection);
    const from = await knex.migrate.currentVersion(config);
    await knex.migrate.forceFreeMigrationsLock(config);
    const [, applied]: [number, string[]] = await knex.migrate.latest(config);
    if (applied.length > 0) await knex.raw('ANALYZE');
    return { from, to: await knex.migrate.currentVersion(config) };
  } finally {
    await knex.raw('SELECT pg_advisory_unlock(?)', [MIGRATION_LOCK]).connection(connection);
    await knex.client.releaseConnection(connection);
  }
}

/** Takes back every migration of the folder. */
export async function rollbackAll(knex: Knex, folder: string): Promise<void> {
  await knex.migrate.rollback({ migrationSource: sourceIn(folder), tableName: 'schema_migrations' }, true);
}
