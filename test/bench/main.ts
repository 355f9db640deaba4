/** `npm run bench [-- NAME…]`: runs the benchmarks, prints a table and writes bench-results.json. */
import { writeFile } from 'node:fs/promises';
import * as accept from './accept.ts';
import * as consoleBench from './console.ts';
import { type BenchContext, type BenchResult, createContext } from './context.ts';
import * as costs from './costs.ts';
import * as dashboards from './dashboards.ts';
import * as erasure from './erasure.ts';
import * as growth from './growth.ts';
import * as guide from './guide.ts';
import * as history from './history.ts';
import { LARGE } from './history.ts';
import * as kannel from './kannel.ts';
import * as latency from './latency.ts';
import * as limiter from './limiter.ts';
import { MESSAGES_PER_IDEMPOTENCY_KEY } from './load.ts';
import * as move from './move.ts';
import * as pipeline from './pipeline.ts';
import * as plans from './plans.ts';
import * as processes from './processes.ts';
import * as scale from './scale.ts';
import * as soak from './soak.ts';
import * as fairness from './webhook-fairness.ts';

const benches: Readonly<Record<string, { run(context: BenchContext): Promise<BenchResult[]> }>> = {
  latency,
  accept,
  kannel,
  pipeline,
  limiter,
  processes,
  history,
  guide,
  plans,
  fairness,
  dashboards,
  console: consoleBench,
  costs,
  erasure,
  growth,
  move,
  scale,
  soak,
};
/** Benchmarks that run only when named, because they take long. The soak takes ten minutes, or SOAK_SECONDS. */
const ONLY_NAMED: ReadonlySet<string> = new Set([
  'console',
  'costs',
  'dashboards',
  'erasure',
  'growth',
  'move',
  'scale',
  'soak',
]);

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in benches));
if (unknown !== undefined) {
  const usual = Object.keys(benches).filter((name) => !ONLY_NAMED.has(name));
  process.stderr.write(`Usage: npm run bench [-- NAME…]

Without a name: ${usual.join(', ')}, in less than ten minutes.
Only by name:   console, the console in Chromium on a slow processor and a slow line, three minutes;
                costs, what traces and limits cost accepting, three minutes;
                dashboards, accepting beside two viewers' dearest queries, four minutes;
                erasure, accepting while a person is erased, five minutes;
                move, an account of 100,000 messages that moves to another cell, three minutes;
                scale, what one message takes of the server and of PostgreSQL, two minutes;
                soak, ten minutes at twice the capacity (SOAK_SECONDS);
                growth, retention and partitions, and the rate of 5 million messages a day, or
                GROWTH_TIMES as much, for GROWTH_SECONDS.

The server runs built, in a session of its own as any service does (so do Kannel and the plain twin), and is configured
for real but for the rate limit's figure: its limiter, authentication, idempotency, audit and logging are on. Every
${MESSAGES_PER_IDEMPOTENCY_KEY}nd message has an idempotency key, in the baselines too. kannel runs where bearerbox and smsbox are installed.
history, plans, console, dashboards and erasure build ${LARGE.toLocaleString('en')} messages (HISTORY_MESSAGES). A bench fails on any answer that is not 2xx (503 in the
soak), on a lost message, and on a balance that is not its ledger's sum. The table also goes to bench-results.json.
`);
  process.exit(unknown === '--help' ? 0 : 1);
}

const context = await createContext();
const results: BenchResult[] = [];
try {
  for (const [name, bench] of Object.entries(benches)) {
    if (wanted.length > 0 ? !wanted.includes(name) : ONLY_NAMED.has(name)) continue;
    context.log(`${name} …`);
    results.push(...(await bench.run(context)));
  }
} finally {
  await context.close();
  // What was measured before a failure is shown and written, too.
  await report();
}

async function report(): Promise<void> {
  await writeFile('bench-results.json', `${JSON.stringify(results, null, 2)}\n`);
  const figure = (value: number | undefined) =>
    value === undefined ? '' : value >= 100 ? value.toFixed(0) : value.toFixed(2);
  console.table(
    results.map(({ row, name, value, unit, baseline, ratio, cpuUs, reach }) => ({
      row: row ?? '',
      name,
      figure: `${figure(value)} ${unit}`,
      baseline: figure(baseline),
      ratio: figure(ratio),
      'CPU a message': cpuUs === undefined ? '' : `${figure(cpuUs)} µs`,
      reach: reach ?? '',
    })),
  );
}
