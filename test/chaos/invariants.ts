/** What must hold in the tables at rest, whatever happened before. Each statement finds the rows that break its rule. */
import type pg from 'pg';

interface Invariant {
  readonly name: string;
  readonly broken: string;
}

const DENSE = (table: string, by: string) =>
  `SELECT ${by}, min(seq) AS lowest, max(seq) AS highest, count(*) AS rows FROM ${table} GROUP BY ${by}
   HAVING min(seq) <> 1 OR max(seq) <> count(*)`;

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
    name: 'the account counts its ledger',
    broken: `SELECT id, ledger_seq FROM accounts a WHERE ledger_seq <> (SELECT count(*) FROM ledger_entries WHERE account_id = a.id)`,
  },
  {
    name: 'a message is charged once, its cost',
    broken: `SELECT m.id, m.cost_minor, count(l.*) AS charges, sum(l.amount_minor) AS charged FROM messages m
      LEFT JOIN ledger_entries l ON l.message_id = m.id AND l.kind = 'charge' WHERE m.environment = 'production'
      GROUP BY m.id HAVING count(l.*) <> 1 OR sum(l.amount_minor) <> -m.cost_minor`,
  },
  {
    name: 'no charge without its message',
    broken: `SELECT l.account_id, l.seq FROM ledger_entries l WHERE l.message_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM messages WHERE id = l.message_id)`,
  },
  {
    name: 'who failed unsent is refunded once, now or later, and nobody else',
    broken: `SELECT r.message_id, r.position, r.status, r.sent_at, count(l.*) AS refunds, count(d.*) AS later FROM recipients r
      LEFT JOIN ledger_entries l ON l.message_id = r.message_id AND l.position = r.position AND l.kind = 'refund'
      LEFT JOIN deferred_refunds d ON d.message_id = r.message_id AND d.position = r.position
      GROUP BY r.message_id, r.position, r.status, r.sent_at
      HAVING count(l.*) + count(d.*) <> CASE WHEN r.status = 'failed' AND r.sent_at IS NULL THEN 1 ELSE 0 END`,
  },
  { name: 'messages are numbered without gaps', broken: DENSE('messages', 'account_id, channel') },
  {
    name: 'time never goes back along the numbers',
    broken: `SELECT id FROM (SELECT id, created_at, lag(created_at) OVER (PARTITION BY account_id, channel ORDER BY seq) AS before
      FROM messages) m WHERE created_at < before`,
  },
  { name: 'the feed is numbered without gaps', broken: DENSE('events', 'account_id') },
  {
    name: 'the feed counts its events',
    broken: `SELECT account_id, last_seq FROM event_feeds f WHERE last_seq <> (SELECT count(*) FROM events WHERE account_id = f.account_id)`,
  },
  {
    name: 'a recipient has the events of its states, each once',
    broken: `SELECT r.message_id, r.status, r.sent_at, array_agg(e.type) AS events FROM recipients r
      LEFT JOIN events e ON e.message_id = r.message_id GROUP BY r.message_id, r.status, r.sent_at
      HAVING count(*) FILTER (WHERE e.type = 'sms.sent') <> (r.sent_at IS NOT NULL)::int
        OR count(*) FILTER (WHERE e.type = 'sms.failed') <> (r.status = 'failed')::int`,
  },
  {
    name: 'each event is owed once to each endpoint that subscribed to it',
    broken: `SELECT e.seq, e.type, w.id, count(d.*) AS deliveries FROM events e
      JOIN webhooks w ON w.account_id = e.account_id AND e.type = ANY(w.events) AND w.created_at < e.recorded_at
      LEFT JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq AND d.webhook_id = w.id
      GROUP BY e.seq, e.type, w.id HAVING count(d.*) <> 1`,
  },
  {
    name: 'every recipient has a message, and every message a recipient',
    broken: `SELECT coalesce(m.id, r.message_id) AS id FROM messages m FULL JOIN recipients r ON r.message_id = m.id
      WHERE m.id IS NULL OR r.message_id IS NULL`,
  },
  {
    name: 'a key has one message, and its answer names it',
    broken: `SELECT key, message_id FROM idempotency_records i
      WHERE NOT EXISTS (SELECT FROM messages m WHERE m.id = i.message_id) OR body::json ->> 'id' <> message_id::text`,
  },
  {
    name: 'the blocks count the messages of each status',
    broken: `SELECT * FROM (
        SELECT status, sum(counted) AS counted, (SELECT count(*) FROM recipients r WHERE r.status = s.status) AS there FROM (
          SELECT v.status, sum(v.counted) AS counted FROM message_blocks b CROSS JOIN LATERAL (VALUES
            ('pending', b.pending), ('sent', b.sent), ('delivered', b.delivered), ('failed', b.failed)) AS v (status, counted)
          WHERE b.size = 64 AND b.api_key_id = '' GROUP BY v.status
          UNION ALL SELECT status, sum(messages) FROM usage_deltas WHERE block IS NOT NULL GROUP BY status
        ) s GROUP BY status) c WHERE counted <> there`,
  },
  {
    name: 'usage counts the messages of each status',
    broken: `SELECT * FROM (
        SELECT status, sum(messages) AS counted, (SELECT count(*) FROM recipients r WHERE r.status = u.status) AS there
        FROM (SELECT status, messages FROM usage_hours UNION ALL SELECT status, messages FROM usage_deltas) u
        GROUP BY status) c WHERE counted <> there`,
  },
  {
    name: 'deliveries are counted by status',
    broken: `SELECT * FROM (
        SELECT status, sum(deliveries) AS counted, (SELECT count(*) FROM webhook_deliveries d WHERE d.status = u.status) AS there
        FROM (SELECT status, deliveries FROM delivery_hours UNION ALL SELECT status, deliveries FROM delivery_deltas) u
        GROUP BY status) c WHERE counted <> there`,
  },
  {
    name: 'the audit log has no gaps',
    broken: `SELECT min(seq), max(seq), count(*) FROM audit_entries HAVING min(seq) <> 1 OR max(seq) <> count(*)`,
  },
];

/** The rules that are broken, each with the first rows that break it. */
export async function brokenInvariants(client: pg.Client): Promise<string[]> {
  const found: string[] = [];
  for (const { name, broken } of INVARIANTS) {
    const { rows } = await client.query(`SELECT * FROM (${broken}) broken LIMIT 3`);
    if (rows.length > 0) found.push(`${name}: ${rows.map((row) => JSON.stringify(row)).join(' ')}`);
  }
  return found;
}
