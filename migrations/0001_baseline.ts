import type { Knex } from 'knex';

/**
 * The whole schema, grouped by noun. Statuses and kinds are text with a CHECK, so a new value swaps a constraint and
 * changes no type. Columns stand in the order that wastes no bytes on alignment.
 */

/** For tables that every message writes: vacuum and analyze early, at 2 % of the rows instead of 20 %. */
const BUSY =
  'autovacuum_analyze_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.02, autovacuum_vacuum_insert_threshold=20000, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=5000';

/** Plans set request limits; prices set what a recipient costs. */
const PRICES = `
-- Request limits that an operator gives to accounts.
CREATE TABLE plans (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  per_minute integer NOT NULL CHECK (per_minute > 0),
  per_second integer NOT NULL CHECK (per_second >= 0),
  webhooks_per_minute integer NOT NULL CHECK (webhooks_per_minute > 0),
  created_at timestamptz NOT NULL,
  session_per_minute integer CHECK (session_per_minute > 0)
);

-- The price of one unit, in minor units, by currency, channel and number prefix. The longest prefix wins.
CREATE TABLE prices (
  id uuid PRIMARY KEY,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  channel text NOT NULL CHECK (channel IN ('sms', 'email', 'push', 'whatsapp')),
  prefix text NOT NULL CHECK (prefix ~ '^[0-9]*$'),
  amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
  updated_at timestamptz NOT NULL,
  UNIQUE (currency, channel, prefix)
);

-- The caller's reference of a price change. A retry with the same reference changes nothing.
CREATE TABLE price_references (
  reference text PRIMARY KEY,
  currency text NOT NULL,
  channel text NOT NULL,
  prefix text NOT NULL,
  amount_minor bigint NOT NULL,
  set_at timestamptz NOT NULL
);
`;

/** Accounts and the people who sign in. */
const ACCOUNTS = String.raw`
-- The terms under which a full-text index finds parts of a text: its trigrams, and its tags.
CREATE FUNCTION search_terms(owner text, body text, tags text[]) RETURNS tsvector LANGUAGE plpgsql  IMMUTABLE PARALLEL SAFE STRICT AS $function$
    DECLARE
      mark CONSTANT text := chr(1);
      cleaned CONSTANT text := replace(body, mark, ' ');
      letters CONSTANT text := mark || right(owner, 1) || '\&';
      named CONSTANT text := mark || '#' || owner;
    BEGIN
      RETURN array_to_tsvector(array_remove(string_to_array(
        regexp_replace(cleaned, '.{1,3}', letters, 'g') || regexp_replace(substr(cleaned, 2), '.{1,3}', letters, 'g')
          || regexp_replace(substr(cleaned, 3), '.{1,3}', letters, 'g')
          || named || CASE WHEN tags = '{}' THEN '' ELSE named || array_to_string(tags, named) END,
        mark), ''));
    END $function$;

-- The query that matches what search_terms made.
CREATE FUNCTION search_query(owner text, parts text[], tag text) RETURNS tsquery LANGUAGE sql  IMMUTABLE PARALLEL SAFE AS $function$
    SELECT string_agg(condition, ' & ')::tsquery FROM (
      SELECT '(' || string_agg(terms, ' | ') || ')' AS condition FROM (
        SELECT string_agg(
          '''' || replace(replace(right(owner, 1) || substr(part, place, 3), '\', '\\'), '''', '''''') || ''''
            || CASE WHEN length(part) < 3 THEN ':*' ELSE '' END, ' & ') AS terms
        FROM (SELECT left(replace(part, chr(1), ' '), 200) AS part FROM unnest(parts) AS given (part)) AS cleaned,
          generate_series(1, greatest(length(part) - 2, 1)) AS place
        WHERE part <> '' GROUP BY part) AS each_part
      UNION ALL SELECT '''#' || replace(replace(
        owner || coalesce(split_part(tag, chr(1), 1), ''), '\', '\\'), '''', '''''') || ''''
    ) AS conditions $function$;

-- Messages and money refer to these rows, so nothing deletes them.
CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        RAISE EXCEPTION 'rows of % are never deleted and keep their key: messages and money refer to them', TG_TABLE_NAME
          USING ERRCODE = 'restrict_violation';
      END $function$;

-- An account, its balance, and the last numbers of its ledger and of each channel's messages.
CREATE TABLE accounts (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL,
  currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  balance_minor bigint DEFAULT 0 NOT NULL CHECK (balance_minor >= 0),
  ledger_seq bigint DEFAULT 0 NOT NULL,
  sms_seq bigint DEFAULT 0 NOT NULL,
  email_seq bigint DEFAULT 0 NOT NULL,
  push_seq bigint DEFAULT 0 NOT NULL,
  whatsapp_seq bigint DEFAULT 0 NOT NULL,
  plan_id uuid REFERENCES plans,
  created_at timestamptz NOT NULL,
  last_accepted_at timestamptz,
  content_days integer CHECK (content_days > 0),
  message_days integer,
  CHECK (message_days >= COALESCE(content_days, 1))
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500, fillfactor=50);
CREATE INDEX accounts_search ON accounts USING gin (search_terms('', ((lower(name) || '
'::text) || lower(email)), '{}'::text[]));
CREATE TRIGGER never_deleted BEFORE DELETE OR UPDATE OF id ON accounts FOR EACH ROW EXECUTE FUNCTION refuse_deletion();

-- People of an account, and operators, who have none.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  account_id uuid REFERENCES accounts,
  email text NOT NULL,
  password_hash text NOT NULL,
  role text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER', 'OPERATOR')),
  must_change_password boolean DEFAULT false NOT NULL,
  created_at timestamptz NOT NULL,
  removed_at timestamptz,
  invited_at timestamptz,
  accepted_at timestamptz DEFAULT now(),
  CHECK ((role = 'OPERATOR') = (account_id IS NULL))
);
CREATE INDEX users_account ON users (account_id);
CREATE UNIQUE INDEX users_account_email ON users (account_id, lower(email)) WHERE (removed_at IS NULL);
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE ((removed_at IS NULL) AND (invited_at IS NULL));
CREATE INDEX users_sign_in ON users (lower(email)) WHERE (removed_at IS NULL);
CREATE TRIGGER never_deleted BEFORE DELETE OR UPDATE OF id ON users FOR EACH ROW EXECUTE FUNCTION refuse_deletion();

-- A signed-in person. Only the SHA-256 of the token is stored.
CREATE TABLE sessions (
  token_hash bytea CHECK (length(token_hash) = 32) PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_user ON sessions (user_id);

-- Failed sign-ins, counted to lock a person or an address out.
CREATE TABLE sign_in_failures (
  attempt_id uuid NOT NULL,
  bucket text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (bucket, attempt_id)
);
CREATE INDEX sign_in_failures_at ON sign_in_failures (at);
`;

