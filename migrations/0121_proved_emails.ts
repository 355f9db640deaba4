/** People who have shown that their email address is theirs (R206). */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- When the person used a link of a mail, or the identity provider of the account named the address.
    ALTER TABLE users ADD COLUMN email_proved_at timestamptz;

    -- People who did so before this migration.
    UPDATE users SET email_proved_at = proved.at FROM (
      SELECT user_id, min(at) AS at FROM (
        SELECT target AS user_id, at FROM audit_entries
        WHERE action IN ('member.accept', 'member.resetPassword') AND after->>'by' = 'mail'
        UNION ALL
        SELECT user_id::text, checked_at FROM single_sign_on_identities
      ) AS proofs GROUP BY user_id
    ) AS proved WHERE proved.user_id = users.id::text;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE users DROP COLUMN email_proved_at');
}
