/** Second factors, sessions that people can list, and access tokens. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Second factors. A TOTP secret is sealed. last_step is the time step of the last code that was accepted.
    CREATE TABLE second_factors (
      id uuid PRIMARY KEY,
      user_id uuid NOT NULL REFERENCES users,
      kind text NOT NULL CHECK (kind IN ('totp')),
      name text NOT NULL,
      secret_sealed text NOT NULL,
      last_step bigint NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL,
      -- The factor is required only after the person has entered a code of it once.
      confirmed_at timestamptz,
      last_used_at timestamptz
    );
    CREATE INDEX second_factors_user ON second_factors (user_id);

    -- Codes that replace a lost second factor, each usable once. Only their SHA-256 is stored.
    CREATE TABLE recovery_codes (
      user_id uuid NOT NULL REFERENCES users,
      code_hash bytea NOT NULL CHECK (length(code_hash) = 32),
      used_at timestamptz,
      PRIMARY KEY (user_id, code_hash)
    );

    -- Sign-ins with the right password that wait for the second factor. Only the SHA-256 of their token is stored.
    CREATE TABLE sign_in_challenges (
      token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
      user_id uuid NOT NULL REFERENCES users,
      -- The password that was entered: changing the password makes the challenge invalid.
      password_hash text NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX sign_in_challenges_expiry ON sign_in_challenges (expires_at);

    ALTER TABLE sessions
      ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
      ADD COLUMN last_seen_at timestamptz NOT NULL DEFAULT now(),
      -- The session ends at this time, even if it is used until then.
      ADD COLUMN ends_at timestamptz NOT NULL DEFAULT now() + interval '7 days',
      -- When the person last entered the password or a second factor.
      ADD COLUMN verified_at timestamptz NOT NULL DEFAULT now(),
      ADD COLUMN address text NOT NULL DEFAULT '',
      ADD COLUMN user_agent text NOT NULL DEFAULT '';
    CREATE UNIQUE INDEX sessions_id ON sessions (id);

    ALTER TABLE accounts ADD COLUMN require_second_factor boolean NOT NULL DEFAULT false;

    -- Tokens with which programs act as a person. Only their SHA-256 is stored.
    CREATE TABLE access_tokens (
      id uuid PRIMARY KEY,
      user_id uuid NOT NULL REFERENCES users,
      name text NOT NULL,
      token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
      permissions text[] NOT NULL CHECK (cardinality(permissions) > 0),
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      last_used_at timestamptz,
      revoked_at timestamptz
    );
    CREATE INDEX access_tokens_user ON access_tokens (user_id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE access_tokens, sign_in_challenges, recovery_codes, second_factors;
    ALTER TABLE accounts DROP COLUMN require_second_factor;
    ALTER TABLE sessions
      DROP COLUMN id, DROP COLUMN last_seen_at, DROP COLUMN ends_at, DROP COLUMN verified_at,
      DROP COLUMN address, DROP COLUMN user_agent;
  `);
}
