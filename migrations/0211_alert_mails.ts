import type { Knex } from 'knex';

/**
 * When people got a mail about an alert (R482). Null with `is_mailed`: when it opened, as the version before writes it.
 * The index finds the last mail about a cause. Few alerts exist, so it is built at once.
 */
const CHANGES = `
  ALTER TABLE alerts ADD mailed_at timestamptz;
  CREATE INDEX alerts_mailed ON alerts
    (coalesce(account_id, '00000000-0000-0000-0000-000000000000'::uuid), kind, cause, (coalesce(mailed_at, opened_at)))
    WHERE is_mailed;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(CHANGES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX alerts_mailed; ALTER TABLE alerts DROP mailed_at');
}