/** API keys and what limits requests. */
const KEYS = `
-- Adds what a statement inserted or deleted to list_counts.
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        INSERT INTO list_counts (account_id, list, rows)
        SELECT account_id, TG_TABLE_NAME, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
        FROM changed WHERE account_id IS NOT NULL GROUP BY account_id ORDER BY account_id
        ON CONFLICT (account_id, list) DO UPDATE SET rows = list_counts.rows + excluded.rows;
        RETURN NULL;
      END $function$;

-- API keys. Only the SHA-256 of the secret is stored.
CREATE TABLE api_keys (
  key_id text CHECK (key_id ~ '^[0-9a-f]{16}$') PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts,
  name text NOT NULL,
  secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
  environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
  enable_hmac boolean DEFAULT false NOT NULL,
  signing_secret_sealed text,
  ip_allowlist text[] DEFAULT '{}' NOT NULL,
  per_minute integer CHECK (per_minute > 0),
  per_second integer CHECK (per_second >= 0),
  created_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  issued_by text,
  rotated_at timestamptz,
  CHECK (enable_hmac = (signing_secret_sealed IS NOT NULL))
);
CREATE INDEX api_keys_account ON api_keys (account_id, created_at DESC, key_id);
CREATE INDEX api_keys_created_by ON api_keys (created_by);
CREATE INDEX api_keys_issued_by ON api_keys (issued_by);
CREATE TRIGGER api_keys_added AFTER INSERT ON api_keys
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER api_keys_taken AFTER DELETE ON api_keys
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER never_deleted BEFORE DELETE OR UPDATE OF key_id ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse_deletion();

-- When a key last used each of its scopes.
CREATE TABLE api_key_scope_uses (
  key_id text NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  scope text NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (key_id, scope)
) WITH (fillfactor=80);

-- Request signatures that were used. Logged: after a crash of the server a signature must not pass twice.
CREATE TABLE spent_signatures (
  retained_until timestamptz NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  signature bytea NOT NULL,
  PRIMARY KEY (key_id, signature)
);
CREATE INDEX spent_signatures_retained ON spent_signatures (retained_until);

-- The requests of the last minute by bucket. Unlogged: a crash of the server may forget them.
CREATE UNLOGGED TABLE rate_limits (
  checked_at bigint NOT NULL,
  per_minute integer NOT NULL,
  per_second integer NOT NULL,
  asked integer NOT NULL,
  granted integer NOT NULL,
  bucket text COLLATE "C" PRIMARY KEY,
  hits bigint[] NOT NULL
) WITH (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=500, fillfactor=20, toast.autovacuum_vacuum_cost_delay=0, toast.autovacuum_vacuum_scale_factor=0.05, toast.autovacuum_vacuum_threshold=500, toast.vacuum_truncate=off, vacuum_truncate=off);
ALTER TABLE rate_limits ALTER hits SET STORAGE EXTERNAL, ALTER hits SET STATISTICS 0;
`;

