import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** An index is built while the version before serves, so outside any transaction; it can be taken up again. */
export const config = { transaction: false };

/** Keys whose new entries come after all others of their account: nothing is ever put in between. */
const GROWING_AT_THE_END = ['messages_account_id_channel_seq_key', 'ledger_entries_pkey', 'events_pkey'];

/**
 * Takes bytes off every message: the status that is no longer stored (nothing reads or writes it since the step that
 * wrote messages once), the tenth of each page that keys keep free for entries that never come, and the type's name in
 * the index that lets an event fire once, which now holds a number made of type and position.
 */
export async function up(knex: Knex): Promise<void> {
  await soon(knex, 'ALTER TABLE messages DROP COLUMN IF EXISTS status');
  for (const key of GROWING_AT_THE_END) await knex.raw(`ALTER INDEX ${key} SET (fillfactor = 100)`);
  const { rows } = await knex.raw(
    `SELECT FROM pg_index WHERE indexrelid = to_regclass('events_fire_once') AND indisvalid`,
  );
  // The other one may be gone already: without this one an event could fire twice.
  if (rows.length === 0) {
    // One that was not finished stays behind, of no use.
    await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS events_fire_once');
    await knex.raw(`CREATE UNIQUE INDEX CONCURRENTLY events_fire_once
      ON events (message_id, hashtextextended(type, position)) WHERE message_id IS NOT NULL`);
  }
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS events_once');
}

/** Brings the column back, with the value that processes from before are content with, and the index as it was. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX IF EXISTS events_once');
  await knex.raw(`CREATE UNIQUE INDEX CONCURRENTLY events_once
    ON events (message_id, position, type) WHERE message_id IS NOT NULL`);
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS events_fire_once');
  for (const key of GROWING_AT_THE_END) await knex.raw(`ALTER INDEX ${key} RESET (fillfactor)`);
  await soon(
    knex,
    `ALTER TABLE messages ADD COLUMN IF NOT EXISTS status text NOT NULL DEFAULT 'pending'
       CHECK (status IN ('pending', 'sent', 'delivered', 'failed'))`,
  );
}
