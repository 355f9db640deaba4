import type { Knex } from 'knex';

/** The columns by which figures are grouped. A missing value is stored as ''. */
const KEY = `account_id uuid NOT NULL, channel text NOT NULL, environment text NOT NULL, api_key_id text NOT NULL,
  sender text NOT NULL, prefix text NOT NULL, provider text NOT NULL`;
const FIGURES =
  'messages bigint NOT NULL, recipients bigint NOT NULL, cost_minor bigint NOT NULL, refund_minor bigint NOT NULL';

/**
 * Figures of messages by the quarter hour in which they were accepted. Status changes and refunds add rows to
 * `analytics_deltas` in their own transaction. A background job adds these rows to the slots. It also adds the messages
 * that were accepted since its mark. `prefix` is the beginning of a phone number. A row counts messages by their
 * status, or recipients by theirs.
 */
const TABLES = `
  CREATE TABLE analytics_deltas (
    slot timestamptz NOT NULL, ${KEY}, status text NOT NULL, error_code text NOT NULL,
    submit_bucket smallint, report_bucket smallint, ${FIGURES}
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
  CREATE TABLE analytics_slots (
    slot timestamptz NOT NULL, minutes integer NOT NULL, ${KEY}, status text NOT NULL, error_code text NOT NULL, ${FIGURES},
    PRIMARY KEY (account_id, minutes, slot, channel, environment, api_key_id, sender, status, prefix, provider, error_code)
  ) WITH (fillfactor = 80);
  CREATE TABLE analytics_latencies (
    slot timestamptz NOT NULL, recipients bigint NOT NULL, minutes integer NOT NULL, bucket smallint NOT NULL, ${KEY},
    measure text NOT NULL CHECK (measure IN ('submit', 'report')),
    PRIMARY KEY (account_id, minutes, slot, channel, environment, api_key_id, sender, prefix, provider, measure, bucket)
  ) WITH (fillfactor = 80);
  CREATE TABLE analytics_marks (
    account_id uuid PRIMARY KEY REFERENCES accounts, sms_seq bigint NOT NULL, email_seq bigint NOT NULL,
    push_seq bigint NOT NULL, whatsapp_seq bigint NOT NULL, ledger_seq bigint
  ) WITH (fillfactor = 50);
`;

/** Counts the messages that exist already, with their present status. */
export const BACKFILL = `
  INSERT INTO analytics_deltas (account_id, slot, channel, environment, api_key_id, sender, status, prefix, provider,
    error_code, submit_bucket, report_bucket, messages, recipients, cost_minor, refund_minor)
  WITH state AS (
    SELECT m.account_id, date_bin('15 minutes', m.created_at, '2000-01-01T00:00Z') AS slot, m.channel, m.environment,
      coalesce(m.api_key_id, '') AS api_key_id, m.sender, m.id, r.status,
      CASE WHEN m.channel IN ('sms', 'whatsapp') THEN left(r.address, 5) ELSE '' END AS prefix,
      coalesce(r.provider, '') AS provider, coalesce(r.error_code, '') AS error_code, r.cost_minor,
      CASE WHEN m.environment = 'production' AND r.sent_at <= coalesce(r.failed_at, r.sent_at)
        THEN latency_bucket(r.sent_at - greatest(m.created_at, m.scheduled_for)) END AS submit_bucket,
      CASE WHEN r.sent_at <= coalesce(r.delivered_at, r.failed_at)
        THEN latency_bucket(coalesce(r.delivered_at, r.failed_at) - r.sent_at) END AS report_bucket,
      coalesce(l.amount_minor, 0) AS refund_minor
    FROM messages m JOIN recipients r ON r.message_id = m.id
    LEFT JOIN ledger_entries l ON l.message_id = r.message_id AND l.position = r.position AND l.kind = 'refund'
  )
  SELECT account_id, slot, channel, environment, api_key_id, sender, status, prefix, provider, error_code,
    submit_bucket, report_bucket, 0, count(*), sum(cost_minor), sum(refund_minor)
  FROM state GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
  UNION ALL
  SELECT account_id, slot, channel, environment, api_key_id, sender, status, '', '', '', NULL, NULL, count(*), 0, 0, 0
  FROM (
    SELECT account_id, slot, channel, environment, api_key_id, sender, id,
      CASE WHEN bool_or(status = 'pending') THEN 'pending' WHEN bool_or(status = 'sent') THEN 'sent'
        WHEN bool_or(status = 'delivered') THEN 'delivered' ELSE 'failed' END AS status
    FROM state GROUP BY 1, 2, 3, 4, 5, 6, 7
  ) whole GROUP BY 1, 2, 3, 4, 5, 6, 7;
  INSERT INTO analytics_marks SELECT id, sms_seq, email_seq, push_seq, whatsapp_seq, ledger_seq FROM accounts;
`;

/** Returns the histogram bucket of a latency: four buckets for each doubling, from 1 ms. */
const BUCKET = `
  CREATE FUNCTION latency_bucket(latency interval) RETURNS smallint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT floor(4 * ln(greatest(extract(epoch FROM latency) * 1000, 1)::float8) / ln(2::float8))::smallint
  $$;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
  await knex.raw(BUCKET);
  await knex.transaction(async (transaction) => {
    // Without the lock, a message that is accepted or changes meanwhile would be counted twice or never.
    await transaction.raw('LOCK TABLE accounts, messages, recipients, ledger_entries IN SHARE MODE');
    await transaction.raw(BACKFILL);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE analytics_marks, analytics_latencies, analytics_slots, analytics_deltas');
  await knex.raw('DROP FUNCTION latency_bucket(interval)');
}
