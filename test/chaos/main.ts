/**
 * `npm run chaos -- --seed N [--seconds S]` disturbs running gateways as the seed decides. It then judges them by the
 * tables and by the records of clients, carrier and receiver. `--seeds N` runs N seeds, from `--seed` on.
 */
import { parseArgs } from 'node:util';
import { type Arena, openArena } from './arena.ts';
import { type RunOptions, type RunResult, run } from './run.ts';
import { themes } from './schedule.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    rest: { type: 'string', default: '90' },
    theme: { type: 'string' },
    only: { type: 'string' },
    'until-failure': { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(`Usage: npm run chaos -- [--seed N] [--seconds S] [--seeds COUNT] [--rest S] [--theme NAME] [--only 1,2,…] [--until-failure] [--whole] [--verbose]

--seed           where the disorder comes from; the same seed makes the same disorder
--seconds        for how long clients send (60)
--seeds          runs so many seeds, one after the other, and ends with 1 when one failed
--rest           how many seconds everything may take to come to rest (90)
--theme          what goes wrong: ${themes.join(', ')}; the seed's when absent
--only           of the planned disorders these only
--until-failure  ends with the first seed that fails
--whole          of a failing seed, looks for no fewer disorders that fail too
--verbose        shows each disorder as it begins, and the gateways' logs of a failing run
`);
  process.exit(0);
}
const first = Number(values.seed);
const seconds = Number(values.seconds);
const log = values.verbose ? (line: string) => void process.stderr.write(`${line}\n`) : () => undefined;

const arena = await openArena();
let failed = 0;
try {
  for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
    const only = values.only?.split(',').map(Number);
    const options: RunOptions = {
      seed,
      seconds,
      theme: values.theme,
      only,
      restSeconds: Number(values.rest),
      log,
    };
    const startedAt = performance.now();
    const result = await run(arena, options).catch((error: Error): RunResult => {
      // A run that ended with an exception counts as failed.
      return { planned: [], wrong: [error.stack ?? error.message], messages: 0, events: 0, restMs: 0 };
    });
    const tookSeconds = Math.round((performance.now() - startedAt) / 1_000);
    process.stdout.write(`seed ${seed}: ${wordsOf(result)} in ${tookSeconds} s\n`);
    if (result.wrong.length === 0) continue;
    failed += 1;
    for (const fault of result.wrong.slice(0, 20)) process.stdout.write(`  ${fault}\n`);
    const numbers = values.whole
      ? (only ?? result.planned.map((_, number) => number))
      : await shorten(arena, options, result);
    for (const number of numbers)
      process.stdout.write(`  ${number} ${JSON.stringify(result.planned[number])}\n`);
    process.stdout.write(
      `  again: npm run chaos -- --seed ${seed} --seconds ${seconds}${values.theme === undefined ? '' : ` --theme '${values.theme}'`} --only ${numbers.join(',')}\n`,
    );
    if (values['until-failure']) break;
  }
} finally {
  await arena.remove();
}
process.exit(failed > 0 ? 1 : 0);

function wordsOf({ wrong, messages, events, planned, restMs }: RunResult): string {
  const verdict = wrong.length === 0 ? 'ok' : `${wrong.length} faults`;
  return `${verdict} (${planned.length} disorders, ${messages} messages, ${events} events, rest after ${Math.round(restMs / 1_000)} s)`;
}

/**
 * Searches for a shorter list of disorders that still fails: leaves out halves, then quarters. If the complete list
 * does not fail a second time, it is not shortened.
 */
async function shorten(
  arena: Arena,
  options: RunOptions,
  { planned }: RunResult,
): Promise<readonly number[]> {
  let left: readonly number[] = options.only ?? planned.map((_, number) => number);
  if (left.length > 0 && (await run(arena, options)).wrong.length === 0) {
    process.stdout.write('  it did not fail again: real processes decide when exactly things happen\n');
    return left;
  }
  for (let parts = 2; parts <= 8 && left.length > 1; parts *= 2) {
    const size = Math.ceil(left.length / parts);
    for (let start = 0; start < left.length && left.length > 1; start += size) {
      const without = left.filter((_, index) => index < start || index >= start + size);
      const { wrong } = await run(arena, { ...options, only: without });
      if (wrong.length === 0) continue;
      left = without;
      start -= size;
    }
  }
  return left;
}
