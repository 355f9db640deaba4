import type pg from 'pg';
import { BACKFILL } from '../../migrations/0050_analytics.ts';

/** This account and another one send many messages to this phone number. */
export const REGULAR = '+256700000001';
/** One message in 50,000 has this text. */
export const NEEDLE = 'needle';
/** Price of each message, and the top-up before them. */
export const PRICE_MINOR = 30;
export const TOP_UP_MINOR = 1_000_000_000_000;

const YEAR_MS = 365 * 24 * 3_600_000;
/**
 * Length of the busy time in ms. Messages in it arrive as on a day with five million: 200,000 an hour if there are two
 * million.
 */
const BUSY_MS = 5 * 3_600_000;

type Run = (text: string, values?: unknown[]) => Promise<pg.QueryResult>;

/** The messages numbered `from` to `upTo`, out of `count` that an account has sent until `now`. */
export interface Chunk {
  readonly accountId: string;
  readonly now: Date;
  readonly count: number;
  readonly from: number;
  readonly upTo: number;
}

/** Returns the parameters of `MADE`. */
const madeBy = ({ accountId, now, count, from, upTo }: Chunk) => [
  accountId,
  now,
  count,
  from,
  YEAR_MS / 1000,
  BUSY_MS / 1000,
  upTo,
];

/** SQL for a UUID of version 7. `time` is its time, and `number` makes it unique. */
const uuid = (time: string, number: string) =>
  `(lpad(to_hex((extract(epoch FROM ${time}) * 1000)::bigint), 12, '0') || '7000'
    || '8' || lpad(to_hex(${number}), 15, '0'))::uuid`;
const MADE = `(SELECT n, CASE WHEN 2 * n <= $3 THEN $2::timestamptz - make_interval(secs => $5) * (1 - 2.0 * n / $3)
    - make_interval(secs => $6) ELSE $2::timestamptz - make_interval(secs => $6) * (2 - 2.0 * n / $3) END AS at
  FROM generate_series($4::int, $7::int) n) made`;
const STATUS = `CASE WHEN n % 1009 = 0 THEN 'sent' WHEN n > $3 - 20 OR n = $3 / 2 + 10 THEN 'pending'
  WHEN n % 997 = 0 THEN 'failed' WHEN n % 19 = 1 THEN 'sent' ELSE 'delivered' END`;

/** Inserts messages and their recipients. */
export async function writeMessages(run: Run, chunk: Chunk, keyId: string, rareKeyId: string): Promise<void> {
  await run(
    `WITH message AS (
       INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, currency, api_key_id, sender, content)
       SELECT ${uuid('at', 'n')}, $1, n, ${PRICE_MINOR}, ${PRICE_MINOR}, at, at, 'sms',
         CASE WHEN n % 1009 = 0 THEN 'sandbox' ELSE 'production' END, 'UGX',
         CASE WHEN n % 499 = 0 THEN $8 ELSE $9 END, 'SERVICE',
         CASE WHEN n % 50021 = 0 THEN '${NEEDLE}' ELSE 'Message number ' || n END
       FROM ${MADE}
     )
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, delivered_at,
       failed_at, error_code)
     SELECT ${uuid('at', 'n')}, $1, 0,
       CASE WHEN n % 2003 = 0 THEN '${REGULAR}' ELSE '+2567' || lpad((n::bigint * 7919 % 100000000)::text, 8, '0') END,
       ${PRICE_MINOR}, status, CASE WHEN status IN ('sent', 'delivered') THEN at END,
       CASE WHEN status = 'delivered' THEN at END, CASE WHEN status = 'failed' THEN at END,
       CASE WHEN status = 'failed' THEN 'rejected' END
     FROM (SELECT n, at, ${STATUS} AS status FROM ${MADE}) made`,
    [...madeBy(chunk), rareKeyId, keyId],
  );
}

/**
 * Inserts the ledger entries of the messages, after the one of the top-up. For the second half of the messages, it
 * inserts events and deliveries too.
 */
