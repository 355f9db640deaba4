/** Rules that the tables must keep once no work is left. Each SQL statement finds the rows that break its rule. */
import type pg from 'pg';

interface Invariant {
  readonly name: string;
  readonly broken: string;
}

const DENSE = (table: string, by: string) =>
  `SELECT ${by}, min(seq) AS lowest, max(seq) AS highest, count(*) AS rows FROM ${table} GROUP BY ${by}
   HAVING min(seq) <> 1 OR max(seq) <> count(*)`;

/** Largest difference between the clocks of processes that count as synchronised. */
const TOLERANCE = `interval '5 seconds'`;
/**
 * A transaction reads its time before its last statements. Each of these may wait for 12 s, and for a PostgreSQL that
 * is stopped meanwhile. A transaction that takes longer is canceled.
 */
const LONGEST = `interval '30 seconds'`;
/** Rows whose time is earlier than that of a row with a lower number, or in the future. */
const IN_TIME = (table: string, by: string, time: string) =>
  `SELECT ${by}, seq, ${time} FROM (SELECT ${by}, seq, ${time}, max(${time}) OVER (PARTITION BY ${by} ORDER BY seq
     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM ${table}) t
   WHERE ${time} < before - ${LONGEST} OR ${time} > now() + ${TOLERANCE}`;

/** Messages with the status that follows from their recipients'. */
const STATES = `(SELECT m.account_id, m.channel, m.environment, coalesce(m.api_key_id, '') AS api_key_id, m.seq, m.cost_minor,
    m.created_at, s.status
  FROM messages m CROSS JOIN LATERAL (SELECT CASE WHEN bool_or(status = 'pending') THEN 'pending'
      WHEN bool_and(status = 'failed') THEN 'failed' WHEN bool_and(status IN ('delivered', 'failed')) THEN 'delivered'
      ELSE 'sent' END AS status FROM recipients WHERE message_id = m.id) s)`;

/**
 * Compares stored counters with the rows that they count, per group of `columns`, and returns the differences.
 * `counted` selects the counters, `there` the rows. Each has the columns and a number `n`.
 */
const DIFFERENT = (columns: string, counted: string, there: string) =>
  `SELECT * FROM (SELECT ${columns}, sum(n) AS counted FROM (${counted}) c GROUP BY ${columns} HAVING sum(n) <> 0) c
   FULL JOIN (SELECT ${columns}, sum(n) AS there FROM (${there}) t GROUP BY ${columns} HAVING sum(n) <> 0) t USING (${columns})
   WHERE c.counted IS DISTINCT FROM t.there`;

const USAGE = 'account_id, hour, channel, environment, status, api_key_id';
const USED = (what: string) =>
  DIFFERENT(
    USAGE,
    `SELECT ${USAGE}, ${what} AS n FROM usage_hours UNION ALL SELECT ${USAGE}, ${what} FROM usage_deltas`,
    `SELECT account_id, date_trunc('hour', created_at, 'UTC') AS hour, channel, environment, status, api_key_id,
       ${what === 'messages' ? '1' : what} AS n FROM ${STATES} s`,
  );

const BLOCK = 'account_id, channel, environment, size, block, status';
const LEVELS = `(VALUES (64, false), (2048, false), (2048, true), (65536, false), (65536, true)) AS l (size, by_key)`;
const COUNTED_BLOCKS = DIFFERENT(
  `${BLOCK}, key`,
  `SELECT account_id, channel, environment, size, block, v.status, api_key_id AS key, v.n FROM message_blocks b
     CROSS JOIN LATERAL (VALUES ('pending', b.pending), ('sent', b.sent), ('delivered', b.delivered), ('failed', b.failed))
       AS v (status, n)
   UNION ALL SELECT account_id, channel, environment, size, block / (size / 64), status,
     CASE WHEN by_key THEN api_key_id ELSE '' END, messages FROM usage_deltas, ${LEVELS}`,
  `SELECT account_id, channel, environment, size, (seq - 1) / size AS block, status,
     CASE WHEN by_key THEN api_key_id ELSE '' END AS key, 1 AS n FROM ${STATES} s, ${LEVELS}`,
);
const BITMAPS = `SELECT * FROM (
    SELECT ${BLOCK.replace('size, ', '')}, bit_xor(bitmap) AS told FROM (
      SELECT account_id, channel, environment, block, v.status, v.bitmap FROM message_blocks b
        CROSS JOIN LATERAL (VALUES ('pending', b.pending_bitmap), ('sent', b.sent_bitmap), ('delivered', b.delivered_bitmap),
          ('failed', b.failed_bitmap)) AS v (status, bitmap) WHERE b.size = 64
      UNION ALL SELECT account_id, channel, environment, block, status, bitmap FROM usage_deltas) p
    GROUP BY ${BLOCK.replace('size, ', '')} HAVING bit_xor(bitmap) <> 0) told
  FULL JOIN (
    SELECT account_id, channel, environment, (seq - 1) / 64 AS block, status, bit_or(1::bigint << ((seq - 1) % 64)::int) AS there
    FROM ${STATES} s GROUP BY 1, 2, 3, 4, 5) there USING (${BLOCK.replace('size, ', '')})
  WHERE told IS DISTINCT FROM there.there`;

