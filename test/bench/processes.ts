import { type BenchContext, type BenchResult, type BenchServer, median, medianRatio } from './context.ts';
import { checkAccepted, sendSmsLoad, WARM_SECONDS } from './load.ts';

const SECONDS = 2;
const ROUNDS = 5;
/** Total numbers of connections to measure. They go to one process, or half to each of two. 32 do not saturate one. */
const CONNECTIONS = [64, 128];

/** Messages accepted a second in one round, and the servers' CPU time for a message. */
interface Rates {
  readonly one: number[];
  readonly two: number[];
  readonly cpuUs: number[];
}

/** Row 8: messages accepted a second by two processes on one database, compared with one process. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const first = await context.startServer({ ROLES: 'api' });
  const second = await context.joinServer(first, { ROLES: 'api' });
  const rates = new Map<number, Rates>(CONNECTIONS.map((all) => [all, { one: [], two: [], cpuUs: [] }]));
  let accepted = 0;
  try {
    for (const server of [first, second]) accepted += (await sendSmsLoad(server, 64, WARM_SECONDS)).accepted;
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`processes: round ${round} of ${ROUNDS}`);
      for (const [connections, { one, two, cpuUs }] of rates) {
        const alone = await send([first], connections);
        const both = await send([first, second], connections);
        accepted += alone.accepted + both.accepted;
        one.push(alone.rate);
        two.push(both.rate);
        cpuUs.push(both.cpuUs);
      }
    }
    await checkAccepted(context, first.database, accepted);
    return [...rates].map(([connections, { one, two, cpuUs }]) => ({
      row: 8,
      name: `accepted/s, two processes ÷ one, ${connections} connections in all`,
      value: median(two),
      unit: '/s',
      baseline: median(one),
      ratio: medianRatio(two, one),
      cpuUs: median(cpuUs),
      reach: '0.9 on two cores',
    }));
  } finally {
    await second.stop();
    await first.stop();
  }
}

/** Loads all servers concurrently. Each gets an equal share of the connections. */
async function send(servers: readonly BenchServer[], connections: number) {
  const loads = await Promise.all(
    servers.map((server) => sendSmsLoad(server, connections / servers.length, SECONDS)),
  );
  const accepted = loads.reduce((sum, load) => sum + load.accepted, 0);
  return {
    accepted,
    rate: loads.reduce((sum, load) => sum + load.accepted / load.seconds, 0),
    cpuUs: loads.reduce((sum, load) => sum + load.cpuUs * load.accepted, 0) / accepted,
  };
}
