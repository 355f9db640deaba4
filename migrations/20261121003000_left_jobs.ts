import type { Knex } from 'knex';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/**
 * Jobs that a process without workers leaves for those that have them stand among the leases. While nobody works they may be
 * many, and are taken from the oldest on.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS held_jobs_due_at');
  await knex.raw('CREATE INDEX CONCURRENTLY held_jobs_due_at ON held_jobs (due_at)');
}

/** The version before takes what was left for leases that have lapsed. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS held_jobs_due_at');
}
