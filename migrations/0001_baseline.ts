import type { Knex } from 'knex';

/**
 * The schema. Each constant holds one noun: its tables with their indexes, functions and triggers. In every table:
 * - A status or a kind is text with a CHECK, so that a new value changes a constraint and not a type.
 * - Columns of fixed size stand first. This saves padding, which matters in tables that grow.
 * - Tables that get a row with every message have no foreign keys: checking them took half of PostgreSQL's time for a
 *   message. Triggers keep the references valid instead (REFERENCES, ADR-0002).
 * - An update writes to no index (HOT) if it changes no indexed column and its page has room. `fillfactor` keeps that
 *   room. So no index of a busy table contains its status, not even in its WHERE.
 */

const CHANNELS = `('sms', 'email', 'push', 'whatsapp')`;
const ENVIRONMENTS = `('production', 'sandbox')`;
const environmentOf = (table: string) => `environment text NOT NULL DEFAULT 'production'
      CONSTRAINT ${table}_environment CHECK (environment IN ${ENVIRONMENTS})`;
const STATUSES = ['pending', 'sent', 'delivered', 'failed'] as const;
const NO_UUID = '00000000-0000-0000-0000-000000000000';

/** For tables that grow. Vacuum and ANALYZE run after 2 % of the rows, not 10 or 20 %: more often and shorter. */
const GROWING = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 20000,
  autovacuum_analyze_scale_factor = 0.02`;
/** For small tables whose rows every send updates: vacuum after 500 dead rows. */
const BUSY = 'fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0';
/** For tables that a periodic task empties: vacuum after 5,000 dead rows. */
const EMPTIED = 'autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0';

/** Makes a trigger function that fails the statement with `message` (a RAISE format, with its arguments). */
const refusal = (name: string, message: string, sqlstate: string) => `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION ${message} USING ERRCODE = '${sqlstate}';
    END $$;`;

/**
 * Finds texts that contain a given part, without an extension that the database's owner may not create (ADR-0008).
 * The terms of a text are all its sequences of three letters, its last two letters and its last letter. So a part of
 * one or two letters is the beginning of a term. The owner is a term, and so is each tag after the owner. Each sequence
 * begins with the owner's last letter. With the whole owner, small accounts would have an index key for nearly every
 * sequence. Without it, a search for one letter would read the keys of all accounts. U+0001 separates the terms while
 * they are made. A U+0001 in a text becomes a space.
 */
const SEARCH = `
  CREATE FUNCTION search_terms(owner text, body text, tags text[]) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE
      mark CONSTANT text := chr(1);
      cleaned CONSTANT text := replace(body, mark, ' ');
      letters CONSTANT text := mark || right(owner, 1) || '\\&';
      named CONSTANT text := mark || '#' || owner;
    BEGIN
      RETURN array_to_tsvector(array_remove(string_to_array(
        regexp_replace(cleaned, '.{1,3}', letters, 'g') || regexp_replace(substr(cleaned, 2), '.{1,3}', letters, 'g')
          || regexp_replace(substr(cleaned, 3), '.{1,3}', letters, 'g')
          || named || CASE WHEN tags = '{}' THEN '' ELSE named || array_to_string(tags, named) END,
        mark), ''));
    END $$;

  -- Matches the owner's texts that hold one of the parts and have the tag. It also matches some texts that do not hold
  -- the part, because terms have no order. Only the first 200 letters of a part count.
  CREATE FUNCTION search_query(owner text, parts text[], tag text) RETURNS tsquery
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(condition, ' & ')::tsquery FROM (
      SELECT '(' || string_agg(terms, ' | ') || ')' AS condition FROM (
        SELECT string_agg(
          '''' || replace(replace(right(owner, 1) || substr(part, place, 3), '\\', '\\\\'), '''', '''''') || ''''
            || CASE WHEN length(part) < 3 THEN ':*' ELSE '' END, ' & ') AS terms
        FROM (SELECT left(replace(part, chr(1), ' '), 200) AS part FROM unnest(parts) AS given (part)) AS cleaned,
          generate_series(1, greatest(length(part) - 2, 1)) AS place
        WHERE part <> '' GROUP BY part) AS each_part
      UNION ALL SELECT '''#' || replace(replace(
        owner || coalesce(split_part(tag, chr(1), 1), ''), '\\', '\\\\'), '''', '''''') || ''''
    ) AS conditions $$;
