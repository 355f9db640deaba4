/** Passkeys: as second factors, and alone for signing in. */
import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE second_factors
      DROP CONSTRAINT second_factors_kind_check,
      ADD CONSTRAINT second_factors_kind_check CHECK (kind IN ('totp', 'passkey')),
      ALTER COLUMN secret_sealed DROP NOT NULL,
      ADD COLUMN credential_id bytea UNIQUE,
      ADD COLUMN public_key bytea,
      -- A passkey's last_step is its signature counter.
      ADD CONSTRAINT second_factors_parts CHECK (
        CASE kind WHEN 'totp' THEN secret_sealed IS NOT NULL ELSE credential_id IS NOT NULL AND public_key IS NOT NULL END);

    -- Challenges that an authenticator signs, each usable once. Without user_id, the challenge is for a sign-in or a
    -- confirmation.
    CREATE TABLE passkey_challenges (
      challenge_hash bytea PRIMARY KEY CHECK (length(challenge_hash) = 32),
      user_id uuid REFERENCES users,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id);
    CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE passkey_challenges;
    DELETE FROM second_factors WHERE kind = 'passkey';
    ALTER TABLE second_factors
      DROP CONSTRAINT second_factors_parts,
      DROP COLUMN credential_id, DROP COLUMN public_key,
      ALTER COLUMN secret_sealed SET NOT NULL,
      DROP CONSTRAINT second_factors_kind_check,
      ADD CONSTRAINT second_factors_kind_check CHECK (kind IN ('totp'));
  `);
}
