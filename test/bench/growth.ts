import type { BenchContext, BenchResult, BenchServer } from './context.ts';
import { median } from './context.ts';
import { checkMoney } from './load.ts';
import { openLoop, p99 } from './open-loop.ts';
import { comparePartitions } from './partitions.ts';

/** Load of a day with five million messages. `DAY_RATE` is in messages a second. */
const DAY_MESSAGES = 5_000_000;
const DAY_RATE = DAY_MESSAGES / 86_400;
/** The measured rate is a multiple of `DAY_RATE`. At ten times the rate, 360 s send the messages of an hour. */
const RATE = DAY_RATE * Number(process.env.GROWTH_TIMES ?? 1);
const SECONDS = Number(process.env.GROWTH_SECONDS ?? 60);
const RETENTION_SECONDS = 30;
const AGED = 60_000;
const MAX_OPEN = 900;
const FINISHED_MS = 60_000;
/** Tables in which a finished message keeps rows, permanently or for a month. */
const TABLES = ['messages', 'recipients', 'ledger_entries', 'events', 'provider_sids', 'idempotency_records'];

/** Measures growth: partitions against small deletes, the effect of retention on sends, and `DAY_RATE`. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const server = await context.startServer();
  try {
    const day = await atDayRate(context, server);
    const retention = await besideRetention(context, server);
    await checkMoney(context, server.database);
    const partitions = await comparePartitions(context, server.database);
    return [...day, ...retention, ...partitions];
  } finally {
    await server.stop();
  }
}

async function atDayRate(context: BenchContext, server: BenchServer): Promise<BenchResult[]> {
  await openLoop(server, { rate: RATE, seconds: 5, maxOpen: MAX_OPEN });
  await finished(context, server);
  const before = await look(context, server);
  context.log(
    `growth: ${SECONDS} s at ${RATE.toFixed(0)}/s; ${DAY_MESSAGES} a day are ${DAY_RATE.toFixed(0)}/s`,
  );
  const load = await sent(server, RATE, SECONDS);
  await finished(context, server);
  const after = await look(context, server);
  const count = load.length;
  const bytes = (after.bytes - before.bytes) / count;
  const cpu = (after.cpuSeconds - before.cpuSeconds) / count;
  return [
    { name: `growth: POST p50 at ${RATE.toFixed(0)}/s for ${SECONDS} s`, value: median(load), unit: 'ms' },
    { name: 'growth: POST p99 at that rate', value: p99(load), unit: 'ms' },
    { name: 'growth: server CPU per message at that rate', value: cpu * 1e6, unit: 'µs' },
    { name: 'growth: share of a core that the server takes', value: cpu * RATE * 100, unit: '%' },
    { name: 'growth: WAL per message', value: (after.wal - before.wal) / count, unit: 'bytes' },
    { name: 'growth: disk per message, before any vacuum', value: bytes, unit: 'bytes' },
    {
      name: `growth: on paper, disk a day of ${DAY_MESSAGES}`,
      value: (bytes * DAY_MESSAGES) / 1e9,
      unit: 'GB',
    },
    {
      name: 'growth: updates of recipients that touched no index',
      value: ((after.hot - before.hot) / (after.updates - before.updates)) * 100,
      unit: '%',
    },
  ];
}

/** Compares the latency of POSTs during the deletion of another account's messages with that without a deletion. */
async function besideRetention(context: BenchContext, server: BenchServer): Promise<BenchResult[]> {
  const alone: number[] = [];
  const beside: number[] = [];
  let removed = 0;
  for (const isGoing of [false, true]) {
    if (isGoing) await age(context, server.database);
    const from = await agedLeft(context, server.database);
    context.log(
      `growth: ${RETENTION_SECONDS} s ${isGoing ? 'beside' : 'without'} the retention of ${AGED} messages`,
    );
    (isGoing ? beside : alone).push(...(await sent(server, 4 * DAY_RATE, RETENTION_SECONDS)));
    removed += from - (await agedLeft(context, server.database));
  }
  if (removed < AGED / 10) throw new Error(`the retention has removed ${removed} messages only`);
  const value = p99(beside);
  return [
    {
      name: `growth: POST p99 at ${(4 * DAY_RATE).toFixed(0)}/s beside retention (${removed} removed) ÷ without`,
      value,
      unit: 'ms',
      baseline: p99(alone),
      ratio: value / p99(alone),
    },
    {
      name: 'growth: POST p50, the same',
      value: median(beside),
      unit: 'ms',
      baseline: median(alone),
      ratio: median(beside) / median(alone),
    },
  ];
}

