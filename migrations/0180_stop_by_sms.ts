import type { Knex } from 'knex';

/**
 * Inbound messages may be SMS (R380). A suppression keeps what a STOP replaced, so that START takes back the STOP and
 * nothing else (R379). The check is not validated, because all rows passed a narrower one.
 */
const channels = (words: string) => `
  ALTER TABLE inbound_messages DROP CONSTRAINT inbound_messages_channel_check,
    ADD CONSTRAINT inbound_messages_channel_check CHECK (channel IN (${words})) NOT VALID;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(channels("'sms', 'whatsapp'"));
  await knex.raw('ALTER TABLE suppressions ADD earlier_source text, ADD earlier_reason text');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DELETE FROM inbound_messages WHERE channel = 'sms'");
  await knex.raw(channels("'whatsapp'"));
  await knex.raw('ALTER TABLE suppressions DROP earlier_source, DROP earlier_reason');
}
