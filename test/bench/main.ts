/** `npm run bench [-- NAME…]`: runs the benchmarks, prints a table and writes bench-results.json. */
import { writeFile } from 'node:fs/promises';
import * as accept from './accept.ts';
import { type BenchContext, type BenchResult, createContext } from './context.ts';
import * as history from './history.ts';
import * as kannel from './kannel.ts';
import * as latency from './latency.ts';
import * as limiter from './limiter.ts';
import * as pipeline from './pipeline.ts';
import * as plans from './plans.ts';
import * as processes from './processes.ts';
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
  plans,
  fairness,
  soak,
};
/** Runs only when it is named: it takes ten minutes, or SOAK_SECONDS. */
const ONLY_NAMED: ReadonlySet<string> = new Set(['soak']);

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !(name in benches));
if (unknown !== undefined || wanted.includes('--help')) {
  process.stderr.write(`Usage: npm run bench [-- NAME…]\nBenchmarks: ${Object.keys(benches).join(', ')}\n`);
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
}
await writeFile('bench-results.json', `${JSON.stringify(results, null, 2)}\n`);
const figure = (value: number | undefined) =>
  value === undefined ? '' : value >= 100 ? value.toFixed(0) : value.toFixed(2);
console.table(
  results.map(({ row, name, value, unit, baseline, ratio, reach }) => ({
    row: row ?? '',
    name,
    figure: `${figure(value)} ${unit}`,
    baseline: figure(baseline),
    ratio: figure(ratio),
    reach: reach ?? '',
  })),
);