/** Messages and their recipients. */
const MESSAGES = `
-- The hour of a UUIDv7.
CREATE FUNCTION uuid_hour(id uuid) RETURNS timestamp with time zone LANGUAGE sql  IMMUTABLE PARALLEL SAFE STRICT AS $function$
      SELECT to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 3600000 * 3600) $function$;

-- The smallest UUIDv7 of a moment.
CREATE FUNCTION id_at(moment timestamp with time zone) RETURNS uuid LANGUAGE sql  IMMUTABLE PARALLEL SAFE STRICT AS $function$
      SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $function$;

-- A message as it was accepted. Its status is computed from its recipients.
CREATE TABLE messages (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  cost_minor bigint NOT NULL CHECK (cost_minor >= 0),
  unit_price_minor bigint NOT NULL CHECK (unit_price_minor >= 0),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  scheduled_for timestamptz,
  invalid_skipped integer DEFAULT 0 NOT NULL,
  duplicates_removed integer DEFAULT 0 NOT NULL,
  channel text NOT NULL CHECK (channel IN ('sms', 'email', 'push', 'whatsapp')),
  environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
  status_reason text,
  currency text NOT NULL,
  api_key_id text,
  user_id uuid,
  sender text NOT NULL,
  content text NOT NULL,
  payload jsonb,
  bulk jsonb,
  UNIQUE (account_id, channel, seq)
) WITH (${BUSY});
ALTER TABLE messages ALTER bulk SET STORAGE EXTERNAL;
CREATE INDEX messages_push_to ON messages USING gin (((COALESCE((payload -> 'userIds'), '[]'::jsonb) || COALESCE((payload -> 'deviceIds'), '[]'::jsonb))) jsonb_path_ops) WHERE (channel = 'push');
CREATE INDEX messages_sandbox ON messages (account_id, channel, seq) WHERE (environment = 'sandbox');
CREATE INDEX messages_scheduled ON messages (scheduled_for, id) WHERE (scheduled_for IS NOT NULL);
CREATE FUNCTION delete_rows_of_messages() RETURNS trigger LANGUAGE plpgsql AS $function$
    BEGIN
      DELETE FROM recipients WHERE message_id = ANY (ARRAY(SELECT id FROM gone));
DELETE FROM provider_sids WHERE message_id = ANY (ARRAY(SELECT id FROM gone));
DELETE FROM whatsapp_writers WHERE message_id = ANY (ARRAY(SELECT id FROM gone));
      RETURN NULL;
    END $function$;
CREATE TRIGGER rows_of_messages AFTER DELETE ON messages
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_rows_of_messages();

-- A recipient's status goes only forward.
CREATE FUNCTION refuse_move() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        RAISE EXCEPTION 'recipient % of message % cannot go from % to %: a status goes only forward', OLD.position,
          OLD.message_id, OLD.status, NEW.status USING ERRCODE = 'integrity_constraint_violation';
      END $function$;

-- Recipients live in two partitions, because one that is settled never changes again (docs/decisions/0003).
CREATE TABLE recipients (
  message_id uuid NOT NULL,
  account_id uuid NOT NULL,
  sent_at timestamptz,
  delivered_at timestamptz,
  failed_at timestamptz,
  read_at timestamptz,
  cost_minor bigint NOT NULL CHECK (cost_minor >= 0),
  "position" smallint NOT NULL CHECK ("position" >= 0),
  address text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'sent', 'delivered', 'failed')),
  provider text,
  sid text,
  error_code text,
  error_message text,
  claimed boolean DEFAULT true NOT NULL,
  settled boolean DEFAULT false NOT NULL,
  attempts smallint,
  CHECK ((status <> 'failed') OR (error_code IS NOT NULL)),
  CHECK ((status NOT IN ('sent', 'delivered')) OR (sent_at IS NOT NULL))
) PARTITION BY LIST (settled);
CREATE TRIGGER only_forward BEFORE UPDATE OF status ON recipients
  FOR EACH ROW WHEN (((old.status <> new.status) AND (NOT (((old.status = 'pending'::text) AND (new.status = ANY (ARRAY['sent'::text, 'failed'::text]))) OR ((old.status = 'sent'::text) AND (new.status = ANY (ARRAY['delivered'::text, 'failed'::text]))))))) EXECUTE FUNCTION refuse_move();

-- Recipients that may still change. Pages stay 60 % empty, so that an update touches no index.
CREATE TABLE recipients_open PARTITION OF recipients (CONSTRAINT recipients_pkey PRIMARY KEY (message_id, position))
  FOR VALUES IN (false) WITH (${BUSY}, fillfactor=40);
CREATE INDEX recipients_to ON recipients_open (hashtextextended(address, uuid_hash_extended(account_id, (0)::bigint)));
CREATE FUNCTION note_failed_message() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        INSERT INTO failed_messages (account_id, channel, seq)
        SELECT m.account_id, m.channel, m.seq FROM messages m
        WHERE m.id = NEW.message_id AND NOT EXISTS (
            SELECT FROM failed_messages f WHERE f.account_id = m.account_id AND f.channel = m.channel AND f.seq = m.seq)
          AND NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.status <> 'failed')
        ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $function$;
CREATE TRIGGER recipient_failed AFTER UPDATE OF failed_at ON recipients_open
  FOR EACH ROW WHEN (((old.failed_at IS NULL) AND (new.failed_at IS NOT NULL))) EXECUTE FUNCTION note_failed_message();

-- Recipients that are delivered or failed. Pages are full.
CREATE TABLE recipients_settled PARTITION OF recipients (CONSTRAINT recipients_settled_pkey PRIMARY KEY (message_id, position))
  FOR VALUES IN (true) WITH (${BUSY});
CREATE INDEX recipients_settled_to ON recipients_settled (hashtextextended(address, uuid_hash_extended(account_id, (0)::bigint)));
CREATE TRIGGER recipient_failed AFTER INSERT ON recipients_settled
  FOR EACH ROW WHEN ((new.failed_at IS NOT NULL)) EXECUTE FUNCTION note_failed_message();

-- Messages of which all recipients failed: few among many, and listed often.
CREATE TABLE failed_messages (
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  channel text NOT NULL,
  PRIMARY KEY (account_id, channel, seq),
  FOREIGN KEY (account_id, channel, seq) REFERENCES messages(account_id, channel, seq) ON DELETE CASCADE
);

-- Maps the id that a provider gave to the recipient, while delivery reports may arrive.
CREATE TABLE provider_sids (
  provider text NOT NULL,
  sid_key text NOT NULL,
  account_id uuid NOT NULL,
  message_id uuid NOT NULL,
  "position" smallint NOT NULL,
  part smallint DEFAULT 0 NOT NULL,
  delivered boolean DEFAULT false NOT NULL,
  parts smallint DEFAULT 1 NOT NULL
) WITH (${BUSY});
CREATE INDEX provider_sids_message ON provider_sids (message_id);
CREATE INDEX provider_sids_sid ON provider_sids (sid_key, provider);

-- Delivery reports that arrived before the answer to the submit named their id.
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

-- How far the reports that a process kept on its disk are applied, so that each is applied once.
CREATE TABLE report_spools (
  spool uuid PRIMARY KEY,
  applied_to bigint NOT NULL,
  applied_at timestamptz NOT NULL
) WITH (fillfactor=50);

-- Retries, and late or repeated reports: what a recipient's own columns cannot say.
CREATE TABLE timeline_notes (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts,
  message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  "position" smallint NOT NULL,
  at timestamptz NOT NULL,
  status text NOT NULL,
  detail text NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=5000);
CREATE INDEX timeline_notes_message ON timeline_notes (message_id);

-- The first answer to each idempotency key.
CREATE TABLE idempotency_records (
  account_id uuid NOT NULL,
  environment text NOT NULL,
  route text NOT NULL,
  key text NOT NULL,
  message_id uuid NOT NULL,
  status_code integer NOT NULL,
  body text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, environment, route, key)
) WITH (${BUSY});
CREATE INDEX idempotency_expiry ON idempotency_records (expires_at);

-- Messages that people sent to the WhatsApp number.
CREATE TABLE inbound_messages (
  id uuid PRIMARY KEY,
  sent_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL,
  channel text NOT NULL CHECK (channel = 'whatsapp'),
  provider text NOT NULL,
  sid text NOT NULL,
  sender text NOT NULL,
  type text NOT NULL,
  content text,
  account_id uuid REFERENCES accounts
);
CREATE INDEX inbound_messages_owner ON inbound_messages (sender, account_id, channel, sent_at DESC);
CREATE UNIQUE INDEX inbound_messages_sid ON inbound_messages (provider, sid);

-- The account that last wrote to a WhatsApp number. An answer belongs to it.
CREATE TABLE whatsapp_writers (
  number text PRIMARY KEY,
  account_id uuid NOT NULL,
  message_id uuid NOT NULL,
  wrote_at timestamptz NOT NULL
);
CREATE INDEX whatsapp_writers_message ON whatsapp_writers (message_id);
`;

