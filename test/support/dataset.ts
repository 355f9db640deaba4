import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Operations } from '../../src/domain/operations.ts';

/** An account as it looks after a year, with what the list queries are asked for. */
export interface Dataset {
  readonly accountId: string;
  /** A key with FULL_ACCESS. */
  readonly key: string;
  readonly messages: number;
  /** A key that few of the messages were sent with. */
  readonly rareKeyId: string;
  /** Owed an event for every message of the last hours, and for a few. */
  readonly webhookIds: readonly [string, string];
  /** A message that events and deliveries speak of. */
  readonly messageId: string;
  readonly from: Date;
  readonly to: Date;
}

/** Somebody whom the account, and another one too, write to again and again. */
export const REGULAR = '+256700000001';
/** What one message in 50,000 says. */
export const NEEDLE = 'needle';

const SYSTEM = { kind: 'system', name: 'bench' } as const;
const CHUNK = 100_000;
const YEAR_MS = 365 * 24 * 3_600_000;
/** The rate of a day of five million messages goes on for so long at the end: 200,000 an hour for two million. */
const BUSY_MS = 5 * 3_600_000;

/** A UUID of version 7 made at `time`, the `number`th, in SQL. */
const uuid = (time: string, number: string) =>
  `(lpad(to_hex((extract(epoch FROM ${time}) * 1000)::bigint), 12, '0') || '7000'
    || '8' || lpad(to_hex(${number}), 15, '0'))::uuid`;
const MADE = `(SELECT n, CASE WHEN 2 * n <= $3 THEN $2::timestamptz - make_interval(secs => $5) * (1 - 2.0 * n / $3)
    - make_interval(secs => $6) ELSE $2::timestamptz - make_interval(secs => $6) * (2 - 2.0 * n / $3) END AS at
  FROM generate_series($4::int, $7::int) n) made`;
const STATUS = `CASE WHEN n % 1009 = 0 THEN 'sent' WHEN n > $3 - 20 OR n = $3 / 2 + 10 THEN 'pending'
  WHEN n % 997 = 0 THEN 'failed' WHEN n % 19 = 1 THEN 'sent' ELSE 'delivered' END`;

/**
 * Fills a migrated database with `count` finished messages of one account: half of them over a year, half in the
 * last five hours, with recipients, ledger, and for the last half events and deliveries; with contacts, devices and
 * an audit log of a twentieth of that, and other accounts. A few are rare in each thing that a filter asks for.
 */
export async function fillDatabase(
  operations: Operations,
  client: pg.Client,
  count: number,
  log: (line: string) => void,
): Promise<Dataset> {
  const { account } = await operations.accounts.create.run(SYSTEM, {
    email: 'large@bench.example',
    currency: 'UGX',
  });
  const other = await operations.accounts.create.run(SYSTEM, {
    email: 'other@bench.example',
    currency: 'UGX',
  });
  const accountId = account.id;
  const [main, rare] = await Promise.all(
    ['main', 'rare'].map((name) => {
      const input = { accountId, name, scopes: ['FULL_ACCESS'], environment: 'production' };
      return operations.apiKeys.create.run(SYSTEM, input);
    }),
  );
  const rareKeyId = rare?.apiKey.keyId ?? '';
  const webhookIds = [randomUUID(), randomUUID()] as const;
  const now = new Date();
  const run = (text: string, values: unknown[] = []) => client.query(text, values);

  // The rows are made consistent here, so the checks on each would only cost time.
  await run('SET session_replication_role = replica');
  await run('SET synchronous_commit = off');
  // An index on random values is made faster at the end than row by row.
  const { rows: indexes } = await run(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'recipients_%' AND indexdef NOT LIKE '%UNIQUE%'`,
  );
  for (const { indexname } of indexes) await run(`DROP INDEX ${indexname}`);
  await run(
    `INSERT INTO webhooks (id, account_id, url, events, max_retries, secret_sealed, created_at)
     SELECT id, $1, 'http://127.0.0.1:1/', '{sms.sent}', 3, '', $3 FROM unnest($2::uuid[]) AS w (id)`,
    [accountId, webhookIds, now],
  );
  for (let from = 1; from <= count; from += CHUNK) {
    const upTo = Math.min(count, from + CHUNK - 1);
    const made = [accountId, now, count, from, YEAR_MS / 1000, BUSY_MS / 1000, upTo];
    await run(
      `WITH message AS (
         INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
           environment, currency, api_key_id, sender, content)
         SELECT ${uuid('at', 'n')}, $1, n, 30, 30, at, at, 'sms',
           CASE WHEN n % 1009 = 0 THEN 'sandbox' ELSE 'production' END, 'UGX',
           CASE WHEN n % 499 = 0 THEN $8 ELSE $9 END, 'SERVICE',
           CASE WHEN n % 50021 = 0 THEN '${NEEDLE}' ELSE 'Message number ' || n END
         FROM ${MADE}
       ), entry AS (
         INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, message_id, kind)
         SELECT $1, n, -30, 1e12 - 30 * n, at, ${uuid('at', 'n')}, 'charge' FROM ${MADE}
       )
       INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, delivered_at,
         failed_at, error_code, settled)
       SELECT ${uuid('at', 'n')}, $1, 0,
         CASE WHEN n % 2003 = 0 THEN '${REGULAR}' ELSE '+2567' || lpad((n::bigint * 7919 % 100000000)::text, 8, '0') END,
         30, status, CASE WHEN status IN ('sent', 'delivered') THEN at END,
         CASE WHEN status = 'delivered' THEN at END, CASE WHEN status = 'failed' THEN at END,
         CASE WHEN status = 'failed' THEN 'rejected' END, status IN ('delivered', 'failed')
       FROM (SELECT n, at, ${STATUS} AS status FROM ${MADE}) made`,
      [...made, rareKeyId, main?.apiKey.keyId],
    );
    if (2 * upTo > count) {
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
        [...made, webhookIds],
      );
    }
    log(`${upTo} of ${count} messages written`);
  }
  await fillOthers(run, accountId, other.account.id, count, now);
  for (const { indexdef } of indexes) await run(indexdef);
  await run('UPDATE accounts SET sms_seq = $2, ledger_seq = $2 WHERE id = $1', [accountId, count]);
  await run('UPDATE event_feeds SET last_seq = $2 WHERE account_id = $1', [accountId, count]);
  await fillCounts(run);
  await run('SET session_replication_role = DEFAULT');
  log('vacuum');
  await run('VACUUM ANALYZE');
  const found = await run('SELECT id FROM messages WHERE account_id = $1 AND channel = $2 AND seq = $3', [
    accountId,
    'sms',
    count - 100,
  ]);
  return {
    accountId,
    key: main?.key ?? '',
    messages: count,
    rareKeyId,
    webhookIds,
    messageId: found.rows[0].id,
    from: new Date(now.getTime() - YEAR_MS / 2),
    to: new Date(now.getTime() - YEAR_MS / 4),
  };
}

async function fillOthers(
  run: (text: string, values?: unknown[]) => Promise<unknown>,
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
       SELECT ${id}, $1, n, 30, 30, $2, $2, 'sms', 'production', 'UGX', 'SERVICE', 'From somebody else'
       FROM generate_series(1, $3::int) n RETURNING id)
     INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, delivered_at,
       settled)
     SELECT id, $1, 0, '${REGULAR}', 30, 'delivered', $2, $2, true FROM message`,
    [otherId, now, number],
  );
  await run('UPDATE accounts SET sms_seq = $2 WHERE id = $1', [otherId, number]);
  await run(
    `INSERT INTO contacts (id, account_id, created_at, updated_at, name, phone, tags, attributes, search_text)
     SELECT ${uuid(`$2::timestamptz - make_interval(mins => $3 - n)`, '2 * n + place')}, account, $2, $2,
       'Contact ' || n, '+2567' || lpad(n::text, 8, '0'),
       CASE WHEN n % 100 = 0 THEN '{all,vip}'::text[] ELSE '{all}' END, '{}',
       'contact ' || n || ' +2567' || lpad(n::text, 8, '0')
     FROM generate_series(1, $3::int) n, unnest($1::uuid[]) WITH ORDINALITY AS owner (account, place)`,
    [[accountId, otherId], now, number],
  );
  await run(
    `INSERT INTO devices (id, account_id, created_at, updated_at, platform, user_id, token)
     SELECT ${id}, $1, $2, $2, 'android', 'user-' || n, 'token-' || n FROM generate_series(1, $3::int) n`,
    values,
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
    `INSERT INTO api_keys (key_id, account_id, name, secret_hash, scopes, environment, created_by, created_at)
     SELECT lpad(to_hex(n), 16, '0'), $1, 'Key ' || n, decode(repeat('00', 32), 'hex'), '{SEND_SMS}', 'production',
       'system:bench', $2::timestamptz - make_interval(mins => n)
     FROM generate_series(1, $3::int / 50) n`,
    values,
  );
}

