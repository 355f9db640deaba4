import type { Knex } from 'knex';

/** Built while the version before serves, so outside any transaction. */
export const config = { transaction: false };

/** Contacts by their tags. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX IF EXISTS contacts_tags');
  await knex.raw('CREATE INDEX CONCURRENTLY contacts_tags ON contacts USING gin (tags)');
}

/** Removes the index. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS contacts_tags');
}
