import type { Knex } from 'knex';

/**
 * The log of counted requests, a row a bucket (decision 12; src/storage/rate-limit/rate-limiter.ts has the format of `hits`).
 * UNLOGGED: writing it costs no WAL, and after a crash of the server the budgets begin anew. Only `bucket` is
 * indexed and pages are kept mostly free, so that every write is a HOT update; the array is never compressed.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE UNLOGGED TABLE rate_limits (
      checked_at bigint NOT NULL,
      per_minute integer NOT NULL,
      per_second integer NOT NULL,
      asked integer NOT NULL,
      granted integer NOT NULL,
      bucket text COLLATE "C" PRIMARY KEY,
      hits bigint[] NOT NULL
    ) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05,
      autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off, toast.autovacuum_vacuum_threshold = 500,
      toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_cost_delay = 0,
      toast.vacuum_truncate = off);
    ALTER TABLE rate_limits ALTER COLUMN hits SET STORAGE EXTERNAL, ALTER COLUMN hits SET STATISTICS 0;
  `);
}

/** Removes the table. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS rate_limits');
}