/** Money. The balance is in accounts; every change of it is an entry here. */
const LEDGER = `
-- A refund goes to the account of a failed recipient and is at most the recipient's cost.
CREATE FUNCTION check_refund() RETURNS trigger LANGUAGE plpgsql  SET enable_seqscan TO 'off' AS $function$
      BEGIN
        IF EXISTS (SELECT FROM messages WHERE id = NEW.message_id) AND NOT EXISTS (
          SELECT FROM recipients WHERE message_id = NEW.message_id AND position = NEW.position
            AND account_id = NEW.account_id AND status = 'failed' AND cost_minor >= NEW.amount_minor) THEN
          RAISE EXCEPTION 'recipient % of message % is refunded at most its cost, to its account, when it failed',
            NEW.position, NEW.message_id USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
      END $function$;

-- Append-only. seq has no gaps within an account.
CREATE TABLE ledger_entries (
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  amount_minor bigint NOT NULL,
  balance_after_minor bigint NOT NULL CHECK (balance_after_minor >= 0),
  created_at timestamptz NOT NULL,
  message_id uuid,
  "position" smallint,
  kind text NOT NULL CHECK (kind IN ('opening', 'topup', 'charge', 'refund')),
  reference text,
  actor text,
  CHECK ((kind <> 'charge') OR ((amount_minor < 0) AND (message_id IS NOT NULL))),
  CHECK ((kind <> 'refund') OR ((amount_minor > 0) AND (message_id IS NOT NULL) AND ("position" IS NOT NULL))),
  CHECK ((kind NOT IN ('opening', 'topup')) OR ((amount_minor > 0) AND (message_id IS NULL) AND (actor IS NOT NULL))),
  PRIMARY KEY (account_id, seq)
) WITH (${BUSY});
CREATE UNIQUE INDEX ledger_one_refund ON ledger_entries (message_id, "position") WHERE (kind = 'refund');
CREATE UNIQUE INDEX ledger_reference ON ledger_entries (account_id, reference) WHERE (reference IS NOT NULL);
CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $function$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $function$;
CREATE TRIGGER ledger_append_only BEFORE DELETE OR UPDATE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER ledger_never_emptied BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER refunded_at_most BEFORE INSERT ON ledger_entries
  FOR EACH ROW WHEN ((new.kind = 'refund'::text)) EXECUTE FUNCTION check_refund();

-- Refunds of recipients that a provider may still have taken. Due when no delivery report can arrive.
CREATE TABLE deferred_refunds (
  message_id uuid NOT NULL,
  "position" smallint NOT NULL,
  account_id uuid NOT NULL REFERENCES accounts,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  due_at timestamptz NOT NULL,
  PRIMARY KEY (message_id, "position")
);
CREATE INDEX deferred_refunds_due ON deferred_refunds (due_at);
CREATE TRIGGER refunded_at_most BEFORE INSERT OR UPDATE ON deferred_refunds FOR EACH ROW EXECUTE FUNCTION check_refund();

-- How far the check of the ledger has come. One row.
CREATE TABLE ledger_check (
  only_row boolean DEFAULT true CHECK (only_row) PRIMARY KEY,
  account_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
  entry_account_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
  entry_seq bigint DEFAULT 0 NOT NULL
);

-- Accounts whose balance the check found wrong.
CREATE TABLE ledger_mismatches (
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  found_at timestamptz DEFAULT now() NOT NULL,
  PRIMARY KEY (account_id, seq)
);
`;

/** Whom an account writes to. */
const PEOPLE = `
-- As count_rows; rows of the sandbox count as a list of their own.
CREATE FUNCTION count_rows_by_environment() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        INSERT INTO list_counts (account_id, list, rows)
        SELECT account_id, TG_TABLE_NAME || CASE environment WHEN 'sandbox' THEN '_sandbox' ELSE '' END,
          CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
        FROM changed GROUP BY account_id, environment ORDER BY account_id, environment
        ON CONFLICT (account_id, list) DO UPDATE SET rows = list_counts.rows + excluded.rows;
        RETURN NULL;
      END $function$;

-- Contacts of an account.
CREATE TABLE contacts (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  name text,
  phone text,
  email text,
  external_id text,
  tags text[] NOT NULL,
  attributes json NOT NULL,
  search_text text NOT NULL,
  environment text DEFAULT 'production' NOT NULL,
  CHECK (COALESCE(phone, email, external_id) IS NOT NULL),
  CONSTRAINT contacts_environment CHECK (environment IN ('production', 'sandbox'))
) WITH (fillfactor=50);
CREATE INDEX contacts_email ON contacts (account_id, lower(email)) WHERE (email IS NOT NULL);
CREATE UNIQUE INDEX contacts_external_id_of ON contacts (account_id, environment, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX contacts_of ON contacts (account_id, environment, id);
CREATE UNIQUE INDEX contacts_phone_of ON contacts (account_id, environment, phone) WHERE (phone IS NOT NULL);
CREATE INDEX contacts_search ON contacts USING gin (search_terms("right"((account_id)::text, 6), search_text, tags));
CREATE TRIGGER contacts_added AFTER INSERT ON contacts
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows_by_environment();
CREATE TRIGGER contacts_taken AFTER DELETE ON contacts
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows_by_environment();

-- CSV imports of contacts, with the file until the import ends.
CREATE TABLE contact_imports (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts,
  created_at timestamptz NOT NULL,
  finished_at timestamptz,
  rows_total integer NOT NULL,
  rows_done integer DEFAULT 0 NOT NULL,
  created integer DEFAULT 0 NOT NULL,
  updated integer DEFAULT 0 NOT NULL,
  failed integer DEFAULT 0 NOT NULL,
  faults integer DEFAULT 0 NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed')),
  created_by text NOT NULL,
  failure text,
  csv text,
  environment text DEFAULT 'production' NOT NULL,
  CHECK ((csv IS NULL) = (state IN ('done', 'failed'))),
  CHECK (rows_done = ((created + updated) + failed)),
  CONSTRAINT contact_imports_environment CHECK (environment IN ('production', 'sandbox'))
);
ALTER TABLE contact_imports ALTER csv SET STORAGE EXTERNAL;
CREATE INDEX contact_imports_account ON contact_imports (account_id, id DESC);

-- Rows of an import that could not be taken, and why.
CREATE TABLE contact_import_faults (
  import_id uuid NOT NULL REFERENCES contact_imports ON DELETE CASCADE,
  seq integer NOT NULL,
  line integer NOT NULL,
  column_name text,
  value text,
  code text NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (import_id, seq)
);

-- Devices for push messages.
CREATE TABLE devices (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  platform text NOT NULL CHECK (platform IN ('ios', 'android', 'web')),
  user_id text NOT NULL,
  token text NOT NULL,
  p256dh text,
  auth text,
  environment text DEFAULT 'production' NOT NULL,
  CHECK ((platform = 'web') = ((p256dh IS NOT NULL) AND (auth IS NOT NULL))),
  CONSTRAINT devices_environment CHECK (environment IN ('production', 'sandbox'))
);
CREATE INDEX devices_of ON devices (account_id, environment, id);
CREATE UNIQUE INDEX devices_token ON devices (account_id, token);
CREATE INDEX devices_user_of ON devices (account_id, environment, user_id);
CREATE TRIGGER devices_added AFTER INSERT ON devices
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows_by_environment();
CREATE TRIGGER devices_taken AFTER DELETE ON devices
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows_by_environment();
`;

