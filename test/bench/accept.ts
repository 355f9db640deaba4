import { type BenchContext, type BenchResult, median, medianRatio } from './context.ts';
import { startTwin } from './express-knex-twin.ts';
import { checkAccepted, checkMoney, sendSmsLoad, WARM_SECONDS } from './load.ts';
import { oneByOne } from './one-by-one.ts';

const CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 3;

/** Rows 1 and 2: messages accepted a second on one busy account, compared with the same writes made one by one. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  // Start no workers: they would take CPU time, and only acceptance is measured.
  const server = await context.startServer({ ROLES: 'api' });
  const database = await context.gatewayDatabase();
  const twin = await startTwin(context, database);
  const rates = { gateway: [] as number[], direct: [] as number[], twin: [] as number[] };
  const cpu: number[] = [];
  let latencies: readonly number[] = [];
  try {
    let accepted = (await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS)).accepted;
    await sendSmsLoad({ url: twin.url, key: 'twin' }, CONNECTIONS, WARM_SECONDS);
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`accept: round ${round} of ${ROUNDS}`);
      const load = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      accepted += load.accepted;
      rates.gateway.push(load.accepted / load.seconds);
      cpu.push(load.cpuUs);
      latencies = load.latenciesMs;
      rates.direct.push(await oneByOne(context, database, 8, SECONDS));
      const plain = await sendSmsLoad({ url: twin.url, key: 'twin' }, CONNECTIONS, SECONDS);
      rates.twin.push(plain.accepted / plain.seconds);
    }
    await checkAccepted(context, server.database, accepted);
    await checkMoney(context, database);
    const { rssMb } = await server.usage();
    const value = median(rates.gateway);
    const sorted = [...latencies].sort((left, right) => left - right);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    return [
      {
        row: 1,
        name: 'accepted/s ÷ one transaction at a time, 8 connections',
        value,
        unit: '/s',
        baseline: median(rates.direct),
        ratio: medianRatio(rates.gateway, rates.direct),
        cpuUs: median(cpu),
        reach: '3',
      },
      {
        row: 2,
        name: 'accepted/s ÷ plain Express + Knex twin',
        value,
        unit: '/s',
        baseline: median(rates.twin),
        ratio: medianRatio(rates.gateway, rates.twin),
        cpuUs: median(cpu),
        reach: '10',
      },
      { name: `accept p50 at ${CONNECTIONS} connections`, value: median(latencies), unit: 'ms' },
      { name: `accept p99 at ${CONNECTIONS} connections`, value: p99, unit: 'ms' },
      { row: 11, name: 'RSS of the server after the load', value: rssMb, unit: 'MB', reach: '300 MB' },
    ];
  } finally {
    await twin.stop();
    await server.stop();
  }
}
