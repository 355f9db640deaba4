import type { Knex } from 'knex';

/**
 * A message's rows are rewritten as it goes from pending to sent to delivered. With room on their pages the new
 * versions stay there, the old ones are pruned on the next visit, and no index is touched (HOT updates).
 * Sids know how many parts their text has, so that the report on a text of one part writes nothing.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE messages SET (fillfactor = 60);
    ALTER TABLE recipients SET (fillfactor = 60);
    ALTER TABLE webhook_deliveries SET (fillfactor = 60);
    ALTER TABLE provider_sids ADD COLUMN parts smallint NOT NULL DEFAULT 1;
  `);
}

/** Back to the tables as they were. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE provider_sids DROP COLUMN parts;
    ALTER TABLE webhook_deliveries SET (fillfactor = 80);
    ALTER TABLE recipients SET (fillfactor = 80);
    ALTER TABLE messages SET (fillfactor = 85);
  `);
}
