import type { Knex } from 'knex';

/** Retention deletes the oldest inbound messages of an account, and before that their texts. Each needs an index. */
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
