import type { Knex } from 'knex';

/**
 * Messages that people sent to the gateway's own number (decision 25). They belong to no account, since the number
 * is the gateway's; the newest one of a sender opens the window for free text.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE inbound_messages (
      id uuid PRIMARY KEY,
      sent_at timestamptz NOT NULL,
      received_at timestamptz NOT NULL,
      channel text NOT NULL CHECK (channel IN ('whatsapp')),
      provider text NOT NULL,
      sid text NOT NULL,
      sender text NOT NULL,
      type text NOT NULL,
      content text
    );
    CREATE UNIQUE INDEX inbound_messages_sid ON inbound_messages (provider, sid);
    CREATE INDEX inbound_messages_sender ON inbound_messages (channel, sender, sent_at DESC);
  `);
}

/** Removes what was received. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS inbound_messages');
}
