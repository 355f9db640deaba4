import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/**
 * How many hand-overs a recipient has behind it, once another is due: a job that comes back takes only those whose next
 * try is its own. None where nothing was put off; the version before leaves it so.
 */
export async function up(knex: Knex): Promise<void> {
  await soon(knex, 'ALTER TABLE recipients ADD COLUMN IF NOT EXISTS attempts smallint');
}

/** Jobs that come back take again whatever is pending. */
export async function down(knex: Knex): Promise<void> {
  await soon(knex, 'ALTER TABLE recipients DROP COLUMN IF EXISTS attempts');
}