`;

/** Accounts, their plans, and how far retention has removed their messages. */
const ACCOUNTS = `
  -- Request limits that an operator gives to accounts.
  CREATE TABLE plans (
    id uuid PRIMARY KEY, name text NOT NULL UNIQUE,
    per_minute integer NOT NULL CHECK (per_minute > 0),
    per_second integer NOT NULL CHECK (per_second >= 0), -- 0: no limit.
    webhooks_per_minute integer NOT NULL CHECK (webhooks_per_minute > 0),
    created_at timestamptz NOT NULL,
    session_per_minute integer CHECK (session_per_minute > 0) -- In any 60 seconds; null: the gateway's default.
  );

  -- Tenants. Every send locks the account's row, which holds the balance and the last number of each sequence.
  CREATE TABLE accounts (
    id uuid PRIMARY KEY, name text NOT NULL, email text NOT NULL,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    balance_minor bigint NOT NULL DEFAULT 0 CHECK (balance_minor >= 0),
    ledger_seq bigint NOT NULL DEFAULT 0,
    sms_seq bigint NOT NULL DEFAULT 0, email_seq bigint NOT NULL DEFAULT 0,
    push_seq bigint NOT NULL DEFAULT 0, whatsapp_seq bigint NOT NULL DEFAULT 0,
    plan_id uuid REFERENCES plans, created_at timestamptz NOT NULL,
    last_accepted_at timestamptz, -- Acceptance times never go back, so messages are numbered in order of time.
    content_days integer CHECK (content_days > 0), message_days integer, -- Retention in days; null: for ever.
    CHECK (message_days >= coalesce(content_days, 1))
  ) WITH (${BUSY});
  CREATE INDEX accounts_search ON accounts USING gin (search_terms('', lower(name) || E'\\n' || lower(email), '{}'));
  ALTER INDEX accounts_search ALTER COLUMN 1 SET STATISTICS 0; -- No plan uses them, and ANALYZE would take long.

  -- Progress of retention. It is not in accounts, because every send locks the account's row. The texts of messages up
  -- to erased_seq are erased. Excluded are messages in retention_waiting. Messages up to removed_seq are deleted: the
  -- rest has no gaps.
  CREATE TABLE message_retention (
    account_id uuid NOT NULL REFERENCES accounts,
    channel text NOT NULL CHECK (channel IN ${CHANNELS}),
    erased_seq bigint NOT NULL DEFAULT 0, removed_seq bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, channel),
    CHECK (removed_seq <= erased_seq)
  ) WITH (fillfactor = 50);

  -- Number of rows of an account in each list, so that no query has to count them. Triggers keep it up to date.
  CREATE TABLE list_counts (
    account_id uuid NOT NULL, rows bigint NOT NULL, list text NOT NULL,
    PRIMARY KEY (account_id, list)
  ) WITH (${BUSY});
`;

/** People, their sessions and their failed sign-ins. */
const USERS = `
  -- Operators have no account. The row of a removed person stays, because messages and the audit log refer to it.
  CREATE TABLE users (
    id uuid PRIMARY KEY, account_id uuid REFERENCES accounts,
    email text NOT NULL, password_hash text NOT NULL,
    role text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER', 'OPERATOR')),
    must_change_password boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL, removed_at timestamptz,
    invited_at timestamptz, accepted_at timestamptz DEFAULT now(), -- An invitation is pending until accepted_at.
    CHECK ((role = 'OPERATOR') = (account_id IS NULL))
  );
  CREATE INDEX users_account ON users (account_id);
  CREATE INDEX users_sign_in ON users (lower(email)) WHERE removed_at IS NULL;
  -- Emails are unique in an account. Among people whom no member invited, they are unique in all accounts.
  CREATE UNIQUE INDEX users_account_email ON users (account_id, lower(email)) WHERE removed_at IS NULL;
  CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE removed_at IS NULL AND invited_at IS NULL;

  CREATE TABLE sessions (
    token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32), -- SHA-256: the token itself is not stored.
    user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL
  );
  CREATE INDEX sessions_user ON sessions (user_id);
  CREATE INDEX sessions_expiry ON sessions (expires_at);

  -- Failed sign-ins by email address and by IP address, counted by all processes together.
  CREATE TABLE sign_in_failures (
    attempt_id uuid NOT NULL, bucket text NOT NULL, at timestamptz NOT NULL,
    PRIMARY KEY (bucket, attempt_id)
  );
  CREATE INDEX sign_in_failures_at ON sign_in_failures (at);
`;

/** API keys, the last use of each of their scopes, and the request signatures that were used. */
const API_KEYS = `
  CREATE TABLE api_keys (
    key_id text PRIMARY KEY CHECK (key_id ~ '^[0-9a-f]{16}$'),
    account_id uuid NOT NULL REFERENCES accounts, name text NOT NULL,
    secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
    scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
    environment text NOT NULL CHECK (environment IN ${ENVIRONMENTS}), enable_hmac boolean NOT NULL DEFAULT false,
    signing_secret_sealed text, ip_allowlist text[] NOT NULL DEFAULT '{}',
    per_minute integer CHECK (per_minute > 0), per_second integer CHECK (per_second >= 0),
    created_by text NOT NULL, created_at timestamptz NOT NULL, -- A key that replaces another inherits created_by.
    expires_at timestamptz, last_used_at timestamptz, revoked_at timestamptz,
    issued_by text NOT NULL, -- Who received the secret.
    rotated_at timestamptz, -- When another key replaced this one.
    CHECK (enable_hmac = (signing_secret_sealed IS NOT NULL))
  );
  CREATE INDEX api_keys_account ON api_keys (account_id, created_at DESC, key_id);
  CREATE INDEX api_keys_created_by ON api_keys (created_by);
  CREATE INDEX api_keys_issued_by ON api_keys (issued_by);

  -- When each scope of a key was last needed. It shows which scopes can be removed from the key.
  CREATE TABLE api_key_scope_uses (
    key_id text NOT NULL REFERENCES api_keys ON DELETE CASCADE,
    scope text NOT NULL, last_used_at timestamptz NOT NULL,
    PRIMARY KEY (key_id, scope)
  ) WITH (fillfactor = 80);

  -- Used signatures, until their timestamp is too old. Logged: a crash must not let a signature be used again.
  CREATE TABLE spent_signatures (
    retained_until timestamptz NOT NULL, key_id text COLLATE "C" NOT NULL, signature bytea NOT NULL,
    PRIMARY KEY (key_id, signature)
  );
  CREATE INDEX spent_signatures_retained ON spent_signatures (retained_until);