/** Unfinished jobs of all queues: those in pg-boss and those under a lease. */
const JOBS = `(SELECT name AS queue, data FROM pgboss.job WHERE state < 'completed'
  UNION ALL SELECT queue, (job -> 'data')::jsonb FROM job_leases)`;

const INVARIANTS: readonly Invariant[] = [
  {
    name: 'a balance is the sum of its ledger',
    broken: `SELECT a.id, a.balance_minor, l.sum FROM accounts a JOIN LATERAL (
        SELECT coalesce(sum(amount_minor), 0) AS sum FROM ledger_entries WHERE account_id = a.id) l ON true
      WHERE a.balance_minor <> l.sum`,
  },
  {
    name: 'each ledger entry has the balance after it',
    broken: `SELECT * FROM (SELECT account_id, seq, balance_after_minor,
        sum(amount_minor) OVER (PARTITION BY account_id ORDER BY seq) AS running FROM ledger_entries) l
      WHERE balance_after_minor <> running`,
  },
  { name: 'the ledger has no gaps', broken: DENSE('ledger_entries', 'account_id') },
  {
    name: 'the account counts its ledger, and its messages',
    broken: `SELECT id, ledger_seq, sms_seq FROM accounts a
      WHERE ledger_seq <> (SELECT count(*) FROM ledger_entries WHERE account_id = a.id)
        OR sms_seq <> (SELECT count(*) FROM messages WHERE account_id = a.id AND channel = 'sms')`,
  },
  {
    name: 'the ledger is in the order of time',
    broken: IN_TIME('ledger_entries', 'account_id', 'created_at'),
  },
  {
    name: 'a message is charged once, its cost',
    broken: `SELECT m.id, m.cost_minor, count(l.*) AS charges, sum(l.amount_minor) AS charged FROM messages m
      LEFT JOIN ledger_entries l ON l.message_id = m.id AND l.kind = 'charge' WHERE m.environment = 'production'
      GROUP BY m.id HAVING count(l.*) <> 1 OR sum(l.amount_minor) <> -m.cost_minor`,
  },
  {
    name: 'a message costs what its recipients do',
    broken: `SELECT id, cost_minor FROM messages m
      WHERE cost_minor <> (SELECT sum(cost_minor) FROM recipients WHERE message_id = m.id)`,
  },
  {
    name: 'no charge without its message',
    broken: `SELECT l.account_id, l.seq FROM ledger_entries l WHERE l.message_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM messages WHERE id = l.message_id)`,
  },
  {
    name: 'who failed unsent is refunded once, their cost, now or later, and nobody else',
    broken: `SELECT r.message_id, r.position, r.status, r.sent_at, count(l.*) AS refunds, count(d.*) AS later FROM recipients r
      LEFT JOIN ledger_entries l ON l.message_id = r.message_id AND l.position = r.position AND l.kind = 'refund'
      LEFT JOIN deferred_refunds d ON d.message_id = r.message_id AND d.position = r.position
      GROUP BY r.message_id, r.position, r.status, r.sent_at, r.cost_minor
      HAVING count(l.*) + count(d.*) <> CASE WHEN r.status = 'failed' AND r.sent_at IS NULL THEN 1 ELSE 0 END
        OR coalesce(sum(l.amount_minor), sum(d.amount_minor), r.cost_minor) <> r.cost_minor`,
  },
  { name: 'messages are numbered without gaps', broken: DENSE('messages', 'account_id, channel') },
  {
    name: 'time never goes back along the numbers',
    broken: `SELECT id FROM (SELECT id, created_at, lag(created_at) OVER (PARTITION BY account_id, channel ORDER BY seq) AS before
      FROM messages) m WHERE created_at < before`,
  },
  { name: 'messages are in the order of time', broken: IN_TIME('messages', 'account_id', 'created_at') },
  { name: 'the feed is numbered without gaps', broken: DENSE('events', 'account_id') },
  { name: 'the feed is in the order of time', broken: IN_TIME('events', 'account_id', 'recorded_at') },
  {
    name: 'the feed counts its events',
    broken: `SELECT account_id, last_seq FROM event_feeds f WHERE last_seq <> (SELECT count(*) FROM events WHERE account_id = f.account_id)`,
  },
  {
    name: 'a recipient has the events of its states, each once',
    broken: `SELECT r.message_id, r.position, r.status, r.sent_at, array_agg(e.type) AS events FROM recipients r
      LEFT JOIN events e ON e.message_id = r.message_id AND e.position = r.position
      GROUP BY r.message_id, r.position, r.status, r.sent_at, r.error_code
      -- The carrier may say that it took what it refused when it got it again: that makes no event.
      HAVING count(*) FILTER (WHERE e.type = 'sms.sent') <> (r.sent_at IS NOT NULL AND coalesce(r.error_code, '') <> 'ESME_RINVDSTADR')::int
        OR count(*) FILTER (WHERE e.type = 'sms.failed')
          <> (r.status = 'failed' AND r.error_code IS DISTINCT FROM 'canceled')::int`,
  },
  {
    name: 'no event without its recipient',
    broken: `SELECT e.seq, e.type FROM events e WHERE e.type <> 'webhook.test'
      AND NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = e.message_id AND r.position = e.position)`,
  },
  {
    name: 'each event is owed once to the endpoint that never changes',
    broken: `SELECT e.seq, e.type, w.id, count(d.*) AS deliveries FROM events e
      JOIN webhooks w ON w.account_id = e.account_id AND e.type = ANY(w.events) AND w.url LIKE '%/steady'
      LEFT JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq AND d.webhook_id = w.id
      GROUP BY e.seq, e.type, w.id HAVING count(d.*) <> 1`,
  },
  {
    name: 'an event is owed to an endpoint once at the most, and to none that was deleted',
    broken: `SELECT d.webhook_id, d.event_seq, count(*) AS deliveries FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
      GROUP BY 1, 2 HAVING count(*) > 1
        OR bool_or(w.deleted_at IS NOT NULL AND d.status IN ('pending', 'retrying'))`,
  },
  {
    name: 'no delivery without its event, no attempt without its delivery',
    broken: `SELECT id FROM webhook_deliveries d
        WHERE NOT EXISTS (SELECT FROM events e WHERE e.account_id = d.account_id AND e.seq = d.event_seq)
      UNION ALL SELECT delivery_id FROM webhook_attempts a
        WHERE NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.id = a.delivery_id)`,
  },
  {
    name: 'a delivery counts its attempts',
    broken: `SELECT d.id, d.status, d.attempts, count(a.*) AS there FROM webhook_deliveries d
      LEFT JOIN webhook_attempts a ON a.delivery_id = d.id GROUP BY d.id
      HAVING count(a.*) <> d.attempts OR max(a.number) <> d.attempts
        OR (d.status = 'success') <> coalesce(bool_or(a.http_status BETWEEN 200 AND 299), false) AND d.status <> 'canceled'`,
  },
  {
    name: 'every recipient has a message, and every message a recipient',
    broken: `SELECT coalesce(m.id, r.message_id) AS id FROM messages m FULL JOIN recipients r ON r.message_id = m.id
      WHERE m.id IS NULL OR r.message_id IS NULL`,
  },
  {
    name: "no carrier's id without its recipient",
    broken: `SELECT message_id FROM provider_sids s
      WHERE NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = s.message_id AND r.position = s.position)`,
  },
  {
    name: 'a pending recipient is in a job',
    broken: `SELECT r.message_id, r.position, r.attempts FROM recipients r WHERE r.status = 'pending' AND NOT EXISTS (
        SELECT FROM ${JOBS} j WHERE j.queue = 'submit' AND j.data -> 'messageIds' ? r.message_id::text
          AND coalesce(j.data -> 'positions' -> r.message_id::text @> to_jsonb(r.position), true))`,
  },
  {
    name: 'a delivery that is owed is in a job',
    broken: `SELECT d.id, d.status, d.attempts, d.next_retry_at FROM webhook_deliveries d
      WHERE d.status IN ('pending', 'retrying') AND NOT EXISTS (
        SELECT FROM ${JOBS} j WHERE j.queue LIKE 'webhook%' AND j.data -> 'deliveryIds' ? d.id::text)`,
  },
  {
    name: 'a key has one message, and its answer names it',
    broken: `SELECT key, message_id FROM idempotency_records i
      WHERE NOT EXISTS (SELECT FROM messages m WHERE m.id = i.message_id) OR body::json ->> 'id' <> message_id::text`,
  },
  { name: 'the blocks count the messages of each status', broken: COUNTED_BLOCKS },
  { name: 'the blocks have the bits of the messages of each status', broken: BITMAPS },
  { name: 'usage counts the messages of each status', broken: USED('messages') },
  { name: 'usage counts the cost of each status', broken: USED('cost_minor') },
  {
    name: 'days of usage are the sum of their hours',
    broken: DIFFERENT(
      'account_id, day, channel, environment, status, api_key_id',
      'SELECT account_id, day, channel, environment, status, api_key_id, messages AS n FROM usage_days',
      `SELECT account_id, date_trunc('day', hour, 'UTC') AS day, channel, environment, status, api_key_id, messages AS n
       FROM usage_hours`,
    ),
  },
  {
    name: 'failed messages are listed',
    broken: `SELECT * FROM (SELECT account_id, channel, seq, 1 AS listed FROM failed_messages) f
      FULL JOIN (SELECT account_id, channel, seq, 1 AS there FROM ${STATES} s WHERE status = 'failed') s
        USING (account_id, channel, seq) WHERE listed IS NULL OR there IS NULL`,
  },
  {
    name: 'messages of which a recipient failed are listed',
    broken: `SELECT * FROM (SELECT account_id, channel, seq, 1 AS listed FROM messages_with_failures) f
      FULL JOIN (SELECT DISTINCT m.account_id, m.channel, m.seq, 1 AS there
        FROM recipients r JOIN messages m ON m.id = r.message_id WHERE r.status = 'failed') s
        USING (account_id, channel, seq) WHERE listed IS NULL OR there IS NULL`,
  },
  {
    name: 'deliveries are counted by status',
    broken: DIFFERENT(
      'webhook_id, event, status',
      `SELECT webhook_id, event, status, deliveries AS n FROM delivery_hours
       UNION ALL SELECT webhook_id, event, status, deliveries FROM delivery_deltas`,
      'SELECT webhook_id, event, status, 1 AS n FROM webhook_deliveries',
    ),
  },
  {
    name: 'lists count their rows',
    broken: `SELECT * FROM list_counts c WHERE list IN ('api_keys', 'audit_entries') AND rows <> CASE list
      WHEN 'api_keys' THEN (SELECT count(*) FROM api_keys WHERE account_id = c.account_id)
      ELSE (SELECT count(*) FROM audit_entries WHERE account_id = c.account_id) END`,
  },
  {
    name: 'the audit log has no gaps',
    broken: `SELECT min(seq), max(seq), count(*) FROM audit_entries HAVING min(seq) <> 1 OR max(seq) <> count(*)`,
  },
];

/** Returns the broken rules, each with the first rows that break it. All rules read one snapshot. */
export async function brokenInvariants(client: pg.Client): Promise<string[]> {
  const found: string[] = [];
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    for (const { name, broken } of INVARIANTS) {
      const { rows } = await client.query(`SELECT * FROM (${broken}) broken LIMIT 3`);
      if (rows.length > 0) found.push(`${name}: ${rows.map((row) => JSON.stringify(row)).join(' ')}`);
    }
  } finally {
    await client.query('ROLLBACK');
  }
  return found;
}
