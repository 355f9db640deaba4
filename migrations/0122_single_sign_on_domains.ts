/** Repeated checks of the DNS records that prove the domains of single sign-on (R445). */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE single_sign_on
      ADD COLUMN domain_check_at timestamptz NOT NULL DEFAULT now(),
      -- When a check first found no record. Null if the last check found it.
      ADD COLUMN domain_missing_since timestamptz,
      -- When nobody new could sign in any more. Null while the record is there.
      ADD COLUMN domain_lost_at timestamptz;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE single_sign_on
      DROP COLUMN domain_check_at, DROP COLUMN domain_missing_since, DROP COLUMN domain_lost_at;
  `);
}
