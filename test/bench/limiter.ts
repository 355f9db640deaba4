import { type BenchContext, type BenchResult, median, medianRatio } from './context.ts';
import { checkAccepted, sendSmsLoad, WARM_SECONDS } from './load.ts';

const CONNECTIONS = 64;
const SECONDS = 3;
const ROUNDS = 4;

/** Row 7: messages accepted a second with the shared exact limiter, compared with a limiter that admits everything. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const limited = await context.startServer({ ROLES: 'api' });
  const unlimited = await context.startServer({ ROLES: 'api' }, 'test/bench/unlimited.main.ts');
  const rates = { limited: [] as number[], unlimited: [] as number[] };
  const cpu: number[] = [];
  let accepted = 0;
  try {
    accepted += (await sendSmsLoad(limited, CONNECTIONS, WARM_SECONDS)).accepted;
    await sendSmsLoad(unlimited, CONNECTIONS, WARM_SECONDS);
    for (let round = 1; round <= ROUNDS; round++) {
      context.log(`limiter: round ${round} of ${ROUNDS}`);
      const on = await sendSmsLoad(limited, CONNECTIONS, SECONDS);
      const off = await sendSmsLoad(unlimited, CONNECTIONS, SECONDS);
      accepted += on.accepted;
      cpu.push(on.cpuUs);
      rates.limited.push(on.accepted / on.seconds);
      rates.unlimited.push(off.accepted / off.seconds);
    }
    await checkAccepted(context, limited.database, accepted);
    return [
      {
        row: 7,
        name: 'accepted/s, limiter on ÷ off',
        value: median(rates.limited),
        unit: '/s',
        baseline: median(rates.unlimited),
        ratio: medianRatio(rates.limited, rates.unlimited),
        cpuUs: median(cpu),
        reach: '0.85',
      },
    ];
  } finally {
    await limited.stop();
    await unlimited.stop();
  }
}