export async function writeConsequences(
  run: Run,
  chunk: Chunk,
  webhookIds: readonly string[],
): Promise<void> {
  // A trigger expects charges in the transaction of their message. Intake is not used here, so switch the trigger off.
  await run('ALTER TABLE ledger_entries DISABLE TRIGGER charged_once');
  await run(
    `INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, message_id, kind)
     SELECT $1, n + 1, -${PRICE_MINOR}, ${TOP_UP_MINOR} - ${PRICE_MINOR} * n::bigint, at, ${uuid('at', 'n')}, 'charge' FROM ${MADE}`,
    madeBy(chunk),
  );
  await run('ALTER TABLE ledger_entries ENABLE TRIGGER charged_once');
  if (2 * chunk.upTo <= chunk.count) return;
  await run(
    `WITH event AS (
       INSERT INTO events (account_id, seq, message_id, recorded_at, position, type, body)
       SELECT $1, n, ${uuid('at', 'n')}, at, 0, CASE WHEN n % 997 = 0 THEN 'sms.failed' ELSE 'sms.sent' END,
         '{"event":"sms.sent"}' FROM ${MADE} WHERE 2 * n > $3
     )
     INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, attempts, http_status,
       event, status, next_retry_at)
     SELECT ${uuid('at', '2 * n + w.place')}, $1, w.id, n, at, 1, 200,
       CASE WHEN n % 997 = 0 THEN 'sms.failed' ELSE 'sms.sent' END,
       CASE WHEN n % 1999 = 0 THEN 'failed' WHEN n % 4999 = 0 THEN 'retrying' ELSE 'success' END,
       CASE WHEN n % 1999 <> 0 AND n % 4999 = 0 THEN at END
     FROM ${MADE}, unnest($8::uuid[]) WITH ORDINALITY AS w (id, place)
     WHERE 2 * n > $3 AND (w.place = 1 OR n % 100 = 0)`,
    [...madeBy(chunk), webhookIds],
  );
}

/** SQL: one row in fifty belongs to the sandbox. */
const ENVIRONMENT = `CASE WHEN n % 50 = 7 THEN 'sandbox' ELSE 'production' END`;

/**
 * Inserts what does not depend on the account's messages: another account with messages, contacts, devices, test
 * deliveries, an audit log, accounts and keys.
 */
export async function fillOthers(
  run: Run,
  accountId: string,
  otherId: string,
  count: number,
  now: Date,
): Promise<void> {
  const number = Math.ceil(count / 20);
  const id = uuid(`$2::timestamptz - make_interval(mins => $3 - n)`, 'n');
  const values = [accountId, now, number];
  await run(
    `WITH message AS (
       INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, currency, sender, content)
       SELECT ${id}, $1, n, ${PRICE_MINOR}, ${PRICE_MINOR}, $2, $2, 'sms', 'production', 'UGX', 'SERVICE', 'From somebody else'
       FROM generate_series(1, $3::int) n RETURNING id)
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, delivered_at)
     SELECT id, $1, 0, '${REGULAR}', ${PRICE_MINOR}, 'delivered', $2, $2 FROM message`,
    [otherId, now, number],
  );
  await run('UPDATE accounts SET sms_seq = $2 WHERE id = $1', [otherId, number]);
  await run(
    `INSERT INTO contacts (id, account_id, environment, created_at, updated_at, name, phone, tags, attributes, search_text)
     SELECT ${uuid(`$2::timestamptz - make_interval(mins => $3 - n)`, '2 * n + place')}, account, ${ENVIRONMENT}, $2, $2,
       'Contact ' || n, '+2567' || lpad(n::text, 8, '0'),
       CASE WHEN n % 100 = 0 THEN '{all,vip}'::text[] ELSE '{all}' END, '{}',
       'contact ' || n || ' +2567' || lpad(n::text, 8, '0')
     FROM generate_series(1, $3::int) n, unnest($1::uuid[]) WITH ORDINALITY AS owner (account, place)`,
    [[accountId, otherId], now, number],
  );
  await run(
    `INSERT INTO devices (id, account_id, environment, created_at, updated_at, platform, user_id, token)
     SELECT ${id}, $1, ${ENVIRONMENT}, $2, $2, 'android', 'user-' || n,
       'token-' || n FROM generate_series(1, $3::int) n`,
    values,
  );
  await run(
    `INSERT INTO events (account_id, seq, recorded_at, type, body, is_sandbox)
     SELECT $1, n, $2::timestamptz - interval '29 days', 'webhook.test', '{"event":"webhook.test"}', true
     FROM generate_series(1, 30) n`,
    [accountId, now],
  );
  await run(
    `INSERT INTO audit_entries (id, account_id, at, actor, action, target)
     SELECT ${id}, $1, $2::timestamptz - make_interval(mins => $3 - n),
       'user:' || n % 100, 'action.' || n % 99, 'target-' || n % 101
     FROM generate_series(1, $3::int) n`,
    values,
  );
  await run(
    `WITH made AS (
       INSERT INTO accounts (id, name, email, currency, created_at)
       SELECT ${id}, 'Account ' || n, 'account-' || n || '@bench.example', 'UGX', $2
       FROM generate_series(1, $3::int / 10) n WHERE $1::uuid IS NOT NULL RETURNING id)
     INSERT INTO event_feeds (account_id) SELECT id FROM made`,
    values,
  );
  await run(
    `INSERT INTO api_keys (key_id, account_id, name, secret_hash, scopes, environment, created_by, issued_by, created_at)
     SELECT lpad(to_hex(n), 16, '0'), $1, 'Key ' || n, decode(repeat('00', 32), 'hex'), '{SEND_SMS}', 'production',
       'system:bench', 'system:bench', $2::timestamptz - make_interval(mins => n)
     FROM generate_series(1, $3::int / 50) n`,
    values,
  );
}

