/** Links that are sent by email: invitations and password resets. Also lets one-time passwords expire. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Links with which a person can set the password once. Only the SHA-256 of their token is stored.
    CREATE TABLE mail_links (
      token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
      user_id uuid NOT NULL REFERENCES users,
      kind text NOT NULL CHECK (kind IN ('invitation', 'password_reset')),
      -- The password when the link was made: changing the password makes the link invalid.
      password_hash text NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX mail_links_user ON mail_links (user_id);
    CREATE INDEX mail_links_expiry ON mail_links (expires_at);

    -- A one-time password expires 72 hours after this time.
    ALTER TABLE users ADD COLUMN password_set_at timestamptz NOT NULL DEFAULT now();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE users DROP COLUMN password_set_at;
    DROP TABLE mail_links;
  `);
}
