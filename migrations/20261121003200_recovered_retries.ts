import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/**
 * So many attempts of a delivery do not count against its endpoint's `maxRetries`: a recovery gave the retries anew.
 * None where nothing was recovered.
 */
export async function up(knex: Knex): Promise<void> {
  await soon(knex, 'ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS retries_from integer');
}

/** What was recovered has used up its retries. */
export async function down(knex: Knex): Promise<void> {
  await soon(knex, 'ALTER TABLE webhook_deliveries DROP COLUMN IF EXISTS retries_from');
}
