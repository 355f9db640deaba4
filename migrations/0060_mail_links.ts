/** Links by mail: invitations and lost passwords. One-time passwords end. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A link that lets its holder set the person's password, once. Only the SHA-256 of its token is stored.
    CREATE TABLE mail_links (
      token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
      user_id uuid NOT NULL REFERENCES users,
      kind text NOT NULL CHECK (kind IN ('invitation', 'password_reset')),
      -- The password when the link was made: another one ends the link.
      password_hash text NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX mail_links_user ON mail_links (user_id);
    CREATE INDEX mail_links_expiry ON mail_links (expires_at);

    -- A one-time password ends 72 hours later.
    ALTER TABLE users ADD COLUMN password_set_at timestamptz NOT NULL DEFAULT now();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE users DROP COLUMN password_set_at;
    DROP TABLE mail_links;
  `);
}