/** Events and their delivery to webhooks. */
const WEBHOOKS = `
-- Endpoints of an account.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts,
  url text NOT NULL,
  events text[] NOT NULL CHECK (cardinality(events) > 0),
  description text,
  is_active boolean DEFAULT true NOT NULL,
  disabled_reason text,
  failing_since timestamptz,
  max_retries integer NOT NULL CHECK ((max_retries >= 0) AND (max_retries <= 5)),
  secret_sealed text NOT NULL,
  created_at timestamptz NOT NULL,
  deleted_at timestamptz,
  environment text DEFAULT 'production' NOT NULL,
  CONSTRAINT webhooks_environment CHECK (environment IN ('production', 'sandbox'))
);
CREATE INDEX webhooks_account ON webhooks (account_id, created_at DESC) WHERE (deleted_at IS NULL);
CREATE INDEX webhooks_of ON webhooks (account_id);
CREATE TRIGGER never_deleted BEFORE DELETE OR UPDATE OF id ON webhooks FOR EACH ROW EXECUTE FUNCTION refuse_deletion();

-- The last number of an account's events. Apart from accounts: sends lock that row, outcomes lock this one.
CREATE TABLE event_feeds (
  account_id uuid PRIMARY KEY REFERENCES accounts,
  last_seq bigint DEFAULT 0 NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500, fillfactor=50);

-- What happened, numbered without gaps in an account. body omits what other columns say. Each event fires once.
CREATE TABLE events (
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  message_id uuid,
  recorded_at timestamptz NOT NULL,
  "position" smallint,
  type text NOT NULL,
  body text NOT NULL,
  is_sandbox boolean DEFAULT false NOT NULL,
  PRIMARY KEY (account_id, seq)
) WITH (${BUSY});
CREATE UNIQUE INDEX events_fire_once ON events (message_id, hashtextextended(type, ("position")::bigint)) WHERE (message_id IS NOT NULL);
CREATE UNIQUE INDEX events_once_a_message ON events (message_id) WHERE (("position" IS NULL) AND (message_id IS NOT NULL));
CREATE INDEX events_sandbox ON events (account_id, seq) WHERE is_sandbox;
CREATE FUNCTION delete_webhook_deliveries_of_events() RETURNS trigger LANGUAGE plpgsql AS $function$
        BEGIN
          DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
      SELECT d.id FROM gone CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries
        WHERE account_id = gone.account_id AND event_seq = gone.seq OFFSET 0) d));
          RETURN NULL;
        END $function$;
CREATE TRIGGER webhook_deliveries_of_events AFTER DELETE ON events
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_webhook_deliveries_of_events();

-- One event for one webhook.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_seq bigint NOT NULL,
  created_at timestamptz NOT NULL,
  next_retry_at timestamptz,
  attempts integer DEFAULT 0 NOT NULL CHECK (attempts >= 0),
  http_status integer,
  event text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'retrying', 'success', 'failed', 'canceled')),
  response_body text,
  error_message text,
  retries_from integer,
  CHECK ((status = 'retrying') = (next_retry_at IS NOT NULL))
) WITH (${BUSY}, fillfactor=60);
CREATE INDEX webhook_deliveries_of ON webhook_deliveries (webhook_id, id);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (account_id, event_seq, webhook_id) WITH (fillfactor='100');
CREATE INDEX webhook_deliveries_rare ON webhook_deliveries (event, webhook_id, id) WHERE (event NOT IN ('sms.sent', 'email.sent', 'push.sent', 'whatsapp.delivered', 'whatsapp.read'));
CREATE INDEX webhook_deliveries_retried ON webhook_deliveries (webhook_id, id) WHERE (next_retry_at IS NOT NULL);
CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
          SELECT webhook_id, uuid_hour(id), event, status, count(*) FROM added GROUP BY 1, 2, 3, 4;
        ELSIF TG_OP = 'DELETE' THEN
          INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
          SELECT webhook_id, uuid_hour(id), event, status, -count(*) FROM taken GROUP BY 1, 2, 3, 4;
        ELSE
          INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
          SELECT webhook_id, uuid_hour(id), event, status, sum(sign) FROM (
            SELECT webhook_id, id, event, status, 1 AS sign FROM added
            UNION ALL SELECT webhook_id, id, event, status, -1 FROM taken
          ) moved GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
          DELETE FROM failed_deliveries f USING taken t
          WHERE t.status = 'failed' AND f.webhook_id = t.webhook_id AND f.delivery_id = t.id;
          INSERT INTO failed_deliveries (webhook_id, delivery_id)
          SELECT webhook_id, id FROM added WHERE status = 'failed';
        END IF;
        RETURN NULL;
      END $function$;
CREATE TRIGGER deliveries_added AFTER INSERT ON webhook_deliveries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER deliveries_moved AFTER UPDATE ON webhook_deliveries
  REFERENCING OLD TABLE AS taken NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER deliveries_taken AFTER DELETE ON webhook_deliveries
  REFERENCING OLD TABLE AS taken FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE FUNCTION delete_webhook_attempts_of_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $function$
        BEGIN
          DELETE FROM webhook_attempts WHERE delivery_id = ANY (ARRAY(SELECT id FROM gone));
          RETURN NULL;
        END $function$;
CREATE TRIGGER webhook_attempts_of_webhook_deliveries AFTER DELETE ON webhook_deliveries
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_webhook_attempts_of_webhook_deliveries();

-- Each HTTP request of a delivery.
CREATE TABLE webhook_attempts (
  delivery_id uuid NOT NULL,
  account_id uuid NOT NULL,
  at timestamptz NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  http_status integer,
  duration_ms integer NOT NULL,
  error_message text,
  PRIMARY KEY (delivery_id, number)
) WITH (${BUSY});

-- Deliveries that failed: few among many, and listed often.
CREATE TABLE failed_deliveries (
  webhook_id uuid NOT NULL,
  delivery_id uuid NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
  PRIMARY KEY (webhook_id, delivery_id)
);
CREATE INDEX failed_deliveries_delivery ON failed_deliveries (delivery_id);

-- Changes of delivery counts. A fold adds them to delivery_hours.
CREATE TABLE delivery_deltas (
  webhook_id uuid NOT NULL,
  hour timestamptz NOT NULL,
  deliveries bigint NOT NULL,
  event text NOT NULL,
  status text NOT NULL
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);

-- Deliveries by hour, event and status: totals of lists come from here.
CREATE TABLE delivery_hours (
  webhook_id uuid NOT NULL REFERENCES webhooks,
  hour timestamptz NOT NULL,
  deliveries bigint NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  PRIMARY KEY (webhook_id, hour, event, status)
) WITH (fillfactor=80);
CREATE INDEX delivery_hours_empty ON delivery_hours (webhook_id) WHERE (deliveries = 0);
`;

