import type { Knex } from 'knex';

/**
 * Suppressions also come from people who reported an email as spam (R498). The check is not validated, because all rows
 * passed a narrower one.
 */
const sources = (words: string) => `
  ALTER TABLE suppressions DROP CONSTRAINT suppressions_source_check,
    ADD CONSTRAINT suppressions_source_check CHECK (source IN (${words})) NOT VALID;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(sources("'api', 'person', 'stop', 'link', 'bounce', 'import', 'complaint'"));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("UPDATE suppressions SET source = 'api' WHERE source = 'complaint'");
  await knex.raw("UPDATE suppressions SET earlier_source = 'api' WHERE earlier_source = 'complaint'");
  await knex.raw(sources("'api', 'person', 'stop', 'link', 'bounce', 'import'"));
}
