import type { Knex } from 'knex';

/** Recipients of marketing wait for the end of the quiet hours of their numbers (R385). */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE recipients ADD held_until timestamptz');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE recipients DROP held_until');
}