/** Counts, so that no list or report counts rows. */
const USAGE = `
-- Messages and cost by hour. Folded from usage_deltas.
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
) WITH (fillfactor=80);
CREATE FUNCTION count_days() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO usage_days (account_id, day, channel, environment, status, api_key_id, messages, cost_minor)
          SELECT account_id, date_trunc('day', hour, 'UTC'), channel, environment, status, api_key_id, sum(messages), sum(cost_minor)
          FROM added GROUP BY 1, 2, 3, 4, 5, 6
          ON CONFLICT (account_id, day, channel, environment, status, api_key_id) DO UPDATE SET messages = usage_days.messages + excluded.messages,
            cost_minor = usage_days.cost_minor + excluded.cost_minor;
        ELSE
          INSERT INTO usage_days (account_id, day, channel, environment, status, api_key_id, messages, cost_minor)
          SELECT account_id, date_trunc('day', hour, 'UTC'), channel, environment, status, api_key_id, sum(messages), sum(cost_minor) FROM (
            SELECT account_id, hour, channel, environment, status, api_key_id, messages, cost_minor FROM added
            UNION ALL SELECT account_id, hour, channel, environment, status, api_key_id, -messages, -cost_minor FROM taken
          ) moved GROUP BY 1, 2, 3, 4, 5, 6
          ON CONFLICT (account_id, day, channel, environment, status, api_key_id) DO UPDATE SET messages = usage_days.messages + excluded.messages,
            cost_minor = usage_days.cost_minor + excluded.cost_minor;
        END IF;
        RETURN NULL;
      END $function$;
CREATE TRIGGER usage_added AFTER INSERT ON usage_hours
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_days();
CREATE TRIGGER usage_moved AFTER UPDATE ON usage_hours
  REFERENCING OLD TABLE AS taken NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_days();

-- The same by day, kept by triggers on usage_hours.
CREATE TABLE usage_days (
  account_id uuid NOT NULL,
  day timestamptz NOT NULL,
  channel text NOT NULL,
  environment text NOT NULL,
  status text NOT NULL,
  api_key_id text NOT NULL,
  messages bigint NOT NULL,
  cost_minor bigint NOT NULL,
  PRIMARY KEY (account_id, day, channel, environment, status, api_key_id)
) WITH (fillfactor=80);

-- Messages by status in blocks of 64, 2,048 and 65,536 numbers (docs/decisions/0004).
CREATE TABLE message_blocks (
  account_id uuid NOT NULL,
  size integer NOT NULL,
  block integer NOT NULL,
  pending integer NOT NULL,
  sent integer NOT NULL,
  delivered integer NOT NULL,
  failed integer NOT NULL,
  channel text NOT NULL,
  api_key_id text NOT NULL,
  environment text NOT NULL,
  pending_places bigint DEFAULT 0 NOT NULL,
  sent_places bigint DEFAULT 0 NOT NULL,
  delivered_places bigint DEFAULT 0 NOT NULL,
  failed_places bigint DEFAULT 0 NOT NULL,
  PRIMARY KEY (account_id, channel, api_key_id, size, block, environment)
) WITH (autovacuum_vacuum_scale_factor=0.05, fillfactor=90);

-- Blocks to count anew.
CREATE TABLE uncounted_blocks (
  account_id uuid NOT NULL,
  block integer NOT NULL,
  channel text NOT NULL,
  PRIMARY KEY (account_id, channel, block)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500);

-- Counts some of them anew.
CREATE FUNCTION count_uncounted(most integer) RETURNS integer LANGUAGE plpgsql AS $function$
      DECLARE
        mark uncounted_blocks;
        done int := 0;
      BEGIN
        -- In no order: those of busy accounts come again and again, and must not keep the others waiting.
        FOR mark IN
          WITH n AS MATERIALIZED (
            SELECT * FROM uncounted_blocks ORDER BY random() LIMIT most FOR UPDATE SKIP LOCKED
          )
          DELETE FROM uncounted_blocks u USING n
          WHERE u.account_id = n.account_id AND u.channel = n.channel AND u.block = n.block RETURNING u.*
        LOOP
          done := done + 1;
          WITH message AS MATERIALIZED (
            SELECT (m.seq - 1) / 64 AS block, m.environment, coalesce(m.api_key_id, '') AS api_key_id,
              (SELECT CASE WHEN bool_or(r.status = 'pending') THEN 'pending' WHEN bool_or(r.status = 'sent') THEN 'sent'
                 WHEN bool_or(r.status = 'delivered') THEN 'delivered' ELSE 'failed' END
               FROM recipients r WHERE r.message_id = m.id) AS status, 1 AS messages,
              1::bigint << ((m.seq - 1) % 64)::int AS places
            FROM messages m WHERE m.account_id = mark.account_id AND m.channel = mark.channel
              AND m.seq > mark.block::bigint * 2048 AND m.seq <= (mark.block::bigint + 1) * 2048
            UNION ALL
            SELECT d.block, d.environment, d.api_key_id, d.status, -d.messages, d.places FROM usage_deltas d
            WHERE d.account_id = mark.account_id AND d.channel = mark.channel AND d.block / 32 = mark.block
          ), actual AS (
            SELECT block, environment, api_key_id, coalesce(sum(messages) FILTER (WHERE status = 'pending'), 0) AS pending, coalesce(sum(messages) FILTER (WHERE status = 'sent'), 0) AS sent, coalesce(sum(messages) FILTER (WHERE status = 'delivered'), 0) AS delivered, coalesce(sum(messages) FILTER (WHERE status = 'failed'), 0) AS failed,
    coalesce(bit_xor(places) FILTER (WHERE status = 'pending'), 0) AS pending_places, coalesce(bit_xor(places) FILTER (WHERE status = 'sent'), 0) AS sent_places, coalesce(bit_xor(places) FILTER (WHERE status = 'delivered'), 0) AS delivered_places, coalesce(bit_xor(places) FILTER (WHERE status = 'failed'), 0) AS failed_places FROM message GROUP BY 1, 2, 3
          ), missing AS (
            SELECT '' AS api_key_id, 64 AS size, block, environment, pending, sent, delivered, failed, pending_places, sent_places, delivered_places, failed_places FROM actual
            UNION ALL
            SELECT api_key_id, 2048, block / 32, environment, pending, sent, delivered, failed, 0, 0, 0, 0 FROM actual
            WHERE api_key_id <> ''
            UNION ALL
            SELECT b.api_key_id, b.size, b.block, b.environment, -b.pending, -b.sent, -b.delivered, -b.failed,
              b.pending_places, b.sent_places, b.delivered_places, b.failed_places
            FROM message_blocks b WHERE b.account_id = mark.account_id AND b.channel = mark.channel
              AND b.api_key_id = '' AND b.size = 64
              AND b.block >= mark.block * 32 AND b.block < (mark.block + 1) * 32
            UNION ALL
            SELECT b.api_key_id, b.size, b.block, b.environment, -b.pending, -b.sent, -b.delivered, -b.failed, 0, 0, 0, 0
            FROM api_keys k JOIN message_blocks b ON b.account_id = mark.account_id AND b.channel = mark.channel
              AND b.api_key_id = k.key_id AND b.size = 2048 AND b.block = mark.block
            WHERE k.account_id = mark.account_id
          )
          INSERT INTO message_blocks AS b (account_id, channel, api_key_id, size, block, environment, pending, sent, delivered, failed, pending_places, sent_places, delivered_places, failed_places)
          SELECT mark.account_id, mark.channel, api_key_id, l.size, block / (l.size / m.size), environment, sum(pending), sum(sent), sum(delivered), sum(failed),
  CASE WHEN l.size = 64 THEN bit_xor(pending_places) ELSE 0 END, CASE WHEN l.size = 64 THEN bit_xor(sent_places) ELSE 0 END, CASE WHEN l.size = 64 THEN bit_xor(delivered_places) ELSE 0 END, CASE WHEN l.size = 64 THEN bit_xor(failed_places) ELSE 0 END
          FROM missing m JOIN (VALUES (64), (2048), (65536)) AS l (size) ON l.size >= m.size
          GROUP BY 3, l.size, 5, 6 HAVING sum(pending) <> 0 OR bit_xor(pending_places) <> 0 OR sum(sent) <> 0 OR bit_xor(sent_places) <> 0 OR sum(delivered) <> 0 OR bit_xor(delivered_places) <> 0 OR sum(failed) <> 0 OR bit_xor(failed_places) <> 0
          ON CONFLICT (account_id, channel, api_key_id, size, block, environment) DO UPDATE SET pending = b.pending + excluded.pending, sent = b.sent + excluded.sent, delivered = b.delivered + excluded.delivered, failed = b.failed + excluded.failed,
  pending_places = b.pending_places # excluded.pending_places, sent_places = b.sent_places # excluded.sent_places, delivered_places = b.delivered_places # excluded.delivered_places, failed_places = b.failed_places # excluded.failed_places;
        END LOOP;
        RETURN done;
      END $function$;

-- Changes of usage. Deleting them folds them into blocks.
CREATE TABLE usage_deltas (
  account_id uuid NOT NULL,
  hour timestamptz NOT NULL,
  channel text NOT NULL,
  environment text NOT NULL,
  status text NOT NULL,
  api_key_id text NOT NULL,
  messages bigint NOT NULL,
  cost_minor bigint NOT NULL,
  block integer,
  places bigint
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
CREATE FUNCTION count_blocks() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        WITH counted AS MATERIALIZED (
          SELECT account_id, channel, api_key_id, block, environment, coalesce(sum(messages::int) FILTER (WHERE status = 'pending'), 0) AS pending, coalesce(sum(messages::int) FILTER (WHERE status = 'sent'), 0) AS sent, coalesce(sum(messages::int) FILTER (WHERE status = 'delivered'), 0) AS delivered, coalesce(sum(messages::int) FILTER (WHERE status = 'failed'), 0) AS failed,
    coalesce(bit_xor(places) FILTER (WHERE status = 'pending'), 0) AS pending_places, coalesce(bit_xor(places) FILTER (WHERE status = 'sent'), 0) AS sent_places, coalesce(bit_xor(places) FILTER (WHERE status = 'delivered'), 0) AS delivered_places, coalesce(bit_xor(places) FILTER (WHERE status = 'failed'), 0) AS failed_places
          FROM taken WHERE block IS NOT NULL GROUP BY 1, 2, 3, 4, 5
        )
        INSERT INTO message_blocks AS b (account_id, channel, api_key_id, size, block, environment, pending, sent, delivered, failed, pending_places, sent_places, delivered_places, failed_places)
        SELECT account_id, channel, CASE WHEN l.by_key THEN api_key_id ELSE '' END, l.size, block / (l.size / 64),
          environment, sum(pending), sum(sent), sum(delivered), sum(failed),
  CASE WHEN l.size = 64 THEN bit_xor(pending_places) ELSE 0 END, CASE WHEN l.size = 64 THEN bit_xor(sent_places) ELSE 0 END, CASE WHEN l.size = 64 THEN bit_xor(delivered_places) ELSE 0 END, CASE WHEN l.size = 64 THEN bit_xor(failed_places) ELSE 0 END
        FROM counted
        JOIN (VALUES (64, false), (2048, false), (2048, true), (65536, false), (65536, true))
          AS l (size, by_key) ON NOT (l.by_key AND api_key_id = '')
        GROUP BY 1, 2, 3, l.size, 5, 6
        ON CONFLICT (account_id, channel, api_key_id, size, block, environment) DO UPDATE SET pending = b.pending + excluded.pending, sent = b.sent + excluded.sent, delivered = b.delivered + excluded.delivered, failed = b.failed + excluded.failed,
  pending_places = b.pending_places # excluded.pending_places, sent_places = b.sent_places # excluded.sent_places, delivered_places = b.delivered_places # excluded.delivered_places, failed_places = b.failed_places # excluded.failed_places;
        INSERT INTO uncounted_blocks (account_id, channel, block)
        SELECT DISTINCT account_id, channel, block / 32 FROM taken WHERE block IS NOT NULL AND places IS NULL
        ON CONFLICT DO NOTHING;
        -- Ids begin with the time, a moment before or after that of the message.
        INSERT INTO uncounted_blocks (account_id, channel, block)
        SELECT DISTINCT m.account_id, m.channel, (m.seq - 1) / 2048
        FROM (SELECT DISTINCT hour FROM taken WHERE block IS NULL) h
        -- By the key, whatever the planner knows: all messages of a large account would take longer than a fold may.
        CROSS JOIN LATERAL (
          SELECT account_id, channel, seq FROM messages
          WHERE id > id_at(h.hour - interval '1 minute') AND id < id_at(h.hour + interval '61 minutes') OFFSET 0) m
        JOIN (SELECT DISTINCT account_id, channel, hour FROM taken WHERE block IS NULL) t
          ON t.hour = h.hour AND t.account_id = m.account_id AND t.channel = m.channel
        ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $function$;
CREATE TRIGGER deltas_folded AFTER DELETE ON usage_deltas
  REFERENCING OLD TABLE AS taken FOR EACH STATEMENT EXECUTE FUNCTION count_blocks();

-- Rows of each list of an account.
CREATE TABLE list_counts (
  account_id uuid NOT NULL,
  rows bigint NOT NULL,
  list text NOT NULL,
  PRIMARY KEY (account_id, list)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=500, fillfactor=50);
`;

