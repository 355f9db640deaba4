import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchContext, type BenchResult, type BenchServer, median } from './context.ts';
import { checkMoney, sendSmsLoad, WARM_SECONDS } from './load.ts';
import { openLoop, p99 } from './open-loop.ts';
import { machineTime, stolenPercent } from './stolen.ts';

/** Duration of the soak in seconds: ten minutes, or SOAK_SECONDS. */
const SECONDS = Number(process.env.SOAK_SECONDS ?? 600);
const CAPACITY_SECONDS = 5;
const CONNECTIONS = 64;
/** Concurrent requests. More than the server admits (500, src/rest/router.ts), so that it must refuse some. */
const MAX_OPEN = 1_500;
/** Number of parts of the soak, whose memory and p99 are compared. */
const PARTS = 5;

/**
 * Sends messages at twice the rate that the server can accept, without waiting for answers. A message is accepted,
 * refused with 503, or not sent because `MAX_OPEN` requests are open. The soak fails in these cases: no message was
 * refused, an accepted message is missing, a message that was not accepted is charged, a balance differs from its
 * ledger, or there was any other answer.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const server = await context.startServer();
  try {
    await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS);
    const load = await sendSmsLoad(server, CONNECTIONS, CAPACITY_SECONDS);
    const capacity = load.accepted / load.seconds;
    const before = await messageCount(context, server);
    context.log(`soak: ${SECONDS} s at twice ${capacity.toFixed(0)}/s`);
    const rss: number[][] = Array.from({ length: PARTS }, () => []);
    const partAt = (seconds: number) => Math.min(PARTS - 1, Math.floor((seconds / SECONDS) * PARTS));
    const cpuBefore = (await server.usage()).cpuSeconds;
    // A p99 means nothing if other machines took the processors, so their share is printed with it.
    const times = [await machineTime()];
    const soak = await openLoop(server, {
      rate: 2 * capacity,
      seconds: SECONDS,
      maxOpen: MAX_OPEN,
      async onSecond(second, accepted) {
        rss[partAt(second)]?.push((await server.usage()).rssMb);
        times[partAt(second) + 1] = await machineTime();
        if (second % 30 === 0) context.log(`soak: ${second} s, ${accepted} accepted`);
      },
    });
    const cpu = ((await server.usage()).cpuSeconds - cpuBefore) / soak.accepted.length;
    if (soak.failures.length > 0) throw new Error(`${soak.failures.length} failures: ${soak.failures[0]}`);
    if (soak.refusedMs.length === 0)
      throw new Error('twice the capacity was offered, and nothing was refused');
    const byPart = Map.groupBy(soak.accepted, ({ atSeconds }) => partAt(atSeconds));
    const p99Ms = rss.map((_, part) => p99((byPart.get(part) ?? []).map(({ ms }) => ms)));
    const rssMb = rss.map(median);
    context.log(`soak: RSS in MB ${rssMb.map(Math.round).join(', ')}`);
    context.log(`soak: p99 in ms ${p99Ms.map(Math.round).join(', ')}`);
    const stolen = times.slice(1).map((after, part) => stolenPercent(times[part] ?? after, after).toFixed(0));
    context.log(`soak: of the machine's time others took, in % ${stolen.join(', ')}`);
    await allThere(
      context,
      server,
      before,
      soak.accepted.map(({ id }) => id),
    );
    await checkMoney(context, server.database);
    // Leave out the first part, in which connections are opened and code is compiled.
    const [first = 0, ...later] = rssMb.slice(1);
    const [firstP99 = 0, ...laterP99] = p99Ms.slice(1);
    return [
      { name: 'soak: offered', value: soak.offered / SECONDS, unit: '/s', baseline: capacity },
      {
        name: 'soak: accepted ÷ capacity',
        value: soak.accepted.length / SECONDS,
        unit: '/s',
        baseline: capacity,
        ratio: soak.accepted.length / SECONDS / capacity,
        cpuUs: cpu * 1e6,
      },
      { name: 'soak: refused with 503 and Retry-After', value: soak.refusedMs.length, unit: 'requests' },
      { name: 'soak: how long a refusal takes, p50', value: median(soak.refusedMs), unit: 'ms' },
      { name: `soak: not sent, since ${MAX_OPEN} were open`, value: soak.dropped, unit: 'requests' },
      {
        row: 11,
        name: 'soak: highest RSS of a part',
        value: Math.max(...rssMb),
        unit: 'MB',
        reach: '300 MB',
      },
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

/** Checks that every message answered with 200 is submitted in the end, and that no other was accepted or charged. */
async function allThere(
  context: BenchContext,
  server: BenchServer,
  before: number,
  acceptedIds: readonly string[],
): Promise<void> {
  await context.withClient(server.database, async (client) => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS missing FROM (
         SELECT unnest($1::uuid[]) EXCEPT (SELECT id FROM messages INTERSECT
           SELECT message_id FROM ledger_entries WHERE kind = 'charge')) gone`,
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
    // The load is twice the capacity, so submission of the backlog may take up to twice as long as the soak.
    const deadline = performance.now() + (60 + 2 * SECONDS) * 1000;
    for (;;) {
      const { rows: pending } = await client.query(
        `SELECT count(*)::int AS count FROM recipients WHERE status = 'pending'`,
      );
      if (pending[0].count === 0) return;
      if (performance.now() > deadline) throw new Error(`${pending[0].count} messages have not left`);
      await sleep(1_000);
    }
  });
}

async function messageCount(context: BenchContext, server: BenchServer): Promise<number> {
  const { rows } = await context.withClient(server.database, (client) =>
    client.query('SELECT count(*)::int AS count FROM messages'),
  );
  return rows[0].count;
}
