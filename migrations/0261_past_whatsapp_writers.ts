import type { Knex } from 'knex';

/**
 * Which account wrote last on WhatsApp to a number, of messages that the retention deleted: a STOP must still find it
 * (R559). Only the hash of the number is kept.
 */
const TABLE = `
  CREATE TABLE past_whatsapp_writers (
    account_id uuid NOT NULL,
    wrote_at timestamptz NOT NULL,
    number_hash bytea PRIMARY KEY
  );
  CREATE INDEX past_whatsapp_writers_account ON past_whatsapp_writers (account_id);
  CREATE INDEX past_whatsapp_writers_wrote_at ON past_whatsapp_writers (wrote_at);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE past_whatsapp_writers');
}
