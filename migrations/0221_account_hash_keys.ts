import type { Knex } from 'knex';
import { refuseToForget } from './0220_erasures.ts';

/**
 * Keys of address hashes that accounts brought from other cells (R492). An account without a row has the key of
 * `address_hash_key`. A version that does not know the table uses that key for all accounts.
 */
const TABLE = `
  CREATE TABLE account_hash_keys (
    account_id uuid PRIMARY KEY REFERENCES accounts,
    sealed text NOT NULL
  )
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
}

export async function down(knex: Knex): Promise<void> {
  await refuseToForget(knex, 'AND account_id IN (SELECT account_id FROM account_hash_keys)');
  await knex.raw('DROP TABLE account_hash_keys');
}
