import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/** What others refer to for good: no row of it is ever deleted, and its key never changes. */
const KEPT: Readonly<Record<string, string>> = {
  accounts: 'id',
  users: 'id',
  api_keys: 'key_id',
  webhooks: 'id',
};
/** References to what is kept, of rows that come with every message. */
const TO_KEPT = [
  ['messages', 'account_id', 'accounts'],
  ['messages', 'api_key_id', 'api_keys'],
  ['messages', 'user_id', 'users'],
  ['ledger_entries', 'account_id', 'accounts'],
  ['idempotency_records', 'account_id', 'accounts'],
  ['events', 'account_id', 'accounts'],
  ['webhook_deliveries', 'account_id', 'accounts'],
  ['webhook_deliveries', 'webhook_id', 'webhooks'],
] as const;
/** Rows of a message, written by whoever holds its lock or has just made it, which go when it goes. */
const OF_MESSAGE = ['recipients', 'provider_sids'];

/**
 * A foreign key is checked row by row: half of what PostgreSQL did for an accepted message was looking up, for each of
 * its rows, the account that the same statement had locked. What those keys were for is kept at the other end: what
 * they referred to can not be deleted, and the rows of a message go with it, all those of one statement at once.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'rows of % are never deleted and keep their key: messages and money refer to them', TG_TABLE_NAME
          USING ERRCODE = 'restrict_violation';
      END $$;
    -- By a list of keys: a join planned while the tables are empty would read the whole of them later.
    CREATE OR REPLACE FUNCTION delete_rows_of_messages() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        ${OF_MESSAGE.map((table) => `DELETE FROM ${table} WHERE message_id = ANY (ARRAY(SELECT id FROM gone));`).join('\n')}
        RETURN NULL;
      END $$`);
  for (const [table, key] of Object.entries(KEPT)) {
    await soon(
      knex,
      `CREATE OR REPLACE TRIGGER never_deleted BEFORE DELETE OR UPDATE OF ${key} ON ${table} FOR EACH ROW
         EXECUTE FUNCTION refuse_deletion()`,
    );
  }
  await soon(
    knex,
    `CREATE OR REPLACE TRIGGER rows_of_messages AFTER DELETE ON messages REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
       EXECUTE FUNCTION delete_rows_of_messages()`,
  );
  for (const [table, column, kept] of TO_KEPT) await drop(knex, table, column, kept);
  for (const table of OF_MESSAGE) await drop(knex, table, 'message_id', 'messages');
}
/** Back to keys that are checked. */
export async function down(knex: Knex): Promise<void> {
  for (const table of OF_MESSAGE) {
    await soon(
      knex,
      `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${table}_message_id_fkey,
         ADD FOREIGN KEY (message_id) REFERENCES messages ON DELETE CASCADE`,
    );
  }
  for (const [table, column, kept] of TO_KEPT) {
    await soon(
      knex,
      `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${table}_${column}_fkey,
         ADD FOREIGN KEY (${column}) REFERENCES ${kept}`,
    );
  }
  await soon(knex, 'DROP TRIGGER IF EXISTS rows_of_messages ON messages');
  for (const table of Object.keys(KEPT)) await soon(knex, `DROP TRIGGER IF EXISTS never_deleted ON ${table}`);
  await knex.raw('DROP FUNCTION IF EXISTS refuse_deletion, delete_rows_of_messages');
}

/** Drops what refers from the column, whatever its name: that of a table in parts is one that nobody chose. */
async function drop(knex: Knex, table: string, column: string, kept: string): Promise<void> {
  const { rows } = await knex.raw(
    `SELECT c.conname AS name FROM pg_constraint c
     JOIN pg_attribute a ON a.attrelid = c.conrelid AND c.conkey = ARRAY[a.attnum]
     WHERE c.contype = 'f' AND c.conparentid = 0 AND c.conrelid = ?::regclass AND c.confrelid = ?::regclass
       AND a.attname = ?`,
    [table, kept, column],
  );
  for (const { name } of rows) await soon(knex, `ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
}
