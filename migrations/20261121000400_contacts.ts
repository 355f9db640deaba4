import type { Knex } from 'knex';

/**
 * Contacts (decision 27). `search_text` is what a search looks through, already folded by the gateway, so that no
 * database's idea of upper and lower case matters; `attributes` is json, not jsonb, to be given back as it came.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE contacts (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      name text,
      phone text,
      email text,
      external_id text,
      tags text[] NOT NULL,
      attributes json NOT NULL,
      search_text text NOT NULL,
      CHECK (coalesce(phone, email, external_id) IS NOT NULL)
    );
    CREATE INDEX contacts_account ON contacts (account_id, id DESC);
    CREATE UNIQUE INDEX contacts_phone ON contacts (account_id, phone) WHERE phone IS NOT NULL;
    CREATE UNIQUE INDEX contacts_external_id ON contacts (account_id, external_id) WHERE external_id IS NOT NULL;
  `);
}

/** Removes the contacts. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS contacts');
}
