import type { Knex } from 'knex';

/**
 * The link with which a person stops marketing messages names the account by the last 17 characters of its id, which
 * are random (R440). Most gateways have some hundred accounts, so that the index is made within milliseconds.
 */
const TAILS = 'CREATE UNIQUE INDEX accounts_tail ON accounts (right(id::text, 17))';
const sources = (words: string) => `
  ALTER TABLE suppressions DROP CONSTRAINT suppressions_source_check,
    ADD CONSTRAINT suppressions_source_check CHECK (source IN (${words}));
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TAILS);
  await knex.raw(sources("'api', 'person', 'stop', 'link'"));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX accounts_tail');
  await knex.raw("UPDATE suppressions SET source = 'stop' WHERE source = 'link'");
  await knex.raw(sources("'api', 'person', 'stop'"));
}
