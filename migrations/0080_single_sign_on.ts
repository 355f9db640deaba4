/** Single sign-on by OpenID Connect: of the operators, and of each account. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE single_sign_on (
      account_id uuid PRIMARY KEY REFERENCES accounts,
      issuer text NOT NULL,
      client_id text NOT NULL,
      client_secret_sealed text NOT NULL,
      domain text NOT NULL,
      domain_token text NOT NULL,
      domain_proved_at timestamptz,
      role_mapping jsonb NOT NULL,
      required boolean NOT NULL,
      break_glass_user_id uuid NOT NULL REFERENCES users
    );
    -- Only one account can have proved a domain.
    CREATE UNIQUE INDEX single_sign_on_domain ON single_sign_on (domain) WHERE domain_proved_at IS NOT NULL;

    -- A person at a provider. Operators have no account.
    CREATE TABLE single_sign_on_identities (
      id uuid PRIMARY KEY,
      account_id uuid REFERENCES accounts,
      issuer text NOT NULL,
      subject text NOT NULL,
      user_id uuid NOT NULL REFERENCES users,
      manages_role boolean NOT NULL,
      refresh_token_sealed text,
      -- When the provider last said that the person is there. Sessions end when this is too long ago.
      checked_at timestamptz NOT NULL,
      check_at timestamptz NOT NULL,
      -- When the provider said that the person is gone.
      ended_at timestamptz
    );
    CREATE UNIQUE INDEX single_sign_on_identities_subject ON single_sign_on_identities
      (coalesce(account_id, '00000000-0000-0000-0000-000000000000'), issuer, subject);
    CREATE INDEX single_sign_on_identities_user ON single_sign_on_identities (user_id);
    CREATE INDEX single_sign_on_identities_check ON single_sign_on_identities (check_at)
      WHERE ended_at IS NULL AND refresh_token_sealed IS NOT NULL;

    -- Sign-ins that are under way at a provider. Each is answered once.
    CREATE TABLE single_sign_on_requests (
      state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
      browser_hash bytea NOT NULL CHECK (length(browser_hash) = 32),
      account_id uuid REFERENCES accounts,
      issuer text NOT NULL,
      nonce text NOT NULL,
      code_verifier text NOT NULL,
      next text NOT NULL,
      session_hash bytea,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX single_sign_on_requests_expiry ON single_sign_on_requests (expires_at);

    ALTER TABLE sessions ADD COLUMN identity_id uuid REFERENCES single_sign_on_identities ON DELETE CASCADE;
    CREATE INDEX sessions_identity ON sessions (identity_id) WHERE identity_id IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM sessions WHERE identity_id IS NOT NULL;
    ALTER TABLE sessions DROP COLUMN identity_id;
    DROP TABLE single_sign_on_requests;
    DROP TABLE single_sign_on_identities;
    DROP TABLE single_sign_on;
  `);
}