/** Inserts the counts that intake and triggers would have written. */
export async function fillCounts(run: Run): Promise<void> {
  await run('DELETE FROM analytics_marks');
  await run(BACKFILL);
  await run(
    `CREATE TEMP TABLE counted AS
     SELECT m.account_id, date_trunc('hour', m.created_at, 'UTC') AS hour, m.channel, m.environment, r.status,
       coalesce(m.api_key_id, '') AS api_key_id, (m.seq - 1) / 64 AS block,
       bit_xor(1::bigint << ((m.seq - 1) % 64)::int) AS bitmap, count(*) AS messages,
       sum(m.cost_minor) AS cost_minor
     FROM messages m JOIN recipients r ON r.message_id = m.id GROUP BY 1, 2, 3, 4, 5, 6, 7`,
  );
  await run(
    `INSERT INTO usage_hours (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor)
     SELECT account_id, hour, channel, environment, status, api_key_id, sum(messages), sum(cost_minor)
     FROM counted GROUP BY 1, 2, 3, 4, 5, 6`,
  );
  await run(
    `INSERT INTO usage_days (account_id, day, channel, environment, status, api_key_id, messages, cost_minor)
     SELECT account_id, date_trunc('day', hour, 'UTC'), channel, environment, status, api_key_id, sum(messages),
       sum(cost_minor)
     FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6`,
  );
  await run(
    `INSERT INTO message_blocks (account_id, channel, environment, api_key_id, size, block, pending, sent, delivered,
       failed, pending_bitmap, sent_bitmap, delivered_bitmap, failed_bitmap)
     SELECT account_id, channel, environment, CASE WHEN l.by_key THEN api_key_id ELSE '' END, l.size,
       block / (l.size / 64), ${['pending', 'sent', 'delivered', 'failed']
         .map((status) => `coalesce(sum(messages) FILTER (WHERE status = '${status}'), 0)`)
         .join(', ')},
       ${['pending', 'sent', 'delivered', 'failed']
         .map((status) => `coalesce(bit_xor(bitmap) FILTER (WHERE status = '${status}' AND l.size = 64), 0)`)
         .join(', ')}
     FROM counted JOIN (VALUES (64, false), (2048, false), (65536, false), (2048, true), (65536, true))
       AS l (size, by_key) ON NOT l.by_key OR api_key_id <> '' GROUP BY 1, 2, 3, 4, 5, 6`,
  );
  await run(
    `INSERT INTO failed_messages (account_id, channel, seq) SELECT m.account_id, m.channel, m.seq
     FROM recipients r JOIN messages m ON m.id = r.message_id WHERE r.status = 'failed'`,
  );
  await run('INSERT INTO messages_with_failures SELECT * FROM failed_messages');
  await run(
    `INSERT INTO delivery_hours (webhook_id, hour, event, status, deliveries)
     SELECT webhook_id, uuid_hour(id), event, status, count(*) FROM webhook_deliveries GROUP BY 1, 2, 3, 4`,
  );
  const lists = {
    contacts: `contacts WHERE environment = 'production'`,
    contacts_sandbox: `contacts WHERE environment = 'sandbox'`,
    devices: `devices WHERE environment = 'production'`,
    devices_sandbox: `devices WHERE environment = 'sandbox'`,
    api_keys: 'api_keys',
    audit_entries: 'audit_entries',
  };
  for (const [list, from] of Object.entries(lists)) {
    await run(
      `INSERT INTO list_counts (account_id, list, rows)
       SELECT account_id, '${list}', count(*) FROM ${from} GROUP BY account_id
       ON CONFLICT (account_id, list) DO UPDATE SET rows = excluded.rows`,
    );
  }
}
