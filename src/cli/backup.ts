import { type Command, InvalidArgumentError } from 'commander';
import { parseIsoTime } from '../domain/iso-time.ts';
import type { OnProgress, RestoreReport } from './backup-tools.ts';
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
    .addHelpText('after', examples('backup --to /mnt/backups', 'backup --to gateway.tar.zst --with-keys'))
    .action(({ json, to, withKeys = false, fast = false }) =>
      runner.withTools(json, async ({ backUp }) => {
        const made = await backUp({ to, withKeys, isFast: fast, onProgress: showProgress('backup', json) });
        const { file, bytes, postgres, wholeUntil, masterKey } = made;
        const lines = [
          `backup    ${file} (${megabytes(bytes)}, PostgreSQL ${postgres})`,
          `until     ${wholeUntil}: everything committed before is in it`,
          withKeys
            ? 'keys      included: anyone who has the file can read every secret'
            : `keys      not included: keep the master key ${masterKey} elsewhere`,
        ];
        return { json: { backup: made }, text: lines.join('\n') };
      }),
    );
  leaf(program, 'restore', 'restore a backup; the gateway then sends nothing until it is released')
    .requiredOption('--from <place>', 'a backup file, or a directory of backups')
    .option(
      '--until <time>',
      'in a directory, use the newest backup complete at this time (ISO 8601 with Z or an offset)',
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
        ),
      ),
    );
}

function describe(report: RestoreReport): CliAnswer {
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
