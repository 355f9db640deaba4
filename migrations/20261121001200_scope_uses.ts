import type { Knex } from 'knex';

/** When each scope of a key last let a request in: what nobody uses can be taken off the key. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE api_key_scope_uses (
      key_id text NOT NULL REFERENCES api_keys ON DELETE CASCADE,
      scope text NOT NULL,
      last_used_at timestamptz NOT NULL,
      PRIMARY KEY (key_id, scope)
    ) WITH (fillfactor = 80);
  `);
}

/** Removes the table. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS api_key_scope_uses');
}
