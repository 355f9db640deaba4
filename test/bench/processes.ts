import { type BenchContext, type BenchResult, type BenchServer, median, medianRatio } from './context.ts';
import { pinToCores } from './cores.ts';
import { checkAccepted, sendSmsLoad, WARM_SECONDS } from './load.ts';

const SECONDS = 2;
const ROUNDS = 5;
/** Total numbers of connections to measure. Each process gets an equal share. 32 do not saturate one process. */
const CONNECTIONS = [64, 128];
const COUNTS = [1, 2, 4];

/** Messages accepted a second in each round, and the servers' CPU time for a message. */
interface Rates {
  readonly rates: number[];
  readonly cpuUs: number[];
}

/**
 * Row 8: messages accepted a second by two and four processes on one database, compared with one process. Each process
 * is pinned to one core.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const first = await context.startServer({ ROLES: 'api' });
  const servers = [first];
  const measured = CONNECTIONS.flatMap((connections) =>
    COUNTS.map((count): Rates & { connections: number; count: number } => ({
      connections,
      count,
      rates: [],
      cpuUs: [],
    })),
  );
  let accepted = 0;
  let undo: (() => Promise<void>) | undefined;
  try {
    while (servers.length < Math.max(...COUNTS))
      servers.push(await context.joinServer(first, { ROLES: 'api' }));
    const pinned = await pinToCores(context, servers, 'each');
    undo = pinned.undo;
    for (const server of servers) accepted += (await sendSmsLoad(server, 64, WARM_SECONDS)).accepted;
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`processes: round ${round} of ${ROUNDS}`);
      for (const { connections, count, rates, cpuUs } of measured) {
        const sent = await send(servers.slice(0, count), connections);
        accepted += sent.accepted;
        rates.push(sent.rate);
        cpuUs.push(sent.cpuUs);
      }
    }
    await checkAccepted(context, first.database, accepted);
    return measured
      .filter(({ count }) => count > 1)
      .map(({ connections, count, rates, cpuUs }) => {
        const alone = measured.find((other) => other.connections === connections && other.count === 1);
        return {
          ...(count === 2 ? { row: 8, reach: '0.9 on two cores' } : {}),
          name: `accepted/s, ${count} processes ÷ one, ${connections} connections in all`,
          value: median(rates),
          unit: '/s',
          baseline: median(alone?.rates ?? []),
          ratio: medianRatio(rates, alone?.rates ?? []),
          cpuUs: median(cpuUs),
          note: pinned.text,
        };
      });
  } finally {
    await undo?.();
    for (const server of servers.reverse()) await server.stop();
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
