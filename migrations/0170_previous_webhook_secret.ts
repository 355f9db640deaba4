/** The secret of a webhook before its rotation, which signs too while the overlap lasts (R446). */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhooks ADD COLUMN previous_secret_sealed text, ADD COLUMN previous_secret_ends_at timestamptz,
      ADD CHECK ((previous_secret_sealed IS NULL) = (previous_secret_ends_at IS NULL));
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhooks DROP COLUMN previous_secret_sealed, DROP COLUMN previous_secret_ends_at;
  `);
}
