import type { Knex } from 'knex';

const INSERT_FAILED = `
      INSERT INTO failed_messages (account_id, channel, seq)
      SELECT m.account_id, m.channel, m.seq FROM messages m
      WHERE m.id = NEW.message_id AND NOT EXISTS (
          SELECT FROM failed_messages f WHERE f.account_id = m.account_id AND f.channel = m.channel AND f.seq = m.seq)
        AND NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.status <> 'failed')
      ON CONFLICT DO NOTHING;`;
const INSERT_WITH_FAILURES = `
      INSERT INTO messages_with_failures (account_id, channel, seq)
      SELECT m.account_id, m.channel, m.seq FROM messages m
      WHERE m.id = NEW.message_id AND NOT EXISTS (
          SELECT FROM messages_with_failures f
          WHERE f.account_id = m.account_id AND f.channel = m.channel AND f.seq = m.seq)
      ON CONFLICT DO NOTHING;`;
const noteFailedMessage = (inserts: string) => `
  CREATE OR REPLACE FUNCTION note_failed_message() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN${inserts}
      RETURN NULL;
    END $$;`;

/**
 * Lists the messages with a failed recipient (R410). The version before writes to the table by the same trigger and
 * does not read it. 0126 adds the messages that failed earlier.
 */
const TABLE = `
  CREATE TABLE messages_with_failures (
    account_id uuid NOT NULL, seq bigint NOT NULL, channel text NOT NULL,
    PRIMARY KEY (account_id, channel, seq),
    FOREIGN KEY (account_id, channel, seq) REFERENCES messages (account_id, channel, seq) ON DELETE CASCADE
  );`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE + noteFailedMessage(INSERT_FAILED + INSERT_WITH_FAILURES));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`${noteFailedMessage(INSERT_FAILED)} DROP TABLE messages_with_failures`);
}
