import type { Knex } from 'knex';

/**
 * The foundation: accounts and their money, people, keys, messages with recipients, events, webhooks with
 * deliveries and attempts, idempotency, audit. Statuses and kinds are text with a CHECK, so that a new value
 * is a constraint swap and not a type change; invariants that money rests on are held here, not only in code.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE plans (
      id uuid PRIMARY KEY,
      name text NOT NULL UNIQUE,
      per_minute integer NOT NULL CHECK (per_minute > 0),
      per_second integer NOT NULL CHECK (per_second >= 0),
      webhooks_per_minute integer NOT NULL CHECK (webhooks_per_minute > 0),
      created_at timestamptz NOT NULL
    );

    CREATE TABLE accounts (
      id uuid PRIMARY KEY,
      name text NOT NULL,
      email text NOT NULL,
      currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
      balance_minor bigint NOT NULL DEFAULT 0 CHECK (balance_minor >= 0),
      ledger_seq bigint NOT NULL DEFAULT 0,
      sms_seq bigint NOT NULL DEFAULT 0,
      email_seq bigint NOT NULL DEFAULT 0,
      push_seq bigint NOT NULL DEFAULT 0,
      whatsapp_seq bigint NOT NULL DEFAULT 0,
      plan_id uuid REFERENCES plans,
      created_at timestamptz NOT NULL
    ) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

    -- The feed's counter stands apart from the account's row: sends lock one, outcomes the other.
    CREATE TABLE event_feeds (
      account_id uuid PRIMARY KEY REFERENCES accounts,
      last_seq bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

    CREATE TABLE users (
      id uuid PRIMARY KEY,
      account_id uuid REFERENCES accounts,
      email text NOT NULL,
      password_hash text NOT NULL,
      role text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER', 'OPERATOR')),
      must_change_password boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL,
      CHECK ((role = 'OPERATOR') = (account_id IS NULL))
    );
    CREATE UNIQUE INDEX users_email ON users (lower(email));
    CREATE INDEX users_account ON users (account_id);

    CREATE TABLE prices (
      id uuid PRIMARY KEY,
      currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
      channel text NOT NULL CHECK (channel IN ('sms', 'email', 'push', 'whatsapp')),
      prefix text NOT NULL CHECK (prefix ~ '^[0-9]*$'),
      amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
      updated_at timestamptz NOT NULL,
      UNIQUE (currency, channel, prefix)
    );

    CREATE TABLE api_keys (
      key_id text PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{16}$'),
      account_id uuid NOT NULL REFERENCES accounts,
      name text NOT NULL,
      secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
      scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
      environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
      enable_hmac boolean NOT NULL DEFAULT false,
      signing_secret_sealed text,
      ip_allowlist text[] NOT NULL DEFAULT '{}',
      per_minute integer CHECK (per_minute > 0),
      per_second integer CHECK (per_second >= 0),
      created_by text NOT NULL,
      created_at timestamptz NOT NULL,
      expires_at timestamptz,
      last_used_at timestamptz,
      revoked_at timestamptz,
      CHECK (enable_hmac = (signing_secret_sealed IS NOT NULL))
    );
    CREATE INDEX api_keys_account ON api_keys (account_id, created_at DESC, key_id);

    CREATE TABLE messages (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      seq bigint NOT NULL,
      cost_minor bigint NOT NULL CHECK (cost_minor >= 0),
      unit_price_minor bigint NOT NULL CHECK (unit_price_minor >= 0),
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      scheduled_for timestamptz,
      invalid_skipped integer NOT NULL DEFAULT 0,
      duplicates_removed integer NOT NULL DEFAULT 0,
      channel text NOT NULL CHECK (channel IN ('sms', 'email', 'push', 'whatsapp')),
      environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
      status text NOT NULL CHECK (status IN ('pending', 'sent', 'delivered', 'failed')),
      status_reason text,
      currency text NOT NULL,
      api_key_id text REFERENCES api_keys,
      user_id uuid REFERENCES users,
      sender text NOT NULL,
      content text NOT NULL,
      payload jsonb,
      UNIQUE (account_id, channel, seq)
    ) WITH (fillfactor = 85);

    CREATE TABLE recipients (
      message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
      account_id uuid NOT NULL,
      sent_at timestamptz,
      delivered_at timestamptz,
      failed_at timestamptz,
      read_at timestamptz,
      cost_minor bigint NOT NULL CHECK (cost_minor >= 0),
      position smallint NOT NULL CHECK (position >= 0),
      address text NOT NULL,
      status text NOT NULL CHECK (status IN ('pending', 'sent', 'delivered', 'failed')),
      provider text,
      sid text,
      error_code text,
      error_message text,
      PRIMARY KEY (message_id, position),
      CHECK (status <> 'failed' OR error_code IS NOT NULL),
      CHECK (status NOT IN ('sent', 'delivered') OR sent_at IS NOT NULL)
    ) WITH (fillfactor = 80);

    -- Which recipient (and part) a provider's id stands for; kept only as long as reports may come.
    CREATE TABLE provider_sids (
      provider text NOT NULL,
      sid_key text NOT NULL,
      account_id uuid NOT NULL,
      message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
      position smallint NOT NULL,
      part smallint NOT NULL DEFAULT 0,
      delivered boolean NOT NULL DEFAULT false
    );
    CREATE INDEX provider_sids_sid ON provider_sids (sid_key, provider);
    CREATE INDEX provider_sids_message ON provider_sids (message_id);

    -- Reports whose sid nobody knows yet: they came before the answer to the submit (decision 15).
    CREATE TABLE unmatched_reports (
      id uuid PRIMARY KEY,
      provider text NOT NULL,
      sid text NOT NULL,
      sid_keys text[] NOT NULL,
      report jsonb NOT NULL,
      received_at timestamptz NOT NULL
    );
    CREATE INDEX unmatched_reports_keys ON unmatched_reports USING gin (sid_keys);
    CREATE INDEX unmatched_reports_received ON unmatched_reports (received_at);

    -- What the recipients' own columns cannot say: retries, late and repeated reports.
    CREATE TABLE timeline_notes (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
      position smallint NOT NULL,
      at timestamptz NOT NULL,
      status text NOT NULL,
      detail text NOT NULL
    );
    CREATE INDEX timeline_notes_message ON timeline_notes (message_id);

    CREATE TABLE ledger_entries (
      account_id uuid NOT NULL REFERENCES accounts,
      seq bigint NOT NULL,
      amount_minor bigint NOT NULL,
      balance_after_minor bigint NOT NULL CHECK (balance_after_minor >= 0),
      created_at timestamptz NOT NULL,
      message_id uuid,
      position smallint,
      kind text NOT NULL CHECK (kind IN ('opening', 'topup', 'charge', 'refund')),
      reference text,
      actor text,
      PRIMARY KEY (account_id, seq),
      CHECK (kind <> 'charge' OR (amount_minor < 0 AND message_id IS NOT NULL)),
      CHECK (kind <> 'refund' OR (amount_minor > 0 AND message_id IS NOT NULL AND position IS NOT NULL)),
      CHECK (kind NOT IN ('opening', 'topup') OR (amount_minor > 0 AND message_id IS NULL AND actor IS NOT NULL))
    );
    CREATE UNIQUE INDEX ledger_one_refund ON ledger_entries (message_id, position) WHERE kind = 'refund';
    CREATE UNIQUE INDEX ledger_reference ON ledger_entries (account_id, reference) WHERE reference IS NOT NULL;
    CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
    CREATE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE ON ledger_entries
      FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();

    CREATE TABLE events (
      account_id uuid NOT NULL REFERENCES accounts,
      seq bigint NOT NULL,
      message_id uuid,
      recorded_at timestamptz NOT NULL,
      position smallint,
      type text NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (account_id, seq)
    );
    -- "Each fires once" (decision 16): a second event of a type for a recipient cannot be stored.
    CREATE UNIQUE INDEX events_once ON events (message_id, position, type) WHERE message_id IS NOT NULL;

    CREATE TABLE webhooks (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      url text NOT NULL,
      events text[] NOT NULL CHECK (cardinality(events) > 0),
      description text,
      is_active boolean NOT NULL DEFAULT true,
      disabled_reason text,
      failing_since timestamptz,
      max_retries integer NOT NULL CHECK (max_retries BETWEEN 0 AND 5),
      secret_sealed text NOT NULL,
      created_at timestamptz NOT NULL,
      deleted_at timestamptz
    );
    CREATE INDEX webhooks_account ON webhooks (account_id, created_at DESC) WHERE deleted_at IS NULL;

    CREATE TABLE webhook_deliveries (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts,
      webhook_id uuid NOT NULL REFERENCES webhooks,
      event_seq bigint NOT NULL,
      created_at timestamptz NOT NULL,
      next_retry_at timestamptz,
      attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      http_status integer,
      event text NOT NULL,
      status text NOT NULL CHECK (status IN ('pending', 'retrying', 'success', 'failed', 'canceled')),
      response_body text,
      error_message text,
      FOREIGN KEY (account_id, event_seq) REFERENCES events (account_id, seq) ON DELETE CASCADE,
      CHECK ((status = 'retrying') = (next_retry_at IS NOT NULL))
    ) WITH (fillfactor = 80);
    CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id DESC);
    CREATE INDEX webhook_deliveries_event ON webhook_deliveries (account_id, event_seq);

    CREATE TABLE webhook_attempts (
      delivery_id uuid NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
      account_id uuid NOT NULL,
      at timestamptz NOT NULL,
      number integer NOT NULL CHECK (number > 0),
      http_status integer,
      duration_ms integer NOT NULL,
      error_message text,
      PRIMARY KEY (delivery_id, number)
    );

    CREATE TABLE idempotency_records (
      account_id uuid NOT NULL REFERENCES accounts,
      environment text NOT NULL,
      route text NOT NULL,
      key text NOT NULL,
      message_id uuid NOT NULL,
      status_code integer NOT NULL,
      body text NOT NULL,
      expires_at timestamptz NOT NULL,
      PRIMARY KEY (account_id, environment, route, key)
    );
    CREATE INDEX idempotency_expiry ON idempotency_records (expires_at);

    CREATE TABLE audit_entries (
      id uuid PRIMARY KEY,
      account_id uuid REFERENCES accounts,
      at timestamptz NOT NULL,
      actor text NOT NULL,
      action text NOT NULL,
      target text NOT NULL,
      before jsonb,
      after jsonb
    );
    CREATE INDEX audit_account ON audit_entries (account_id, id DESC);

    -- How far the periodic sweeps have come (decision 14); one row a sweep.
    CREATE TABLE sweep_marks (
      name text PRIMARY KEY,
      last_id uuid NOT NULL
    );
  `);
  await knex('prices').insert(
    ['sms', 'email', 'push', 'whatsapp'].map((channel, index) => ({
      id: `01900000-0000-7000-8000-00000000000${index}`,
      currency: 'UGX',
      channel,
      prefix: '',
      amount_minor: channel === 'sms' ? 30 : 0,
      updated_at: knex.fn.now(),
    })),
  );
}

/** Removes everything that `up` made. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS sweep_marks, audit_entries, idempotency_records, webhook_attempts, webhook_deliveries,
      webhooks, events, ledger_entries, timeline_notes, unmatched_reports, provider_sids, recipients, messages,
      api_keys, prices, users, event_feeds, accounts, plans CASCADE;
    DROP FUNCTION IF EXISTS ledger_is_append_only();
  `);
}
