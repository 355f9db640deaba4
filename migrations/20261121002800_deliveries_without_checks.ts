import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/**
 * What is deleted takes along what refers to it, all rows of one statement at once: `delete` says how, with the deleted
 * rows as `gone`. By a list of keys, or by the index: a join planned while the tables are empty would read the whole of
 * them later.
 */
const GOES_WITH = [
  {
    table: 'events',
    rows: 'webhook_deliveries',
    key: 'webhook_deliveries_account_id_event_seq_fkey',
    reference: '(account_id, event_seq) REFERENCES events (account_id, seq)',
    delete: `DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
      SELECT d.id FROM gone CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries
        WHERE account_id = gone.account_id AND event_seq = gone.seq OFFSET 0) d))`,
  },
  {
    table: 'webhook_deliveries',
    rows: 'webhook_attempts',
    key: 'webhook_attempts_delivery_id_fkey',
    reference: '(delivery_id) REFERENCES webhook_deliveries',
    delete: 'DELETE FROM webhook_attempts WHERE delivery_id = ANY (ARRAY(SELECT id FROM gone))',
  },
] as const;

/**
 * A delivery's key to its event and an attempt's to its delivery are checked no more. Whoever writes the one has just
 * written the other, or holds its lock.
 */
export async function up(knex: Knex): Promise<void> {
  for (const { table, rows, key, delete: statement } of GOES_WITH) {
    await knex.raw(`
      CREATE OR REPLACE FUNCTION delete_${rows}_of_${table}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          ${statement};
          RETURN NULL;
        END $$`);
    await soon(
      knex,
      `CREATE OR REPLACE TRIGGER ${rows}_of_${table} AFTER DELETE ON ${table} REFERENCING OLD TABLE AS gone
         FOR EACH STATEMENT EXECUTE FUNCTION delete_${rows}_of_${table}()`,
    );
    await soon(knex, `ALTER TABLE ${rows} DROP CONSTRAINT IF EXISTS ${key}`);
  }
}

/** Back to keys that are checked. */
export async function down(knex: Knex): Promise<void> {
  for (const { table, rows, key, reference } of GOES_WITH) {
    await soon(
      knex,
      `ALTER TABLE ${rows} DROP CONSTRAINT IF EXISTS ${key},
         ADD CONSTRAINT ${key} FOREIGN KEY ${reference} ON DELETE CASCADE`,
    );
    await soon(knex, `DROP TRIGGER IF EXISTS ${rows}_of_${table} ON ${table}`);
    await knex.raw(`DROP FUNCTION IF EXISTS delete_${rows}_of_${table}`);
  }
}
