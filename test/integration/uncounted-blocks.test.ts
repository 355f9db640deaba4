import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { up } from '../../migrations/20261121002200_message_blocks.ts';
import { createTestDatabase, type TestDatabase, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const OTHERS = 500;
/** Of the one account that has more than all others; one a minute. */
const MANY = 6_000;

describe('what a process of the version before has counted', () => {
  let database: TestDatabase;
  let sql: TestSql;
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = await openSql(database);
    await sql.query(
      `INSERT INTO accounts (id, name, email, currency, created_at, sms_seq)
       SELECT gen_random_uuid(), 'a', 'a' || n || '@example.com', 'UGX', now(), CASE n WHEN 0 THEN ${MANY} ELSE 2 END
       FROM generate_series(0, ${OTHERS}) n`,
    );
    await sql.query(
      `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
         environment, currency, sender, content)
       SELECT (substr(id_at(at)::text, 1, 14) || substr(gen_random_uuid()::text, 15))::uuid, a.id, seq, 30, 30, at, at,
         'sms', 'production', 'UGX', 'SERVICE', 'Hello'
       FROM accounts a CROSS JOIN LATERAL generate_series(1, a.sms_seq) seq
       CROSS JOIN LATERAL (SELECT '2026-03-01T00:30:00Z'::timestamptz + make_interval(mins =>
         CASE a.sms_seq WHEN ${MANY} THEN (seq - ${MANY})::int ELSE -60 * seq::int END) AS at) t`,
    );
    await sql.query('ANALYZE');
    for (const setting of ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'jit = off']) {
      await sql.query(`SET ${setting}`);
    }
  });
  afterAll(async () => {
    await sql?.close();
    await database?.drop();
  });

  it('is looked for in its hour, and not among all messages of its account', async () => {
    await sql.query(
      `INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor)
       SELECT id, '2026-03-01T00:00:00Z', 'sms', 'production', 'pending', '', 1, 30 FROM accounts
       WHERE sms_seq = ${MANY}`,
    );
    await sql.query('BEGIN');
    await sql.query('DELETE FROM usage_deltas');
    const [read] = await sql.query(
      `SELECT (coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0))::int AS rows FROM pg_stat_xact_user_tables
       WHERE relname = 'messages'`,
    );
    await sql.query('COMMIT');
    expect(await sql.query('SELECT count(*)::int AS marks FROM uncounted_blocks')).not.toEqual([
      { marks: 0 },
    ]);
    expect(read.rows).toBeLessThan(100);
  });

  it('does not wait behind the step that counts blocks while somebody else is at the deltas', async () => {
    const other = await openSql(database);
    try {
      await other.query('BEGIN');
      await other.query('LOCK TABLE usage_deltas IN ROW EXCLUSIVE MODE');
      const step = withKnex(database.connection, up);
      const isWaiting = () =>
        sql.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
             AND wait_event = 'relation'`,
        );
      await eventually(async () => (await isWaiting()).length > 0);
      await sql.query(`SET lock_timeout = '5s'`);
      await sql.query('DELETE FROM usage_deltas');
      await other.query('COMMIT');
      await step;
    } finally {
      await other.close();
    }
  });
});