`;

/** Prices, the ledger, refunds that are not due yet, and the check of the ledger. */
const MONEY = `
  -- The price of a message by currency, channel and prefix of the phone number. The longest matching prefix decides.
  CREATE TABLE prices (
    id uuid PRIMARY KEY,
    currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    channel text NOT NULL CHECK (channel IN ${CHANNELS}),
    prefix text NOT NULL CHECK (prefix ~ '^[0-9]*$'),
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0), updated_at timestamptz NOT NULL,
    UNIQUE (currency, channel, prefix)
  );

  -- References of requests that set a price, so that a repeated request sets its price once.
  CREATE TABLE price_references (
    reference text PRIMARY KEY,
    currency text NOT NULL, channel text NOT NULL, prefix text NOT NULL,
    amount_minor bigint NOT NULL, set_at timestamptz NOT NULL
  );

  -- Every change of a balance, with the balance after it. Entries are only added.
  CREATE TABLE ledger_entries (
    account_id uuid NOT NULL, seq bigint NOT NULL,
    amount_minor bigint NOT NULL, balance_after_minor bigint NOT NULL CHECK (balance_after_minor >= 0),
    created_at timestamptz NOT NULL, message_id uuid, position smallint,
    kind text NOT NULL CHECK (kind IN ('opening', 'topup', 'charge', 'refund')),
    reference text, actor text,
    PRIMARY KEY (account_id, seq) WITH (fillfactor = 100), -- Entries are only added at the end of an account.
    CHECK (kind <> 'charge' OR (amount_minor < 0 AND message_id IS NOT NULL)),
    CHECK (kind <> 'refund' OR (amount_minor > 0 AND message_id IS NOT NULL AND position IS NOT NULL)),
    CHECK (kind NOT IN ('opening', 'topup') OR (amount_minor > 0 AND message_id IS NULL AND actor IS NOT NULL))
  ) WITH (${GROWING});
  CREATE UNIQUE INDEX ledger_one_refund ON ledger_entries (message_id, position) WHERE kind = 'refund';
  CREATE UNIQUE INDEX ledger_reference ON ledger_entries (account_id, reference) WHERE reference IS NOT NULL;
  CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
  CREATE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE ON ledger_entries
    FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();
  CREATE TRIGGER ledger_never_emptied BEFORE TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();

  -- Refunds of failed recipients to whom an earlier submit may have reached the carrier. A refund is due when no
  -- delivery report can arrive any more. The row is deleted when the refund is booked or canceled.
  CREATE TABLE deferred_refunds (
    message_id uuid NOT NULL, position smallint NOT NULL,
    account_id uuid NOT NULL REFERENCES accounts,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0), due_at timestamptz NOT NULL,
    PRIMARY KEY (message_id, position)
  );
  CREATE INDEX deferred_refunds_due ON deferred_refunds (due_at);

  -- If retention has deleted the message, the amount is not checked. It was checked when the refund was deferred.
  CREATE FUNCTION check_refund() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      IF EXISTS (SELECT FROM messages WHERE id = NEW.message_id) AND NOT EXISTS (
        SELECT FROM recipients WHERE message_id = NEW.message_id AND position = NEW.position
          AND account_id = NEW.account_id AND status = 'failed' AND cost_minor >= NEW.amount_minor) THEN
        RAISE EXCEPTION 'recipient % of message % is refunded at most its cost, to its account, when it failed',
          NEW.position, NEW.message_id USING ERRCODE = 'integrity_constraint_violation';
      END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER refunded_at_most BEFORE INSERT ON ledger_entries FOR EACH ROW
    WHEN (NEW.kind = 'refund') EXECUTE FUNCTION check_refund();
  CREATE TRIGGER refunded_at_most BEFORE INSERT OR UPDATE ON deferred_refunds FOR EACH ROW
    EXECUTE FUNCTION check_refund();

  CREATE TABLE ledger_check ( -- How far the periodic check of the ledger has come.
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    account_id uuid NOT NULL DEFAULT '${NO_UUID}',
    entry_account_id uuid NOT NULL DEFAULT '${NO_UUID}',
    entry_seq bigint NOT NULL DEFAULT 0
  );
  INSERT INTO ledger_check DEFAULT VALUES;

  -- Ledger entries with a mismatch. seq 0: the account's balance differs from the balance after its last entry.
  CREATE TABLE ledger_mismatches (
    account_id uuid NOT NULL, seq bigint NOT NULL, found_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, seq)
  );
`;

/** A function that fails the statement in which intake accepts a batch. So nothing of the batch is stored. */
export const REFUSE_BATCH = `
  CREATE FUNCTION refuse_batch(reason text) RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '%', reason USING ERRCODE = 'MG001';
    END $$;
