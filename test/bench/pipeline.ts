import { request } from 'undici';
import { type BenchContext, type BenchResult, median, medianRatio } from './context.ts';
import { startHttpReceiver } from './http-receiver.ts';
import { checkAccepted, sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 3;

/**
 * Row 4: messages a second through the whole pipeline, from POST to the recorded webhook delivery, compared with
 * acceptance alone.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  let hooks = 0;
  const receiver = await startHttpReceiver(() => {
    hooks += 1;
  });
  const acceptOnly = await context.startServer({ ROLES: 'api' });
  const server = await context.startServer();
  try {
    await request(`${server.url}/api/v1/developers/webhooks`, {
      method: 'POST',
      headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, events: ['sms.sent'] }),
    });
    const accepted: number[] = [];
    const whole: number[] = [];
    const cpu: number[] = [];
    await sendSmsLoad(acceptOnly, CONNECTIONS, WARM_SECONDS);
    // Load for half of the warm-up only: the work after acceptance takes about as long again.
    let done = (await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS / 2)).accepted;
    await allDelivered(context, server.database, done, () => hooks);
    let first = { messages: 0, kept: 0 };
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`pipeline: round ${round} of ${ROUNDS}`);
      const alone = await sendSmsLoad(acceptOnly, CONNECTIONS, SECONDS);
      accepted.push(alone.accepted / alone.seconds);
      const before = await server.usage();
      const startedAt = performance.now();
      const load = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      done += load.accepted;
      await allDelivered(context, server.database, done, () => hooks);
      whole.push(load.accepted / ((performance.now() - startedAt) / 1000));
      const after = await server.usage();
      cpu.push(((after.cpuSeconds - before.cpuSeconds) / load.accepted) * 1e6);
      // Measure growth from here, so that the size of empty tables does not count.
      if (round === 1) first = { messages: done, ...(await storedBytes(context, server.database, done)) };
    }
    await checkAccepted(context, server.database, done);
    const { rssMb } = await server.usage();
    const stored = await storedBytes(context, server.database, done);
    return [
      {
        row: 4,
        name: 'whole pipeline/s ÷ accepted/s',
        value: median(whole),
        unit: '/s',
        baseline: median(accepted),
        ratio: medianRatio(whole, accepted),
        cpuUs: median(cpu),
        reach: '0.25',
      },
      {
        row: 11,
        name: 'RSS of the server under the whole pipeline',
        value: rssMb,
        unit: 'MB',
        reach: '300 MB',
      },
      {
        row: 10,
        name: 'stored per finished message: message, recipient, ledger, event, indexes',
        value: (stored.kept - first.kept) / (done - first.messages),
        unit: 'bytes',
        reach: '1,000',
      },
    ];
  } finally {
    await server.stop();
    await acceptOnly.stop();
    receiver.close();
  }
}

/**
 * Resolves when `count` deliveries are recorded as successful. Fails if they do not arrive. `hooks` returns how many
 * have arrived: counting in PostgreSQL starts only then, because it would disturb the measurement.
 */
async function allDelivered(
  context: BenchContext,
  database: string,
  count: number,
  hooks: () => number,
): Promise<void> {
  await context.withClient(database, async (client) => {
    const deadline = performance.now() + 120_000;
    for (;;) {
      if (hooks() >= count) {
        const { rows } = await client.query(
          `SELECT count(*)::int AS done FROM webhook_deliveries WHERE status = 'success'`,
        );
        if (rows[0].done === count) return;
      }
      if (performance.now() > deadline) throw new Error(`${hooks()} of ${count} webhooks after two minutes`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
}

/** Returns the size in bytes of the permanent tables with their indexes, after a vacuum. */
async function storedBytes(
  context: BenchContext,
  database: string,
  finished: number,
): Promise<{ kept: number }> {
  return context.withClient(database, async (client) => {
    const deadline = performance.now() + 60_000;
    for (;;) {
      const { rows } = await client.query(
        `SELECT count(*)::int AS count FROM recipients WHERE status = 'delivered'`,
      );
      if (rows[0].count === finished) break;
      if (performance.now() > deadline)
        throw new Error(`${rows[0].count} of ${finished} recipients are delivered`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await client.query('VACUUM messages, recipients, ledger_entries, events');
    const { rows } = await client.query(
      `SELECT sum(pg_total_relation_size(t::regclass))::float8 AS kept
       FROM unnest(ARRAY['messages', 'recipients', 'ledger_entries', 'events']) t`,
    );
    return rows[0];
  });
}
