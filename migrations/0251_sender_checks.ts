import type { Knex } from 'knex';

/** When the DNS record of a sender's domain is read again, and since when it is missing (R534). */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE senders ADD check_at timestamptz, ADD missing_since timestamptz');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE senders DROP check_at, DROP missing_since');
}