`;

/** Messages, and the stored answers to requests with an idempotency key. */
const MESSAGES = `
  -- One request to send, to one recipient or many. The row is never updated, because the status is computed from the
  -- recipients.
  CREATE TABLE messages (
    id uuid PRIMARY KEY, account_id uuid NOT NULL,
    seq bigint NOT NULL, -- The message's number in the account's channel, from 1 without gaps.
    cost_minor bigint NOT NULL CHECK (cost_minor >= 0),
    unit_price_minor bigint NOT NULL CHECK (unit_price_minor >= 0),
    created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, scheduled_for timestamptz,
    invalid_skipped integer NOT NULL DEFAULT 0, duplicates_removed integer NOT NULL DEFAULT 0,
    channel text NOT NULL CHECK (channel IN ${CHANNELS}),
    environment text NOT NULL CHECK (environment IN ${ENVIRONMENTS}),
    status_reason text, currency text NOT NULL,
    api_key_id text, user_id uuid, sender text NOT NULL,
    content text NOT NULL, payload jsonb,
    bulk jsonb, -- Up to 10 MB that only the submit reads: an email's texts and attachments.
    UNIQUE (account_id, channel, seq) WITH (fillfactor = 100)
  ) WITH (${GROWING});
  ALTER TABLE messages ALTER COLUMN bulk SET STORAGE EXTERNAL; -- Outside the row: lists and locks never read it.
  CREATE INDEX messages_sandbox ON messages (account_id, channel, seq) WHERE environment = 'sandbox';
  CREATE INDEX messages_scheduled ON messages (scheduled_for, id) WHERE scheduled_for IS NOT NULL;
  CREATE INDEX messages_push_to ON messages USING gin ((coalesce(payload -> 'userIds', '[]')
    || coalesce(payload -> 'deviceIds', '[]')) jsonb_path_ops) WHERE channel = 'push';

  -- Messages whose text retention must erase later: they were not finished when it erased the texts around them.
  CREATE TABLE retention_waiting (
    message_id uuid PRIMARY KEY REFERENCES messages ON DELETE CASCADE
  );

  -- The answer to a request with an idempotency key. A repeated request gets the same bytes until the answer expires.
  CREATE TABLE idempotency_records (
    account_id uuid NOT NULL, environment text NOT NULL, route text NOT NULL, key text NOT NULL,
    message_id uuid NOT NULL, status_code integer NOT NULL, body text NOT NULL, expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, environment, route, key)
  ) WITH (${GROWING});
  CREATE INDEX idempotency_expiry ON idempotency_records (expires_at);

  CREATE TABLE sweep_marks ( -- How far each periodic sweep over messages has come.
    name text PRIMARY KEY, last_id uuid NOT NULL, last_at timestamptz NOT NULL DEFAULT '1970-01-01T00:00:00Z'
  );
`;

/** Recipients, and a list of the messages whose recipients have all failed. */
export const RECIPIENTS = `
  CREATE TABLE recipients (
    message_id uuid NOT NULL, account_id uuid NOT NULL,
    sent_at timestamptz, delivered_at timestamptz, failed_at timestamptz, read_at timestamptz,
    cost_minor bigint NOT NULL CHECK (cost_minor >= 0), position smallint NOT NULL CHECK (position >= 0),
    -- Number of submits with no answer or a temporary error; null: none. A job skips a recipient that has more of them
    -- than the job expects.
    attempts smallint,
    claimed boolean NOT NULL DEFAULT true, -- A worker may have submitted it, so it can no longer be canceled.
    address text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'sent', 'delivered', 'failed')),
    provider text, sid text, error_code text, error_message text,
    PRIMARY KEY (message_id, position),
    CHECK (status <> 'failed' OR error_code IS NOT NULL),
    CHECK (status NOT IN ('sent', 'delivered') OR sent_at IS NOT NULL)
  ) WITH (${GROWING}, fillfactor = 70);
  -- Indexes a hash, which is half as large as the address.
  CREATE INDEX recipients_to ON recipients (hashtextextended(address, uuid_hash_extended(account_id, 0)));
  ${refusal('refuse_move', `'recipient % of message % cannot go from % to %: a status goes only forward', OLD.position, OLD.message_id, OLD.status, NEW.status`, 'integrity_constraint_violation')}
  CREATE TRIGGER only_forward BEFORE UPDATE OF status ON recipients FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NOT (OLD.status = 'pending' AND NEW.status IN ('sent', 'failed')
      OR OLD.status = 'sent' AND NEW.status IN ('delivered', 'failed'))) EXECUTE FUNCTION refuse_move();

  -- Messages whose recipients have all failed. Lists read this table instead of an index on the status.
  CREATE TABLE failed_messages (
    account_id uuid NOT NULL, seq bigint NOT NULL, channel text NOT NULL,
    PRIMARY KEY (account_id, channel, seq),
    FOREIGN KEY (account_id, channel, seq) REFERENCES messages (account_id, channel, seq) ON DELETE CASCADE
  );
  CREATE FUNCTION note_failed_message() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO failed_messages (account_id, channel, seq)
      SELECT m.account_id, m.channel, m.seq FROM messages m
      WHERE m.id = NEW.message_id AND NOT EXISTS (
          SELECT FROM failed_messages f WHERE f.account_id = m.account_id AND f.channel = m.channel AND f.seq = m.seq)
        AND NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.status <> 'failed')
      ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
  CREATE TRIGGER recipient_failed AFTER UPDATE OF failed_at ON recipients FOR EACH ROW
    WHEN (OLD.failed_at IS NULL AND NEW.failed_at IS NOT NULL) EXECUTE FUNCTION note_failed_message();