/** What is removed with time, and the background work. */
const RETENTION = `
-- Up to which number an account's messages are erased and removed.
CREATE TABLE message_retention (
  account_id uuid NOT NULL REFERENCES accounts,
  channel text NOT NULL CHECK (channel IN ('sms', 'email', 'push', 'whatsapp')),
  erased_seq bigint DEFAULT 0 NOT NULL,
  removed_seq bigint DEFAULT 0 NOT NULL,
  CHECK (removed_seq <= erased_seq),
  PRIMARY KEY (account_id, channel)
) WITH (fillfactor=50);

-- Messages past their time that still have open recipients.
CREATE TABLE retention_waiting (
  message_id uuid PRIMARY KEY REFERENCES messages ON DELETE CASCADE
);

-- How far each periodic sweep has come.
CREATE TABLE sweep_marks (
  name text PRIMARY KEY,
  last_id uuid NOT NULL,
  last_at timestamptz DEFAULT '1970-01-01 00:00:00+00'::timestamptz NOT NULL
);

-- Jobs that a process holds under a lease, outside the queue.
CREATE TABLE held_jobs (
  id uuid PRIMARY KEY,
  due_at timestamptz NOT NULL,
  queue text NOT NULL,
  job json NOT NULL
);
CREATE INDEX held_jobs_due_at ON held_jobs (due_at);

-- When each process was last alive.
CREATE TABLE heartbeats (
  process text PRIMARY KEY,
  beat_at timestamptz NOT NULL
) WITH (fillfactor=50);

-- What each process last saw of each provider. Unlogged: it is soon written again.
CREATE UNLOGGED TABLE provider_health (
  process text NOT NULL,
  channel text NOT NULL,
  name text NOT NULL,
  seen_at timestamptz NOT NULL,
  status jsonb NOT NULL,
  PRIMARY KEY (process, channel, name)
) WITH (fillfactor=50);
`;

