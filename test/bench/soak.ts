import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type BenchContext, type BenchResult, type BenchServer, median } from './context.ts';
import { sendSmsLoad } from './load.ts';
import { checkMoney } from './pipeline.ts';

/** Ten minutes, or SOAK_SECONDS. */
const SECONDS = Number(process.env.SOAK_SECONDS ?? 600);
const CAPACITY_SECONDS = 5;
const CONNECTIONS = 64;
/**
 * Requests that may be under way at once: what comes beyond is dropped by the senders, not held by them. More than a
 * listening socket holds unaccepted (511) would measure TCP's repeats.
 */
const MAX_OPEN = 400;
/** A sender's patience. An answer that comes later than this is a failure. */
const PATIENCE_MS = 60_000;
const TICK_MS = 10;
const RSS_MS = 1_000;
/** The soak is cut into so many parts, of which memory and p99 are compared. */
const PARTS = 5;

interface Soak {
  readonly offered: number;
  readonly acceptedIds: readonly string[];
  readonly refused: number;
  readonly dropped: number;
  readonly failures: readonly string[];
  readonly p99Ms: readonly number[];
  readonly rssMb: readonly number[];
}

/**
 * Messages at twice the rate that the server takes, whether or not it answers: accepted, refused with 503 before
 * acceptance, or not sent at all where the senders' own bound is reached. Fails when one that was answered 200 is
 * not there, one that was not is charged, a balance differs from its ledger, or any other answer comes.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const server = await context.startServer();
  try {
    await sendSmsLoad(server.url, server.key, CONNECTIONS, 2);
    const load = await sendSmsLoad(server.url, server.key, CONNECTIONS, CAPACITY_SECONDS);
    const capacity = load.accepted / load.seconds;
    const before = await messageCount(context, server);
    context.log(`soak: ${SECONDS} s at twice ${capacity.toFixed(0)}/s`);
    const soak = await overload(context, server, 2 * capacity);
    if (soak.failures.length > 0) throw new Error(`${soak.failures.length} failures: ${soak.failures[0]}`);
    await allThere(context, server, before, soak.acceptedIds);
    await checkMoney(context, server.database);
    context.log(`soak: RSS in MB ${soak.rssMb.map(Math.round).join(', ')}`);
    context.log(`soak: p99 in ms ${soak.p99Ms.map(Math.round).join(', ')}`);
    // The first part is that in which connections are made and code is compiled.
    const [first = 0, ...later] = soak.rssMb.slice(1);
    const [firstP99 = 0, ...laterP99] = soak.p99Ms.slice(1);
    return [
      { name: 'soak: offered', value: soak.offered / SECONDS, unit: '/s', baseline: capacity },
      { name: 'soak: accepted', value: soak.acceptedIds.length / SECONDS, unit: '/s', baseline: capacity },
      { name: 'soak: refused with 503', value: soak.refused, unit: 'requests' },
      { name: 'soak: not sent, since 400 were open', value: soak.dropped, unit: 'requests' },
      {
        name: `soak: highest RSS of the later parts ÷ of the second of ${PARTS}`,
        value: Math.max(...later),
        unit: 'MB',
        baseline: first,
        ratio: Math.max(...later) / first,
        reach: '1.1',
      },
      {
        name: `soak: highest p99 of the later parts ÷ of the second of ${PARTS}`,
        value: Math.max(...laterP99),
        unit: 'ms',
        baseline: firstP99,
        ratio: Math.max(...laterP99) / firstP99,
        reach: '1.5',
      },
    ];
  } finally {
    await server.stop();
  }
}

async function overload(context: BenchContext, server: BenchServer, rate: number): Promise<Soak> {
  const pool = new Pool(server.url, {
    connections: MAX_OPEN,
    connect: { timeout: PATIENCE_MS },
    headersTimeout: PATIENCE_MS,
  });
  const latencies: number[][] = Array.from({ length: PARTS }, () => []);
  const rss: number[][] = Array.from({ length: PARTS }, () => []);
  const acceptedIds: string[] = [];
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  let offered = 0;
  let refused = 0;
  let dropped = 0;
  const startedAt = performance.now();
  const partAt = (at: number) => Math.min(PARTS - 1, Math.floor(((at - startedAt) / 1000 / SECONDS) * PARTS));

  const send = async (index: number) => {
    const at = performance.now();
    const answer = await pool.request({
      method: 'POST',
      path: '/api/v1/developers/sms',
      headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
      // Numbers that the simulator treats specially are left out: 0001 to 0004.
      body: JSON.stringify({
        to: `+2567${String((index * 10 + 7) % 1e8).padStart(8, '0')}`,
        message: 'Soak.',
      }),
    });
    const text = await answer.body.text();
    if (answer.statusCode === 200) {
      acceptedIds.push(JSON.parse(text).id);
      latencies[partAt(at)]?.push(performance.now() - at);
    } else if (answer.statusCode === 503 && answer.headers['retry-after'] !== undefined) {
      refused += 1;
    } else {
      failures.push(`${answer.statusCode}: ${text}`);
    }
  };

  let nextLook = startedAt;
  let elapsed = 0;
  while (elapsed < SECONDS) {
    for (const due = Math.floor(elapsed * rate); offered < due; offered++) {
      if (open.size >= MAX_OPEN) {
        dropped += 1;
        continue;
      }
      const sent: Promise<void> = send(offered)
        .catch((error: unknown) => void failures.push(String(error)))
        .finally(() => open.delete(sent));
      open.add(sent);
    }
    const now = performance.now();
    if (now >= nextLook) {
      nextLook = now + RSS_MS;
      rss[partAt(now)]?.push((await server.usage()).rssMb);
      if (Math.floor(elapsed) % 30 === 0)
        context.log(`soak: ${elapsed.toFixed(0)} s, ${acceptedIds.length} accepted`);
    }
    await sleep(TICK_MS);
    elapsed = (performance.now() - startedAt) / 1000;
  }
  await Promise.all(open);
  await pool.close();
  return {
    offered,
    acceptedIds,
    refused,
    dropped,
    failures,
    p99Ms: latencies.map(p99),
    rssMb: rss.map(median),
  };
}

/** Every message that was answered 200 leaves in the end, and nothing else was accepted or charged. */
async function allThere(
  context: BenchContext,
  server: BenchServer,
  before: number,
  acceptedIds: readonly string[],
): Promise<void> {
  await context.withClient(server.database, async (client) => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS missing FROM unnest($1::uuid[]) AS a (id)
       WHERE NOT EXISTS (SELECT FROM messages m WHERE m.id = a.id)
          OR NOT EXISTS (SELECT FROM ledger_entries l WHERE l.message_id = a.id AND l.kind = 'charge')`,
      [acceptedIds],
    );
    if (rows[0].missing > 0)
      throw new Error(`${rows[0].missing} messages were answered 200 and are not there`);
    const charged = await client.query(
      `SELECT count(*)::int AS count FROM ledger_entries WHERE kind = 'charge'`,
    );
    const total = await messageCount(context, server);
    if (total !== before + acceptedIds.length || charged.rows[0].count !== total) {
      throw new Error(
        `${total} messages, ${charged.rows[0].count} charges, ${before + acceptedIds.length} accepted`,
      );
    }
    context.log('soak: waiting until all have left');
    // At twice the capacity of acceptance the carriers may be as far behind again.
    const deadline = performance.now() + (60 + 2 * SECONDS) * 1000;
    for (;;) {
      const { rows: pending } = await client.query(
        `SELECT count(*)::int AS count FROM recipients WHERE status = 'pending'`,
      );
      if (pending[0].count === 0) return;
      if (performance.now() > deadline) throw new Error(`${pending[0].count} messages have not left`);
      await sleep(500);
    }
  });
}

async function messageCount(context: BenchContext, server: BenchServer): Promise<number> {
  const { rows } = await context.withClient(server.database, (client) =>
    client.query('SELECT count(*)::int AS count FROM messages'),
  );
  return rows[0].count;
}

function p99(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