`;

/** What providers report about recipients: their ids, waiting reports, and notes on the timeline. */
const REPORTS = `
  -- The recipient, and the part of its text, to which a provider's id belongs. A row is kept only while reports may
  -- arrive.
  CREATE TABLE provider_sids (
    provider text NOT NULL, sid_key text NOT NULL,
    message_id uuid NOT NULL, position smallint NOT NULL,
    part smallint NOT NULL DEFAULT 0, delivered boolean NOT NULL DEFAULT false,
    parts smallint NOT NULL DEFAULT 1 -- Parts of the text: the report on a text of one part writes nothing here.
  ) WITH (${GROWING});
  CREATE INDEX provider_sids_sid ON provider_sids (sid_key, provider);
  CREATE INDEX provider_sids_message ON provider_sids (message_id);

  -- Reports whose id is not stored yet, because they arrived before the answer to the submit.
  CREATE TABLE unmatched_reports (
    id uuid PRIMARY KEY,
    provider text NOT NULL, sid text NOT NULL, sid_keys text[] NOT NULL,
    report jsonb NOT NULL, received_at timestamptz NOT NULL
  );
  CREATE INDEX unmatched_reports_keys ON unmatched_reports USING gin (sid_keys);
  CREATE INDEX unmatched_reports_received ON unmatched_reports (received_at);

  -- A process stores reports on its disk while the database is unreachable. This is the last one that was applied, so
  -- that each report is applied once.
  CREATE TABLE report_spools (
    spool uuid PRIMARY KEY, applied_to bigint NOT NULL, applied_at timestamptz NOT NULL
  ) WITH (fillfactor = 50);

  -- Entries of the timeline that the columns of a recipient cannot hold: retries, late and repeated reports.
  CREATE TABLE timeline_notes (
    id uuid PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts,
    message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE, position smallint NOT NULL,
    at timestamptz NOT NULL, status text NOT NULL, detail text NOT NULL
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
  CREATE INDEX timeline_notes_message ON timeline_notes (message_id);
`;

/** Messages that people sent to the gateway's own number, and the account that such a message belongs to. */
const INBOUND = `
  -- account_id is the account that wrote to the sender last; null: no account has written to it. The newest message
  -- from a number opens the account's WhatsApp window, in which it may send free text to that number.
  CREATE TABLE inbound_messages (
    id uuid PRIMARY KEY, sent_at timestamptz NOT NULL, received_at timestamptz NOT NULL,
    channel text NOT NULL CHECK (channel IN ('whatsapp')),
    provider text NOT NULL, sid text NOT NULL, sender text NOT NULL,
    type text NOT NULL, content text, account_id uuid REFERENCES accounts
  );
  CREATE UNIQUE INDEX inbound_messages_sid ON inbound_messages (provider, sid);
  CREATE INDEX inbound_messages_owner ON inbound_messages (sender, account_id, channel, sent_at DESC);

  CREATE TABLE whatsapp_writers ( -- Which account wrote to a WhatsApp number last.
    number text PRIMARY KEY, account_id uuid NOT NULL, message_id uuid NOT NULL, wrote_at timestamptz NOT NULL
  );
  CREATE INDEX whatsapp_writers_message ON whatsapp_writers (message_id);
`;

const usage = (table: string, time: string) => `
  CREATE TABLE ${table} (
    account_id uuid NOT NULL, ${time} timestamptz NOT NULL,
    channel text NOT NULL, environment text NOT NULL, status text NOT NULL, api_key_id text NOT NULL,
    messages bigint NOT NULL, cost_minor bigint NOT NULL,
    PRIMARY KEY (account_id, ${time}, channel, environment, status, api_key_id)
  ) WITH (fillfactor = 80);`;
const eachStatus = (column: (status: string) => string) => STATUSES.map(column).join(', ');

/**
 * Counts of messages: by hour and day for usage, and by number for lists (src/storage/message-index/README.md). The
 * transactions that accept messages or change their status add rows to usage_deltas, and so wait for no lock. A
 * periodic task deletes these rows and adds their sums to the other tables. A count is the sum over both, so it is
 * always up to date.
 */
const USAGE = `
  ${usage('usage_hours', 'hour')}
  ${usage('usage_days', 'day')}

  CREATE TABLE usage_deltas (
    LIKE usage_hours, block int NOT NULL, bitmap bigint NOT NULL -- The messages' smallest block, and their bits in it.
  ) WITH (${EMPTIED});

  -- Block b of a size counts the messages numbered b * size + 1 to (b + 1) * size. The smallest blocks also have a bit
  -- for each message, by status. API keys have no blocks of the smallest size: there would be as many such blocks as
  -- messages.
  CREATE TABLE message_blocks (
    account_id uuid NOT NULL,
    size int NOT NULL, block int NOT NULL,
    ${eachStatus((status) => `${status} int NOT NULL`)},
    channel text NOT NULL, api_key_id text NOT NULL, environment text NOT NULL,
    ${eachStatus((status) => `${status}_bitmap bigint NOT NULL`)},
    PRIMARY KEY (account_id, channel, api_key_id, size, block, environment)
  ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
`;

/** Contacts and their imports. */
const CONTACTS = `
  -- search_text is folded by the gateway, so the database's case rules do not matter. attributes are json, not
  -- jsonb, to be returned unchanged. Half of each page is free: an import of unchanged contacts writes to no index.
  CREATE TABLE contacts (
    id uuid PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
    name text, phone text, email text, external_id text,
    tags text[] NOT NULL, attributes json NOT NULL, search_text text NOT NULL,
    ${environmentOf('contacts')},
    CHECK (coalesce(phone, email, external_id) IS NOT NULL)
  ) WITH (fillfactor = 50);
  CREATE INDEX contacts_of ON contacts (account_id, environment, id);
  CREATE UNIQUE INDEX contacts_phone_of ON contacts (account_id, environment, phone) WHERE phone IS NOT NULL;
  CREATE UNIQUE INDEX contacts_external_id_of ON contacts (account_id, environment, external_id)
    WHERE external_id IS NOT NULL;
  CREATE INDEX contacts_email ON contacts (account_id, lower(email)) WHERE email IS NOT NULL; -- For imports.
  CREATE INDEX contacts_search ON contacts USING gin (search_terms(right(account_id::text, 6), search_text, tags));
  ALTER INDEX contacts_search ALTER COLUMN 1 SET STATISTICS 0;

  -- csv is kept until the import ends. That takes seconds, so it is not compressed.
  CREATE TABLE contact_imports (
    id uuid PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL, finished_at timestamptz,
    rows_total integer NOT NULL, rows_done integer NOT NULL DEFAULT 0,
    created integer NOT NULL DEFAULT 0, updated integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0, faults integer NOT NULL DEFAULT 0,
    state text NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed')),
    created_by text NOT NULL, failure text, csv text,
    ${environmentOf('contact_imports')},
    CHECK ((csv IS NULL) = (state IN ('done', 'failed'))),
    CHECK (rows_done = created + updated + failed)
  );
  ALTER TABLE contact_imports ALTER COLUMN csv SET STORAGE EXTERNAL;
  CREATE INDEX contact_imports_account ON contact_imports (account_id, id DESC);

  CREATE TABLE contact_import_faults ( -- What is wrong in single rows of an import.
    import_id uuid NOT NULL REFERENCES contact_imports ON DELETE CASCADE, seq integer NOT NULL, line integer NOT NULL,
    column_name text, value text,
    code text NOT NULL, message text NOT NULL,
    PRIMARY KEY (import_id, seq)
  );
`;

/** Devices that push messages go to. */
const DEVICES = `
  -- A token identifies one device in its account and environment, even if another user signs in on it.
  CREATE TABLE devices (
    id uuid PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
    platform text NOT NULL CHECK (platform IN ('ios', 'android', 'web')),
    user_id text NOT NULL, token text NOT NULL, p256dh text, auth text,
    ${environmentOf('devices')},
    CHECK ((platform = 'web') = (p256dh IS NOT NULL AND auth IS NOT NULL))
  );
  CREATE INDEX devices_of ON devices (account_id, environment, id);
  CREATE INDEX devices_user_of ON devices (account_id, environment, user_id);
  CREATE UNIQUE INDEX devices_token ON devices (account_id, environment, token);
`;

/** The events of an account, in the order of its feed. */
const EVENTS = `
  -- The last number of an account's feed. It is not in accounts, because sends lock the row in accounts, and outcomes
  -- lock this row.
  CREATE TABLE event_feeds (
    account_id uuid PRIMARY KEY REFERENCES accounts, last_seq bigint NOT NULL DEFAULT 0
  ) WITH (${BUSY});

  -- body is stored without its beginning, which other columns and rows repeat (src/storage/stores/event.store.ts).
  CREATE TABLE events (
    account_id uuid NOT NULL, seq bigint NOT NULL,
    message_id uuid, recorded_at timestamptz NOT NULL,
    position smallint, type text NOT NULL, body text NOT NULL, is_sandbox boolean NOT NULL DEFAULT false,
    PRIMARY KEY (account_id, seq) WITH (fillfactor = 100)
  ) WITH (${GROWING});
  CREATE INDEX events_sandbox ON events (account_id, seq) WHERE is_sandbox;
  -- Each type of event exists once for a recipient. The hash is 9 bytes smaller than type and position.
  CREATE UNIQUE INDEX events_fire_once ON events (message_id, hashtextextended(type, position))
    WHERE message_id IS NOT NULL;
  -- An event of a whole message has no position, and a message has one such event.
  CREATE UNIQUE INDEX events_once_a_message ON events (message_id) WHERE position IS NULL AND message_id IS NOT NULL;
`;

/** Events that nearly every message causes. An index of the other events has few entries. */
const COMMON_EVENTS = `('sms.sent', 'email.sent', 'push.sent', 'whatsapp.delivered', 'whatsapp.read')`;

/** Webhook endpoints, and their deliveries with all attempts. */
const WEBHOOKS = `
  CREATE TABLE webhooks (
    id uuid PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts,
    url text NOT NULL, events text[] NOT NULL CHECK (cardinality(events) > 0),
    description text, is_active boolean NOT NULL DEFAULT true,
    disabled_reason text, failing_since timestamptz,
    max_retries integer NOT NULL CHECK (max_retries BETWEEN 0 AND 5), secret_sealed text NOT NULL,
    created_at timestamptz NOT NULL, deleted_at timestamptz,
    ${environmentOf('webhooks')}
  );
  CREATE INDEX webhooks_account ON webhooks (account_id, created_at DESC) WHERE deleted_at IS NULL;
  CREATE INDEX webhooks_of ON webhooks (account_id);

  -- One event for one endpoint. Its environment is the environment of the event.
  CREATE TABLE webhook_deliveries (
    id uuid PRIMARY KEY, account_id uuid NOT NULL,
    webhook_id uuid NOT NULL, event_seq bigint NOT NULL, created_at timestamptz NOT NULL,
    next_retry_at timestamptz, attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0), http_status integer,
    event text NOT NULL,
    status text NOT NULL CHECK (status IN ('pending', 'retrying', 'success', 'failed', 'canceled')),
    response_body text, error_message text,
    retries_from integer, -- Attempts before a recovery, which do not count against max_retries; null: none.
    -- True or null. A success does not change this column. So the update stays HOT, although an index contains the
    -- column.
    has_failed boolean GENERATED ALWAYS AS (CASE status WHEN 'failed' THEN true END) STORED,
    CHECK ((status = 'retrying') = (next_retry_at IS NOT NULL))
  ) WITH (fillfactor = 60, ${GROWING});
  CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (account_id, event_seq, webhook_id)
    WITH (fillfactor = 100);
  CREATE INDEX webhook_deliveries_of ON webhook_deliveries (webhook_id, id);
  CREATE INDEX webhook_deliveries_retried ON webhook_deliveries (webhook_id, id) WHERE next_retry_at IS NOT NULL;
  CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (webhook_id, id) WHERE has_failed;
  CREATE INDEX webhook_deliveries_rare ON webhook_deliveries (event, webhook_id, id) WHERE event NOT IN ${COMMON_EVENTS};

  CREATE TABLE webhook_attempts (
    delivery_id uuid NOT NULL, account_id uuid NOT NULL,
    at timestamptz NOT NULL, number integer NOT NULL CHECK (number > 0),
    http_status integer, duration_ms integer NOT NULL, error_message text,
    PRIMARY KEY (delivery_id, number)
  ) WITH (${GROWING});

  -- Deliveries by the hour of their id. Triggers add to delivery_deltas, and a periodic task adds their sums here.
  CREATE TABLE delivery_hours (
    webhook_id uuid NOT NULL REFERENCES webhooks, hour timestamptz NOT NULL, deliveries bigint NOT NULL,
    event text NOT NULL, status text NOT NULL,
    PRIMARY KEY (webhook_id, hour, event, status)
  ) WITH (fillfactor = 80);
  CREATE INDEX delivery_hours_empty ON delivery_hours (webhook_id) WHERE deliveries = 0;
  CREATE TABLE delivery_deltas (LIKE delivery_hours) WITH (${EMPTIED});
  CREATE FUNCTION uuid_hour(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 3600000 * 3600) $$;
`;

/** The audit log. Each entry holds a hash of itself and of the entry before it (src/domain/audit/audit-chain.ts). */
const AUDIT = `
  CREATE TABLE audit_entries (
    id uuid PRIMARY KEY, account_id uuid REFERENCES accounts,
    at timestamptz NOT NULL, actor text NOT NULL, action text NOT NULL, target text NOT NULL,
    before jsonb, after jsonb,
    seq bigint UNIQUE, hash bytea CHECK (length(hash) = 32)
  );
  CREATE INDEX audit_account ON audit_entries (account_id, id DESC);
  CREATE INDEX audit_action ON audit_entries (account_id, action, id);
  CREATE INDEX audit_action_of_all ON audit_entries (action, id);
  CREATE INDEX audit_actor ON audit_entries (actor, id);
  CREATE INDEX audit_target ON audit_entries (target, id);
`;
export const AUDIT_HEAD = `
  -- The end of the chain. A transaction that appends an entry locks it. sealed is the end that the gateway signed last.
  -- A signed end that is kept outside the database is compared only with the log of the same log_id.
  CREATE TABLE audit_head (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), log_id uuid NOT NULL DEFAULT gen_random_uuid(),
    seq bigint NOT NULL, hash bytea NOT NULL CHECK (length(hash) = 32), sealed text
  );
  INSERT INTO audit_head (seq, hash) VALUES (0, decode(repeat('00', 32), 'hex'));
  ${refusal('refuse_audit_change', `'% is append-only', TG_TABLE_NAME`, 'integrity_constraint_violation')}
  CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW
    EXECUTE FUNCTION refuse_audit_change();
  CREATE TRIGGER only_forward BEFORE UPDATE ON audit_head FOR EACH ROW
    WHEN (NEW.log_id <> OLD.log_id OR NEW.sealed IS NULL
      OR NEW.seq <> OLD.seq + 1 AND (NEW.seq, NEW.hash) <> (OLD.seq, OLD.hash)) EXECUTE FUNCTION refuse_audit_change();
  CREATE TRIGGER never_deleted BEFORE DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
  CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_entries EXECUTE FUNCTION refuse_audit_change();
  CREATE TRIGGER never_emptied BEFORE TRUNCATE ON audit_head EXECUTE FUNCTION refuse_audit_change();