/** The audit log, a chain of hashes. */
const AUDIT = `
-- Append-only. Each hash covers the entry and the hash before it.
CREATE TABLE audit_entries (
  id uuid PRIMARY KEY,
  account_id uuid REFERENCES accounts,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  before jsonb,
  after jsonb,
  seq bigint UNIQUE,
  hash bytea CHECK (length(hash) = 32)
);
CREATE INDEX audit_account ON audit_entries (account_id, id DESC);
CREATE INDEX audit_action ON audit_entries (account_id, action, id);
CREATE INDEX audit_action_of_all ON audit_entries (action, id);
CREATE INDEX audit_actor ON audit_entries (actor, id);
CREATE INDEX audit_target ON audit_entries (target, id);
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $function$
      BEGIN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
      END $function$;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON audit_entries FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_entries_added AFTER INSERT ON audit_entries
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER audit_entries_taken AFTER DELETE ON audit_entries
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_rows();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- Refuses changes of the log.

-- The newest number and hash. One row.
CREATE TABLE audit_chain (
  only_row boolean DEFAULT true CHECK (only_row) PRIMARY KEY,
  seq bigint NOT NULL,
  hash bytea NOT NULL CHECK (length(hash) = 32)
);
CREATE TRIGGER never_deleted BEFORE DELETE ON audit_chain FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_chain FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER only_forward BEFORE UPDATE ON audit_chain
  FOR EACH ROW WHEN ((new.seq <> (old.seq + 1))) EXECUTE FUNCTION refuse_audit_change();

-- The signed head of the chain. One row.
CREATE TABLE audit_signed_head (
  only_row boolean DEFAULT true CHECK (only_row) PRIMARY KEY,
  log_id uuid DEFAULT gen_random_uuid() NOT NULL,
  sealed text
);
CREATE TRIGGER never_deleted BEFORE DELETE ON audit_signed_head FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_signed_head FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER never_unsigned BEFORE UPDATE ON audit_signed_head
  FOR EACH ROW WHEN (((new.log_id <> old.log_id) OR (new.sealed IS NULL))) EXECUTE FUNCTION refuse_audit_change();
`;

const NOUNS = [PRICES, ACCOUNTS, KEYS, MESSAGES, LEDGER, PEOPLE, WEBHOOKS, USAGE, RETENTION, AUDIT];

/** Creates every table and function, and the rows that the gateway needs to start. */
export async function up(knex: Knex): Promise<void> {
  for (const sql of NOUNS) await knex.raw(sql);
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
  await knex('audit_chain').insert({ seq: 0, hash: Buffer.alloc(32) });
  await knex.raw('INSERT INTO audit_signed_head DEFAULT VALUES; INSERT INTO ledger_check DEFAULT VALUES');
}

/** Removes everything that `up` creates, with all data. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS plans, prices, price_references, accounts, users, sessions, sign_in_failures, api_keys, api_key_scope_uses, spent_signatures, rate_limits, messages, recipients, failed_messages, provider_sids, unmatched_reports, report_spools, timeline_notes, idempotency_records, inbound_messages, whatsapp_writers, ledger_entries, deferred_refunds, ledger_check, ledger_mismatches, contacts, contact_imports, contact_import_faults, devices, webhooks, event_feeds, events, webhook_deliveries, webhook_attempts, failed_deliveries, delivery_deltas, delivery_hours, usage_hours, usage_days, message_blocks, uncounted_blocks, usage_deltas, list_counts, message_retention, retention_waiting, sweep_marks, held_jobs, heartbeats, provider_health, audit_entries, audit_chain, audit_signed_head CASCADE;
    DROP FUNCTION IF EXISTS check_refund, count_blocks, count_days, count_deliveries, count_rows, count_rows_by_environment, count_uncounted, delete_rows_of_messages, delete_webhook_attempts_of_webhook_deliveries, delete_webhook_deliveries_of_events, id_at, ledger_is_append_only, note_failed_message, refuse_audit_change, refuse_deletion, refuse_move, search_query, search_terms, uuid_hour;
  `);
}
