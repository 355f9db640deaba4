import type { Knex } from 'knex';

/**
 * Suppressions also come from mail servers that know no such address (R382), and from files. The check is not
 * validated, because all rows passed a narrower one.
 */
const sources = (words: string) => `
  ALTER TABLE suppressions DROP CONSTRAINT suppressions_source_check,
    ADD CONSTRAINT suppressions_source_check CHECK (source IN (${words})) NOT VALID;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sources("'api', 'person', 'stop', 'link', 'bounce', 'import'"));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("UPDATE suppressions SET source = 'api' WHERE source IN ('bounce', 'import')");
  await knex.raw(
    "UPDATE suppressions SET earlier_source = 'api' WHERE earlier_source IN ('bounce', 'import')",
  );
  await knex.raw(sources("'api', 'person', 'stop', 'link'"));
}
