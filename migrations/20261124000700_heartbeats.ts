import type { Knex } from 'knex';

/**
 * `heartbeats`: one row a process, written by the check of readiness. `report_spools`: how far the delivery reports that a
 * process kept on its disk are applied, so that each is applied once.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE IF NOT EXISTS heartbeats (
      process text PRIMARY KEY,
      beat_at timestamptz NOT NULL
    ) WITH (fillfactor = 50);
    CREATE TABLE IF NOT EXISTS report_spools (
      spool uuid PRIMARY KEY,
      applied_to bigint NOT NULL,
      applied_at timestamptz NOT NULL
    ) WITH (fillfactor = 50);
  `);
}

/** Reports that are on a disk meanwhile are applied from the beginning of their file: repeated ones change nothing. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS report_spools; DROP TABLE IF EXISTS heartbeats');
}
