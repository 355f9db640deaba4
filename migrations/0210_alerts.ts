import type { Knex } from 'knex';

/**
 * Alerts and their rules (R480). `account_id` is null for those of the operators. The indexes use the UUID of zeros for
 * them, because null values are never equal in an index.
 */
const TABLES = `
  CREATE TABLE alert_rules (
    account_id uuid REFERENCES accounts,
    changed_at timestamptz NOT NULL,
    -- Null: the default of the kind.
    threshold double precision,
    is_enabled boolean NOT NULL,
    kind text NOT NULL,
    -- The people who get mails. Null: the default.
    mail_to uuid[]
  );
  CREATE UNIQUE INDEX alert_rules_of ON alert_rules
    (coalesce(account_id, '00000000-0000-0000-0000-000000000000'::uuid), kind);

  CREATE TABLE alerts (
    id uuid PRIMARY KEY,
    account_id uuid REFERENCES accounts,
    opened_at timestamptz NOT NULL,
    resolved_at timestamptz,
    -- False: a mail about the same cause was sent shortly before (R482).
    is_mailed boolean NOT NULL,
    kind text NOT NULL,
    -- What the alert is about, such as the id of a webhook.
    cause text NOT NULL,
    summary text NOT NULL,
    detail jsonb NOT NULL
  );
  CREATE UNIQUE INDEX alerts_open ON alerts
    (coalesce(account_id, '00000000-0000-0000-0000-000000000000'::uuid), kind, cause) WHERE resolved_at IS NULL;
  CREATE INDEX alerts_newest ON alerts
    (coalesce(account_id, '00000000-0000-0000-0000-000000000000'::uuid), id);
  CREATE INDEX alerts_resolved ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE alerts; DROP TABLE alert_rules');
}