`;

/** State that the gateway's processes share: rate limits, job leases, heartbeats and the health of providers. */
const PROCESSES = `
  -- The log of counted requests, a row a bucket (src/storage/rate-limit/README.md). UNLOGGED: writing costs no WAL, and
  -- after a crash of the server the budgets begin anew. Only bucket is indexed and most of each page is free, so every
  -- write is a HOT update. The array is never compressed.
  CREATE UNLOGGED TABLE rate_limits (
    checked_at bigint NOT NULL, per_minute integer NOT NULL, per_second integer NOT NULL,
    asked integer NOT NULL, granted integer NOT NULL,
    bucket text COLLATE "C" PRIMARY KEY, hits bigint[] NOT NULL
  ) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off, toast.autovacuum_vacuum_threshold = 500,
    toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_cost_delay = 0,
    toast.vacuum_truncate = off);
  ALTER TABLE rate_limits ALTER COLUMN hits SET STORAGE EXTERNAL, ALTER COLUMN hits SET STATISTICS 0;

  -- Jobs that a process started directly, under a lease until due_at (src/queue/README.md). If the process cannot
  -- finish a job, the job in the column job is put into the queue. A job that is left for other workers is due at once.
  CREATE TABLE job_leases (
    id uuid PRIMARY KEY, due_at timestamptz NOT NULL, queue text NOT NULL, job json NOT NULL
  );
  CREATE INDEX job_leases_due_at ON job_leases (due_at);

  CREATE TABLE heartbeats ( -- One row a process, written by the check of readiness.
    process text PRIMARY KEY, beat_at timestamptz NOT NULL
  ) WITH (fillfactor = 50);

  -- State of carriers and providers, reported by each worker process every few seconds. UNLOGGED: a crash may lose it.
  CREATE UNLOGGED TABLE provider_health (
    process text NOT NULL, channel text NOT NULL, name text NOT NULL,
    seen_at timestamptz NOT NULL, status jsonb NOT NULL,
    PRIMARY KEY (process, channel, name)
  ) WITH (fillfactor = 50);
