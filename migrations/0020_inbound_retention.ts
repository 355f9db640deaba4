import type { Knex } from 'knex';

/** The retention of inbound messages reads an account's oldest ones: those with a text, and all of them. */
const INDEXES = `
  CREATE INDEX inbound_messages_age ON inbound_messages (account_id, sent_at);
  CREATE INDEX inbound_messages_text ON inbound_messages (account_id, sent_at) WHERE content IS NOT NULL;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(INDEXES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX inbound_messages_age, inbound_messages_text');
}
