import type { Knex } from 'knex';

/** Sender IDs and email domains under which accounts send (R430, R434). */
const TABLES = `
  CREATE TABLE senders (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL,
    reviewed_at timestamptz,
    verified_at timestamptz,
    checked_at timestamptz,
    environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
    channel text NOT NULL CHECK (channel IN ('sms', 'email')),
    status text NOT NULL CHECK (status IN ('pending', 'approved', 'rejected')),
    name text NOT NULL,
    -- The name in a form that is the same for all names that look alike (R433).
    look text NOT NULL,
    purposes text[] NOT NULL,
    use_case text,
    company text,
    note text,
    -- The random part of the DNS record that proves a domain.
    token text,
    registrations jsonb NOT NULL DEFAULT '[]',
    -- The TXT records that the last check found, by kind.
    found jsonb NOT NULL DEFAULT '{}',
    UNIQUE (account_id, environment, channel, look)
  );
  CREATE INDEX senders_newest ON senders (account_id, environment, id);
  CREATE INDEX senders_of_all ON senders (environment, id);
  CREATE INDEX senders_approved ON senders (channel, look)
    WHERE status = 'approved' AND environment = 'production';
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE senders');
}
