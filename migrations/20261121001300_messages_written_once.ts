import type { Knex } from 'knex';

/**
 * A message's status follows from its recipients and is no longer stored: its row is written once, so that pages
 * need no room for later versions. The column stays, with a value for processes of the version before, which still
 * write and read it; a later step drops it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE messages ALTER COLUMN status SET DEFAULT 'pending';
    ALTER TABLE messages RESET (fillfactor);
  `);
}

/** Stores every message's status again. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE messages m SET status = r.status FROM (
      SELECT message_id, CASE WHEN bool_or(status = 'pending') THEN 'pending' WHEN bool_or(status = 'sent') THEN 'sent'
        WHEN bool_or(status = 'delivered') THEN 'delivered' ELSE 'failed' END AS status
      FROM recipients GROUP BY message_id
    ) r WHERE r.message_id = m.id AND m.status <> r.status;
    ALTER TABLE messages ALTER COLUMN status DROP DEFAULT;
    ALTER TABLE messages SET (fillfactor = 60);
  `);
}
