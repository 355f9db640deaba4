import type { Knex } from 'knex';

/**
 * What the GraphQL API stands on: sessions, failed sign-ins (shared by all processes), people who left, prices set
 * by reference, and counters of messages by hour.
 *
 * The transactions that accept messages and move their status add to `usage_deltas`, a row a batch and no lock
 * taken; a periodic task folds the deltas into `usage_hours`. A count is the sum over both, so it is never behind.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE users ADD COLUMN removed_at timestamptz;
    DROP INDEX users_email;
    CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE removed_at IS NULL;

    CREATE TABLE sessions (
      token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
      user_id uuid NOT NULL REFERENCES users,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE INDEX sessions_user ON sessions (user_id);
    CREATE INDEX sessions_expiry ON sessions (expires_at);

    CREATE TABLE sign_in_failures (
      attempt_id uuid NOT NULL,
      bucket text NOT NULL,
      at timestamptz NOT NULL,
      PRIMARY KEY (bucket, attempt_id)
    );
    CREATE INDEX sign_in_failures_at ON sign_in_failures (at);

    CREATE TABLE price_references (
      reference text PRIMARY KEY,
      currency text NOT NULL,
      channel text NOT NULL,
      prefix text NOT NULL,
      amount_minor bigint NOT NULL,
      set_at timestamptz NOT NULL
    );

    CREATE TABLE usage_hours (
      account_id uuid NOT NULL,
      hour timestamptz NOT NULL,
      channel text NOT NULL,
      environment text NOT NULL,
      status text NOT NULL,
      api_key_id text NOT NULL,
      messages bigint NOT NULL,
      cost_minor bigint NOT NULL,
      PRIMARY KEY (account_id, hour, channel, environment, status, api_key_id)
    ) WITH (fillfactor = 80);
    INSERT INTO usage_hours (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor)
    SELECT account_id, date_trunc('hour', created_at, 'UTC'), channel, environment, status,
      coalesce(api_key_id, ''), count(*), sum(cost_minor)
    FROM messages GROUP BY 1, 2, 3, 4, 5, 6;
    CREATE TABLE usage_deltas (LIKE usage_hours INCLUDING DEFAULTS)
      WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0);
  `);
}

/** Takes it all back; people who were removed are forgotten where nothing speaks of them. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS usage_deltas, usage_hours, price_references, sign_in_failures, sessions;
    UPDATE users SET email = email || '#removed-' || id WHERE removed_at IS NOT NULL;
    DROP INDEX IF EXISTS users_email;
    CREATE UNIQUE INDEX users_email ON users (lower(email));
    ALTER TABLE users DROP COLUMN IF EXISTS removed_at;
  `);
}
