import type { Knex } from 'knex';

/**
 * How carriers and providers are, as each worker process says every few seconds. UNLOGGED: it is worth nothing
 * after a crash, and writing it costs no WAL.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE UNLOGGED TABLE provider_health (
      process text NOT NULL,
      channel text NOT NULL,
      name text NOT NULL,
      seen_at timestamptz NOT NULL,
      status jsonb NOT NULL,
      PRIMARY KEY (process, channel, name)
    ) WITH (fillfactor = 50);
  `);
}

/** Removes the table. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS provider_health');
}
