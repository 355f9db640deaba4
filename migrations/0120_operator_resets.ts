/** Requests to reset the sign-in of an operator, which a second operator confirms. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE operator_resets (
      id uuid PRIMARY KEY,
      user_id uuid NOT NULL REFERENCES users,
      kind text NOT NULL CHECK (kind IN ('factors', 'password')),
      requested_by uuid NOT NULL REFERENCES users,
      requested_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      -- The part of the new password that the requester was shown. Null for a reset of second factors.
      part_sealed text,
      CHECK ((kind = 'password') = (part_sealed IS NOT NULL))
    );
    -- Only one request of a kind is pending for a person.
    CREATE UNIQUE INDEX operator_resets_person ON operator_resets (user_id, kind);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE operator_resets');
}
