import type { Knex } from 'knex';

/**
 * Which account wrote last by SMS to a number, of messages that the retention deleted: a STOP must still find it
 * (R533). Only the hash of the number is kept.
 */
const TABLE = `
  CREATE TABLE sms_writers (
    account_id uuid NOT NULL,
    wrote_at timestamptz NOT NULL,
    number_hash bytea NOT NULL,
    sender text NOT NULL,
    PRIMARY KEY (number_hash, sender)
  );
  CREATE INDEX sms_writers_account ON sms_writers (account_id);
  CREATE INDEX sms_writers_wrote_at ON sms_writers (wrote_at);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE sms_writers');
}
