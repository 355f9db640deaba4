import type { Knex } from 'knex';

/** Suppressed addresses by account and environment (R377), and the purpose of each message (R376). */
const TABLES = `
  CREATE TABLE suppressions (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL,
    environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
    channel text NOT NULL CHECK (channel IN ('sms', 'email', 'whatsapp')),
    scope text NOT NULL CHECK (scope IN ('marketing', 'all')),
    source text NOT NULL CHECK (source IN ('api', 'person', 'stop')),
    address text NOT NULL,
    reason text,
    UNIQUE (account_id, environment, channel, address)
  );
  CREATE INDEX suppressions_newest ON suppressions (account_id, environment, id);
  ALTER TABLE messages ADD purpose text NOT NULL DEFAULT 'transactional'
      CHECK (purpose IN ('transactional', 'otp', 'marketing')),
    ADD suppressed_skipped int NOT NULL DEFAULT 0;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE suppressions; ALTER TABLE messages DROP purpose, DROP suppressed_skipped');
}
