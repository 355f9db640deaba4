import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type BenchContext, type BenchResult, median } from './context.ts';
import { p99 } from './open-loop.ts';

const MONTHS = 13;
/** Number of messages in the oldest month, which is deleted (`OLD`), and in all other months (`KEPT`). */
const OLD = 200_000;
const KEPT = 360_000;
const INSERT_SECONDS = 5;
const ROUNDS = 3;
const BATCH = 100;
/** Number of messages in one delete, as in the gateway's retention. */
const DELETE_BATCH = 200;
const LOOKUPS = 2_000;
/** Messages a second inserted during the deletion. */
const INFLOW = 400;

/**
 * The columns, keys and indexes of messages and recipients, twice: as one table, and partitioned by month. Partitioned
 * tables have no foreign keys: to drop a partition, PostgreSQL would search for references, and all senders would wait.
 */
const SCHEMA = `
  CREATE TABLE whole_messages (LIKE messages INCLUDING ALL);
  CREATE TABLE whole_recipients (LIKE recipients INCLUDING ALL);
  ALTER TABLE whole_recipients ADD FOREIGN KEY (message_id) REFERENCES whole_messages ON DELETE CASCADE;
  CREATE TABLE cut_messages (LIKE messages INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    PRIMARY KEY (id, created_at), UNIQUE (account_id, channel, seq, created_at)) PARTITION BY RANGE (created_at);
  CREATE TABLE cut_recipients (LIKE recipients INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
    created_at timestamptz NOT NULL, PRIMARY KEY (message_id, position, created_at)) PARTITION BY RANGE (created_at);`;
const UUID = `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid`;
const insert = (kind: string, created: string) => `WITH made AS (
    SELECT n, $3::timestamptz AS at FROM generate_series($1::int, $2::int) n
  ), message AS (
    INSERT INTO ${kind}_messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
      environment, currency, sender, content)
    SELECT ${UUID}, $4::uuid, n, 30, 30, at, at, 'sms', 'production', 'UGX', 'SERVICE', 'Hello, this is a message.' FROM made
  )
  INSERT INTO ${kind}_recipients (message_id, account_id, position, address, cost_minor, status, sent_at${created})
  SELECT ${UUID}, $4::uuid, 0, '+2567' || lpad(n::text, 8, '0'), 30, 'sent', at${created && ', at'} FROM made`;
const INSERT = { whole: insert('whole', ''), cut: insert('cut', ', created_at') };
type Kind = keyof typeof INSERT;
const ACCOUNT = '01900000-0000-7000-8000-000000000001';

/**
 * Compares monthly partitions with small deletes on tables like the gateway's: cost of writes and reads, and the effect
 * of deleting a month on sends (ADR-0001).
 */
export async function comparePartitions(context: BenchContext, database: string): Promise<BenchResult[]> {
  return context.withClient(database, async (client) => {
    await client.query(SCHEMA);
    const { rows: indexes } = await client.query(
      `SELECT indexdef FROM pg_indexes WHERE tablename IN ('messages', 'recipients') AND indexdef NOT LIKE '%UNIQUE%'`,
    );
    for (const { indexdef } of indexes) {
      await client.query(indexdef.replace('_open', '').replace(/INDEX \w+ ON public\./, 'INDEX ON cut_'));
    }
    const now = new Date();
    const months = Array.from(
      { length: MONTHS },
      (_, back) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - MONTHS + 1 + back, 1)),
    );
    const ends = [...months.slice(1), new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))];
    for (const [index, start] of months.entries()) {
      for (const table of ['messages', 'recipients']) {
        await client.query(`CREATE TABLE cut_${table}_${index} PARTITION OF cut_${table}
          FOR VALUES FROM ('${start.toISOString()}') TO ('${ends[index]?.toISOString()}')`);
      }
    }
    let seq = 0;
    const write = async (on: pg.Client, kind: Kind, count: number, at: Date) => {
      const values = [seq + 1, seq + count, at, ACCOUNT];
      seq += count;
      await on.query({ name: `insert-${kind}`, text: INSERT[kind], values });
    };
    for (const kind of ['whole', 'cut'] as const) {
      context.log(`growth: filling ${kind} tables`);
      for (const [index, month] of months.entries()) {
        const count = index === 0 ? OLD : KEPT / (MONTHS - 1);
        for (let done = 0; done < count; done += 10_000) {
          await write(client, kind, Math.min(10_000, count - done), new Date(month.getTime() + done));
        }
      }
    }
    await client.query('VACUUM ANALYZE whole_messages, whole_recipients, cut_messages, cut_recipients');

    const inserts = { whole: [] as number[], cut: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const kind of ['whole', 'cut'] as const) {
        const startedAt = performance.now();
        let count = 0;
        for (; performance.now() < startedAt + (INSERT_SECONDS * 1000) / ROUNDS; count += BATCH) {
          await write(client, kind, BATCH, new Date());
        }
        inserts[kind].push(count / ((performance.now() - startedAt) / 1000));
      }
    }
    const byId = await lookups(client, (kind, slack) => {
      const time = slack ? 'AND m.created_at BETWEEN $2::timestamptz - $3::interval AND $2::timestamptz' : '';
      return `SELECT m.id FROM ${kind}_messages m WHERE m.id = $1 ${time}`;
    });
    const whole = await whileGoing(context, client, database, write, 'whole');
    const cut = await whileGoing(context, client, database, write, 'cut');
    const speed = (name: string, figures: { whole: number; cut: number }, unit: string) => ({
      name: `growth: ${name}, partitions ÷ one table`,
      value: figures.cut,
      unit,
      baseline: figures.whole,
      ratio: figures.cut / figures.whole,
    });
    return [
      speed('messages stored/s', { whole: median(inserts.whole), cut: median(inserts.cut) }, '/s'),
      speed('a message by its id', { whole: byId.whole, cut: byId.cut }, 'µs'),
      speed('the same, with the time in the id', { whole: byId.whole, cut: byId.cutWithTime }, 'µs'),
      speed(`${OLD} old messages gone`, { whole: whole.seconds, cut: cut.seconds }, 's'),
      speed('WAL for it', { whole: whole.walMb, cut: cut.walMb }, 'MB'),
      speed('storing meanwhile, p99', { whole: whole.during, cut: cut.during }, 'ms'),
      { name: 'growth: storing while nothing goes, p99', value: whole.before, unit: 'ms' },
      { name: 'growth: storing while deletes of 200 go on, highest', value: whole.worst, unit: 'ms' },
      { name: 'growth: storing while a partition goes, highest', value: cut.worst, unit: 'ms' },
      { name: 'growth: pages of the table that deletes free', value: whole.freedShare * 100, unit: '%' },
    ];
  });
}

