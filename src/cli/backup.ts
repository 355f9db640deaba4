import { type Command, InvalidArgumentError } from 'commander';
import { parseIsoTime } from '../domain/iso-time.ts';
import type { BaseReport, OnProgress, RestoreReport } from './backup-tools.ts';
import { type CliRunner, examples, leaf } from './command.ts';
import type { CliAnswer } from './output.ts';

/** The commands that back up and restore the database. */
export function addBackup(program: Command, runner: Pick<CliRunner, 'withTools'>): void {
  leaf(program, 'backup', 'copy the database while the gateway runs')
    .requiredOption(
      '--to <place>',
      'a directory, in which the file is named after the time, or a file that ends in .tar.zst',
    )
    .option('--fast', 'start at once with a full checkpoint, instead of spreading its writes over minutes')
    .option('--with-keys', 'include the master key and the Web Push keys')
    .option('--continuous', 'keep every later change beside the copy, until SIGINT or SIGTERM')
    .option('--base-every <hours>', 'with --continuous, copy the whole database at this interval', hours, 24)
    .addHelpText(
      'after',
      examples(
        'backup --to /mnt/backups',
        'backup --to gateway.tar.zst --with-keys',
        'backup --to /mnt/backups --continuous',
      ),
    )
    .action(({ json, to, withKeys = false, fast = false, continuous = false, baseEvery }) =>
      runner.withTools(json, async ({ backUp, backUpContinuously }) => {
        const options = { to, withKeys, isFast: fast, onProgress: showProgress('backup', json) };
        if (!continuous) {
          const made = await backUp(options);
          return { json: { backup: made }, text: describeBase(made, withKeys) };
        }
        let kept: string | undefined;
        const show = showKept(json);
        await backUpContinuously({
          ...options,
          baseEveryHours: baseEvery,
          signal: untilStopped(),
          onBase: (made) => note(json, describeBase(made, withKeys)),
          onFault: (error) => note(json, `backup: ${error instanceof Error ? error.message : error}`),
          onKept(until) {
            kept = until.toISOString();
            show(kept);
          },
        });
        const text = kept ? `until     ${kept}: everything committed before is kept` : 'nothing was kept';
        return { json: { keptUntil: kept ?? null }, text };
      }),
    );
  leaf(program, 'restore', 'restore a backup; the gateway then sends nothing until it is released')
    .requiredOption('--from <place>', 'a backup file, or a directory of backups')
    .option(
      '--until <time>',
      'in a directory, restore the state at this time (ISO 8601 with Z or an offset)',
      time,
    )
    .option('--to <directory>', 'restore for your own PostgreSQL into this directory, instead of DATA_DIR')
    .option('--check', 'only check the backup')
    .addHelpText(
      'after',
      examples('restore --from gateway.tar.zst', 'restore --from /mnt/backups --until 2026-11-24T09:30:00Z'),
    )
    .action(({ json, from, until, to, check = false }) =>
      runner.withTools(json, async ({ restore }) =>
        describe(
          await restore({ from, until, to, isCheck: check, onProgress: showProgress('restore', json) }),
          to !== undefined,
        ),
      ),
    );
}

function describeBase(made: BaseReport, withKeys: boolean): string {
  const { file, bytes, postgres, wholeUntil, masterKey } = made;
  return [
    `backup    ${file} (${megabytes(bytes)}, PostgreSQL ${postgres})`,
    `until     ${wholeUntil}: everything committed before is in it`,
    withKeys
      ? 'keys      included: anyone who has the file can read every secret'
      : `keys      not included: keep the master key ${masterKey} elsewhere`,
  ].join('\n');
}

/** Returns a signal that aborts at the first SIGINT or SIGTERM. */
function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  return stop.signal;
}

/** Writes a line to stderr. With --json it writes nothing. */
function note(isJson: boolean | undefined, text: string): void {
  if (!isJson) process.stderr.write(`${text}\n`);
}

/** Returns a function that prints a time every 10 s. The backup has all changes up to this time. */
function showKept(isJson: boolean | undefined): (until: string) => void {
  let shownAt = Number.NEGATIVE_INFINITY;
  return (until) => {
    if (performance.now() - shownAt < LINE_EVERY_MS) return;
    shownAt = performance.now();
    note(isJson, `kept until ${until}`);
  };
}

function describe(report: RestoreReport, isForOwnServer: boolean): CliAnswer {
  const { base, description, lastChangeAt, directory, isMasterKeyRight } = report;
  if (directory === null) {
    const text = `${base} is whole: PostgreSQL ${description.postgres}, until ${description.wholeUntil}`;
    return { json: { checked: report }, text };
  }
  const key = {
    true: 'the configured master key fits',
    false: `the configured master key is another one: this data needs ${description.masterKey}`,
    null: `before the start, provide the master key ${description.masterKey}: MASTER_KEY, or master.key in DATA_DIR`,
  }[String(isMasterKeyRight) as 'true' | 'false' | 'null'];
  const lines = [
    `restored  ${directory} from ${base}`,
    ...(lastChangeAt ? [`as of     ${lastChangeAt}, the last change in it`] : []),
    `keys      ${key}`,
    ...(isForOwnServer
      ? [
          `next      give the directory to the user of PostgreSQL, and start PostgreSQL on it: it recovers by itself`,
        ]
      : []),
    'next      start the gateway: it serves reads and sends nothing; then npm run cli -- release',
  ];
  return { json: { restored: report }, text: lines.join('\n') };
}

const SHOWN_EVERY_MS = 1_000;
const LINE_EVERY_MS = 10_000;

/**
 * Returns a function that writes progress to stderr. On a terminal it rewrites one line. Otherwise it writes a new line
 * every 10 s. With --json it writes nothing.
 */
function showProgress(what: string, isJson: boolean | undefined): OnProgress {
  const { stderr } = process;
  let shownAt = performance.now();
  return (done, expected) => {
    const everyMs = stderr.isTTY ? SHOWN_EVERY_MS : LINE_EVERY_MS;
    if (isJson || performance.now() - shownAt < everyMs) return;
    shownAt = performance.now();
    const text = `${what}: ${megabytes(done)} of ${megabytes(Math.max(done, expected))}`;
    stderr.write(stderr.isTTY ? `\r${text} ` : `${text}\n`);
  };
}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MB`;

function time(text: string): Date {
  const parsed = parseIsoTime(text);
  if (!parsed) throw new InvalidArgumentError('It must be a time such as 2026-11-24T09:30:00Z.');
  return parsed;
}

function hours(text: string): number {
  const parsed = Number(text);
  if (!(parsed >= 1 && parsed <= 8_760))
    throw new InvalidArgumentError('It must be a number of hours from 1 to 8760.');
  return parsed;
}