/** Sends at a fixed rate. Returns the latency of each POST in ms. Fails on any answer except 200. */
async function sent(server: BenchServer, rate: number, seconds: number): Promise<number[]> {
  const load = await openLoop(server, { rate, seconds, maxOpen: MAX_OPEN });
  if (load.failures.length + load.refusedMs.length + load.dropped > 0) {
    throw new Error(`${load.refusedMs.length} refused, ${load.dropped} not sent, ${load.failures[0] ?? ''}`);
  }
  return load.accepted.map(({ ms }) => ms);
}

/** Creates an account with a retention of one day, and messages that are two days old. */
async function age(context: BenchContext, database: string): Promise<void> {
  await context.withClient(database, async (client) => {
    const id = '01900000-0000-7000-8000-00000000000a';
    await client.query('SET session_replication_role = replica');
    await client.query(
      `INSERT INTO accounts (id, name, email, currency, sms_seq, content_days, message_days, created_at)
       VALUES ($1, 'Old', 'old@bench.example', 'UGX', $2, 1, 1, now())`,
      [id, AGED],
    );
    await client.query('INSERT INTO event_feeds (account_id, last_seq) VALUES ($1, $2)', [id, AGED]);
    await client.query(
      `WITH made AS (
         INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
           environment, currency, sender, content)
         SELECT gen_random_uuid(), $1, n, 30, 30, now() - interval '2 days', now(), 'sms', 'production', 'UGX',
           'SERVICE', 'Message number ' || n FROM generate_series(1, $2::int) n RETURNING id, seq, created_at
       ), recipient AS (
         INSERT INTO recipients (message_id, account_id, position, address, cost_minor, status, sent_at, delivered_at)
         SELECT id, $1, 0, '+256700000000', 30, 'delivered', created_at, created_at FROM made
       )
       INSERT INTO events (account_id, seq, message_id, recorded_at, position, type, body)
       SELECT $1, seq, id, created_at, 0, 'sms.sent', '{"data":{}}' FROM made`,
      [id, AGED],
    );
    await client.query('ANALYZE');
  });
}

async function agedLeft(context: BenchContext, database: string): Promise<number> {
  const { rows } = await context.withClient(database, (client) =>
    client.query(`SELECT count(*)::int AS count FROM messages WHERE created_at < now() - interval '1 day'`),
  );
  return rows[0].count;
}

/** Resolves when every message has been delivered. */
async function finished(context: BenchContext, server: BenchServer): Promise<void> {
  await context.withClient(server.database, async (client) => {
    const deadline = performance.now() + FINISHED_MS;
    for (;;) {
      const { rows } = await client.query(
        `SELECT count(*)::int AS count FROM recipients WHERE status <> 'delivered'`,
      );
      if (rows[0].count === 0) return;
      if (performance.now() > deadline) throw new Error(`${rows[0].count} messages are not delivered`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
}

async function look(context: BenchContext, server: BenchServer) {
  const { cpuSeconds } = await server.usage();
  return context.withClient(server.database, async (client) => {
    const { rows } = await client.query(
      `SELECT (SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest($1::text[]) t)::float8 AS bytes,
         (pg_current_wal_lsn() - '0/0')::float8 AS wal, n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot
       FROM pg_stat_user_tables WHERE relname = 'recipients'`,
      [TABLES],
    );
    const [row] = rows;
    return { cpuSeconds, bytes: row.bytes, wal: row.wal, updates: row.updates, hot: row.hot };
  });
}