/** What triggers and the acceptance would have counted. */
async function fillCounts(run: (text: string) => Promise<unknown>): Promise<void> {
  await run(
    `CREATE TEMP TABLE counted AS
     SELECT m.account_id, date_trunc('hour', m.created_at, 'UTC') AS hour, m.channel, m.environment, r.status,
       coalesce(m.api_key_id, '') AS api_key_id, (m.seq - 1) / 64 AS block,
       bit_xor(1::bigint << ((m.seq - 1) % 64)::int) AS places, count(*) AS messages,
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
       failed, pending_places, sent_places, delivered_places, failed_places)
     SELECT account_id, channel, environment, CASE WHEN l.by_key THEN api_key_id ELSE '' END, l.size,
       block / (l.size / 64), ${['pending', 'sent', 'delivered', 'failed']
         .map((status) => `coalesce(sum(messages) FILTER (WHERE status = '${status}'), 0)`)
         .join(', ')},
       ${['pending', 'sent', 'delivered', 'failed']
         .map((status) => `coalesce(bit_xor(places) FILTER (WHERE status = '${status}' AND l.size = 64), 0)`)
         .join(', ')}
     FROM counted JOIN (VALUES (64, false), (2048, false), (65536, false), (2048, true), (65536, true))
       AS l (size, by_key) ON NOT l.by_key OR api_key_id <> '' GROUP BY 1, 2, 3, 4, 5, 6`,
  );
  await run(
    `INSERT INTO failed_messages (account_id, channel, seq) SELECT m.account_id, m.channel, m.seq
     FROM recipients r JOIN messages m ON m.id = r.message_id WHERE r.status = 'failed'`,
  );
  await run(
    `INSERT INTO failed_deliveries (webhook_id, delivery_id)
     SELECT webhook_id, id FROM webhook_deliveries WHERE status = 'failed'`,
  );
  await run(
    `INSERT INTO delivery_hours (webhook_id, hour, event, status, deliveries)
     SELECT webhook_id, uuid_hour(id), event, status, count(*) FROM webhook_deliveries GROUP BY 1, 2, 3, 4`,
  );
  for (const table of ['contacts', 'devices', 'api_keys', 'audit_entries']) {
    await run(
      `INSERT INTO list_counts (account_id, list, rows)
       SELECT account_id, '${table}', count(*) FROM ${table} GROUP BY account_id
       ON CONFLICT (account_id, list) DO UPDATE SET rows = excluded.rows`,
    );
  }
}
