import { type BenchContext, type BenchResult, median, medianRatio } from './context.ts';
import { checkAccepted, sendSmsLoad, WARM_SECONDS } from './load.ts';

const SECONDS = 3;
const ROUNDS = 3;

/** Row 8: accepted/s of two processes on one database, against one. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const first = await context.startServer({ ROLES: 'api' });
  const second = await context.joinServer(first, { ROLES: 'api' });
  const rates = { one: [] as number[], two: [] as number[] };
  const cpu: number[] = [];
  let accepted = 0;
  try {
    for (const server of [first, second]) accepted += (await sendSmsLoad(server, 64, WARM_SECONDS)).accepted;
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`processes: round ${round} of ${ROUNDS}`);
      const alone = await sendSmsLoad(first, 64, SECONDS);
      const both = await Promise.all([first, second].map((server) => sendSmsLoad(server, 32, SECONDS)));
      accepted += [alone, ...both].reduce((sum, load) => sum + load.accepted, 0);
      const total = both.reduce((sum, load) => sum + load.accepted, 0);
      cpu.push(both.reduce((sum, load) => sum + load.cpuUs * load.accepted, 0) / total);
      rates.one.push(alone.accepted / alone.seconds);
      rates.two.push(both.reduce((sum, load) => sum + load.accepted / load.seconds, 0));
    }
    await checkAccepted(context, first.database, accepted);
    return [
      {
        row: 8,
        name: 'accepted/s, two processes ÷ one',
        value: median(rates.two),
        unit: '/s',
        baseline: median(rates.one),
        ratio: medianRatio(rates.two, rates.one),
        cpuUs: median(cpu),
        reach: '0.9 on two cores',
      },
    ];
  } finally {
    await second.stop();
    await first.stop();
  }
}
