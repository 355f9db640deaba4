import type { Knex } from 'knex';

/**
 * Imports of contacts. The text is kept only until the import has ended, uncompressed, since it lives for seconds;
 * an import and what it says of single rows are forgotten after a month. `contacts_email` finds whom a row with
 * nothing but an email is about.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE contact_imports (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      created_at timestamptz NOT NULL,
      finished_at timestamptz,
      rows_total integer NOT NULL,
      rows_done integer NOT NULL DEFAULT 0,
      created integer NOT NULL DEFAULT 0,
      updated integer NOT NULL DEFAULT 0,
      failed integer NOT NULL DEFAULT 0,
      faults integer NOT NULL DEFAULT 0,
      state text NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed')),
      created_by text NOT NULL,
      failure text,
      csv text,
      CHECK ((csv IS NULL) = (state IN ('done', 'failed'))),
      CHECK (rows_done = created + updated + failed)
    );
    ALTER TABLE contact_imports ALTER COLUMN csv SET STORAGE EXTERNAL;
    CREATE INDEX contact_imports_account ON contact_imports (account_id, id DESC);

    CREATE TABLE contact_import_faults (
      import_id uuid NOT NULL REFERENCES contact_imports ON DELETE CASCADE,
      seq integer NOT NULL,
      line integer NOT NULL,
      column_name text,
      value text,
      code text NOT NULL,
      message text NOT NULL,
      PRIMARY KEY (import_id, seq)
    );

    CREATE INDEX contacts_email ON contacts (account_id, lower(email)) WHERE email IS NOT NULL;
  `);
}

/** Removes the imports; the contacts that they brought stay. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX IF EXISTS contacts_email;
    DROP TABLE IF EXISTS contact_import_faults, contact_imports;
  `);
}
