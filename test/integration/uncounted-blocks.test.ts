import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const OTHERS = 500;
/** Of the one account that has more than all others; one a minute. */
const MANY = 6_000;

describe('a delta of usage that names no block', () => {
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
});
