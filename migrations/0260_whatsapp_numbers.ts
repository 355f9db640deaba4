import type { Knex } from 'knex';

/**
 * WhatsApp numbers of accounts are senders (R550). A number belongs to one account, and an account has one number. The
 * check is not validated, because all rows passed a narrower one.
 *
 * The session windows need no change: each inbound message has had the provider of the number that it came to.
 */
const channels = (words: string) => `
  ALTER TABLE senders DROP CONSTRAINT senders_channel_check,
    ADD CONSTRAINT senders_channel_check CHECK (channel IN (${words})) NOT VALID;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(channels("'sms', 'email', 'whatsapp'"));
  await knex.raw(`
    -- The platform's id of the number.
    ALTER TABLE senders ADD phone_number_id text;
    CREATE UNIQUE INDEX senders_phone_number_id ON senders (phone_number_id) WHERE phone_number_id IS NOT NULL;
    CREATE UNIQUE INDEX senders_whatsapp_number ON senders (name) WHERE channel = 'whatsapp';
    CREATE UNIQUE INDEX senders_whatsapp_account ON senders (account_id) WHERE channel = 'whatsapp';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DELETE FROM senders WHERE channel = 'whatsapp'");
  await knex.raw(channels("'sms', 'email'"));
  await knex.raw(`
    DROP INDEX senders_whatsapp_account, senders_whatsapp_number;
    ALTER TABLE senders DROP phone_number_id;
  `);
}