`;

/** Makes a trigger after each statement that changes `table`. Its function reads the new or old rows as \`changed\`. */
const afterEach = (table: string, event: string, rows: 'NEW' | 'OLD', name: string, sign = '') => `
  CREATE TRIGGER ${name}_${event.toLowerCase()}_${rows.toLowerCase()} AFTER ${event} ON ${table}
    REFERENCING ${rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ${name}(${sign && `'${sign}'`});`;

/** Refuses to delete rows of `table` or to change their key, because other rows refer to them permanently. */
const kept = (table: string, key: string) => `
  CREATE TRIGGER never_deleted BEFORE DELETE OR UPDATE OF ${key} ON ${table} FOR EACH ROW
    EXECUTE FUNCTION refuse_deletion();`;
const cascade = (table: string, name: string, deletions: string) => `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      ${deletions}
      RETURN NULL;
    END $$;
  ${afterEach(table, 'DELETE', 'OLD', name)}`;

/**
 * Replaces foreign keys for tables that get a row with every message. Rows of tables that are `kept` cannot be deleted.
 * Deleting other rows also deletes the rows that refer to them, once for each statement. These rows are found by a list
 * of keys or by an index, and not by a join. A join that was planned while the tables were empty would later read whole
 * tables.
 */
export const REFERENCES = `
  ${refusal('refuse_deletion', `'rows of % are never deleted and keep their key: messages and money refer to them', TG_TABLE_NAME`, 'restrict_violation')}
  ${kept('accounts', 'id')} ${kept('users', 'id')} ${kept('api_keys', 'key_id')} ${kept('webhooks', 'id')}
  ${cascade(
    'messages',
    'delete_rows_of_messages',
    `DELETE FROM recipients WHERE message_id = ANY (ARRAY(SELECT id FROM changed));
      DELETE FROM provider_sids WHERE message_id = ANY (ARRAY(SELECT id FROM changed));
      DELETE FROM whatsapp_writers WHERE message_id = ANY (ARRAY(SELECT id FROM changed));`,
  )}
  ${cascade(
    'events',
    'delete_deliveries_of_events',
    `DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
        SELECT d.id FROM changed CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries
          WHERE account_id = changed.account_id AND event_seq = changed.seq OFFSET 0) d));`,
  )}
  ${cascade(
    'webhook_deliveries',
    'delete_attempts_of_deliveries',
    'DELETE FROM webhook_attempts WHERE delivery_id = ANY (ARRAY(SELECT id FROM changed));',
  )}
`;

/** Makes a trigger function that adds the number of changed rows to the counts of their lists, or subtracts it. */
const countRows = (name: string, list: string) => `
  CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO list_counts (account_id, list, rows)
      SELECT account_id, ${list}, TG_ARGV[0]::int * count(*) FROM changed WHERE account_id IS NOT NULL
      GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (account_id, list) DO UPDATE SET rows = list_counts.rows + excluded.rows;
      RETURN NULL;
    END $$;`;
const counted = (table: string, count: string) =>
  afterEach(table, 'INSERT', 'NEW', count, '1') + afterEach(table, 'DELETE', 'OLD', count, '-1');
/** The triggers that count the rows of lists. */
export const COUNTS = `
  ${countRows('count_rows', 'TG_TABLE_NAME')}
  -- Rows of the sandbox are counted as a separate list, such as contacts_sandbox.
  ${countRows('count_rows_by_environment', `TG_TABLE_NAME || CASE environment WHEN 'sandbox' THEN '_sandbox' ELSE '' END`)}
  ${counted('contacts', 'count_rows_by_environment')} ${counted('devices', 'count_rows_by_environment')}
  ${counted('api_keys', 'count_rows')} ${counted('audit_entries', 'count_rows')}
  CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
      SELECT webhook_id, uuid_hour(id), event, status, TG_ARGV[0]::int * count(*) FROM changed GROUP BY 1, 2, 3, 4;
      RETURN NULL;
    END $$;
  ${counted('webhook_deliveries', 'count_deliveries')}
  ${afterEach('webhook_deliveries', 'UPDATE', 'NEW', 'count_deliveries', '1')}
  ${afterEach('webhook_deliveries', 'UPDATE', 'OLD', 'count_deliveries', '-1')}
`;

/** In this order each constant refers only to tables before it. */
const NOUNS = [SEARCH, ACCOUNTS, USERS, API_KEYS, MONEY, REFUSE_BATCH, MESSAGES, RECIPIENTS, REPORTS].concat(
  [INBOUND, USAGE, CONTACTS, DEVICES, EVENTS, WEBHOOKS, AUDIT, AUDIT_HEAD, PROCESSES],
  [REFERENCES, COUNTS],
);

/** Creates the whole schema, and the prices of a new gateway. */
export async function up(knex: Knex): Promise<void> {
  for (const statements of NOUNS) await knex.raw(statements);
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

/** Drops every table and function that `up` creates, with all data. */
export async function down(knex: Knex): Promise<void> {
  const named = (kind: 'TABLE' | 'FUNCTION') =>
    [...NOUNS.join('').matchAll(new RegExp(`CREATE (?:UNLOGGED )?${kind} (\\w+)`, 'g'))]
      .map(([, name]) => name)
      .join();
  await knex.raw(`DROP TABLE IF EXISTS ${named('TABLE')} CASCADE`);
  await knex.raw(`DROP FUNCTION IF EXISTS ${named('FUNCTION')} CASCADE`);
}