/** Measures the time of a prepared lookup by id on one connection, in microseconds. */
async function lookups(client: pg.Client, text: (kind: Kind, hasTime: boolean) => string) {
  await client.query('SET plan_cache_mode = force_generic_plan');
  const time = async (kind: Kind, hasTime: boolean) => {
    const name = `by-id-${kind}-${hasTime}`;
    const { rows } = await client.query(
      `SELECT id, created_at FROM ${kind}_messages ORDER BY random() LIMIT ${LOOKUPS}`,
    );
    const startedAt = performance.now();
    for (const { id, created_at } of rows) {
      const values = hasTime ? [id, created_at, '1 hour'] : [id];
      await client.query({ name, text: text(kind, hasTime), values });
    }
    return ((performance.now() - startedAt) / rows.length) * 1000;
  };
  await time('whole', false);
  return {
    whole: await time('whole', false),
    cut: await time('cut', false),
    cutWithTime: await time('cut', true),
  };
}

/** Deletes the oldest month while messages are inserted, and returns their latencies. */
async function whileGoing(
  context: BenchContext,
  client: pg.Client,
  database: string,
  write: (on: pg.Client, kind: Kind, count: number, at: Date) => Promise<void>,
  kind: Kind,
) {
  context.log(`growth: ${kind === 'whole' ? 'deleting' : 'dropping'} ${OLD} messages while others come in`);
  return context.withClient(database, async (sender) => {
    let isOver = false;
    let latencies: number[] = [];
    const inflow = (async () => {
      const startedAt = performance.now();
      for (let sent = 0; !isOver; sent += 10) {
        await sleep(Math.max(0, startedAt + (sent / INFLOW) * 1000 - performance.now()));
        const at = performance.now();
        await write(sender, kind, 10, new Date());
        latencies.push(performance.now() - at);
      }
    })();
    await sleep(3_000);
    const before = p99(latencies);
    latencies = [];
    const walFrom = (await client.query('SELECT pg_current_wal_lsn() AS lsn')).rows[0].lsn;
    const startedAt = performance.now();
    let freedShare = 1;
    if (kind === 'cut') {
      for (const table of ['cut_recipients', 'cut_messages']) {
        await client.query(`ALTER TABLE ${table} DETACH PARTITION ${table}_0`);
        await client.query(`DROP TABLE ${table}_0`);
      }
    } else {
      for (let from = 1; from <= OLD; from += DELETE_BATCH) {
        await client.query(
          'DELETE FROM whole_messages WHERE account_id = $1 AND channel = $2 AND seq >= $3 AND seq < $4',
          [ACCOUNT, 'sms', from, from + DELETE_BATCH],
        );
      }
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const { rows } = await client.query('SELECT pg_current_wal_lsn() - $1::pg_lsn AS bytes', [walFrom]);
    const during = p99(latencies);
    const worst = Math.max(...latencies);
    if (kind === 'whole') {
      await client.query('VACUUM whole_messages, whole_recipients');
      await client.query('CREATE EXTENSION IF NOT EXISTS pg_freespacemap');
      const { rows: free } = await client.query(
        `SELECT avg((avail > 7000)::int)::float8 AS share FROM pg_freespace('whole_messages')`,
      );
      freedShare = free[0].share;
    }
    isOver = true;
    await inflow;
    return { before, during, worst, seconds, walMb: Number(rows[0].bytes) / 1e6, freedShare };
  });
}
