import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/** Rows of a message that go when it goes. */
const OF_MESSAGE = ['recipients', 'provider_sids'];

/**
 * Which account wrote to a WhatsApp number last, and which account an inbound message belongs to: the one that had
 * written last when it came. The newest message of an account's own opens its window for free text.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE IF NOT EXISTS whatsapp_writers (
      number text PRIMARY KEY,
      account_id uuid NOT NULL,
      message_id uuid NOT NULL,
      wrote_at timestamptz NOT NULL
    );
    CREATE INDEX IF NOT EXISTS whatsapp_writers_message ON whatsapp_writers (message_id);
    ${deleteRowsOfMessages([...OF_MESSAGE, 'whatsapp_writers'])}`);
  await soon(
    knex,
    'ALTER TABLE inbound_messages ADD COLUMN IF NOT EXISTS account_id uuid REFERENCES accounts',
  );
  // One that was not finished stays behind, of no use.
  await knex.raw('DROP INDEX IF EXISTS inbound_messages_owner');
  await knex.raw(
    `CREATE INDEX CONCURRENTLY inbound_messages_owner
     ON inbound_messages (sender, account_id, channel, sent_at DESC)`,
  );
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS inbound_messages_sender');
  // Account by account, since that is how messages of one channel are found.
  await knex.transaction(async (inside) => {
    await inside.raw(`
      CREATE TEMPORARY TABLE whatsapp_writes ON COMMIT DROP AS
        SELECT r.address AS number, m.account_id, m.id AS message_id, r.sent_at AS wrote_at
        FROM accounts a
        JOIN messages m ON m.account_id = a.id AND m.channel = 'whatsapp' AND m.environment = 'production'
        JOIN recipients r ON r.message_id = m.id AND r.sent_at IS NOT NULL;
      CREATE INDEX ON whatsapp_writes (number, wrote_at DESC);
      INSERT INTO whatsapp_writers (number, account_id, message_id, wrote_at)
        SELECT DISTINCT ON (number) number, account_id, message_id, wrote_at FROM whatsapp_writes
        ORDER BY number, wrote_at DESC ON CONFLICT DO NOTHING;
      UPDATE inbound_messages i SET account_id = (
        SELECT w.account_id FROM whatsapp_writes w WHERE w.number = i.sender AND w.wrote_at <= i.received_at
        ORDER BY w.wrote_at DESC LIMIT 1)
      WHERE i.account_id IS NULL`);
  });
}

/** Inbound messages belong to nobody again. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX IF NOT EXISTS inbound_messages_sender ON inbound_messages (channel, sender, sent_at DESC);
    DROP INDEX IF EXISTS inbound_messages_owner;`);
  await soon(knex, 'ALTER TABLE inbound_messages DROP COLUMN IF EXISTS account_id');
  await knex.raw(`${deleteRowsOfMessages(OF_MESSAGE)} DROP TABLE IF EXISTS whatsapp_writers`);
}

/** By a list of keys: a join planned while the tables are empty would read the whole of them later. */
function deleteRowsOfMessages(tables: readonly string[]): string {
  return `CREATE OR REPLACE FUNCTION delete_rows_of_messages() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      ${tables.map((table) => `DELETE FROM ${table} WHERE message_id = ANY (ARRAY(SELECT id FROM gone));`).join('\n')}
      RETURN NULL;
    END $$;`;
}
