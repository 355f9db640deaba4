import type { Knex } from 'knex';

/**
 * The points that each bucket spent on GraphQL queries in its current minute (src/storage/rate-limit/point-budget.ts).
 * UNLOGGED: writing costs no WAL, and after a crash of the server the budgets start again. Only `bucket` is indexed and
 * most of each page is free, so every write is a HOT update.
 */
const POINTS = `
  CREATE UNLOGGED TABLE query_points (
    ends_at bigint NOT NULL, corrected_until bigint NOT NULL, correction integer NOT NULL, budget integer NOT NULL,
    used integer NOT NULL, granted integer NOT NULL, bucket text COLLATE "C" PRIMARY KEY, asks integer[] NOT NULL
  ) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(POINTS);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE query_points');
}
