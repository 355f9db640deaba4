import { type Command, InvalidArgumentError } from 'commander';
import { isUuid } from '../domain/uuid.ts';
import { type CliRunner, examples, group, leaf } from './command.ts';

const STEPS: Readonly<Record<string, string>> = {
  copying: 'copying while the account works',
  closed: 'paused: sends are answered 503 with Retry-After',
  frozen: 'copying the last changes',
  moved: 'the other cell has the account: removing what is left here',
  done: 'nothing is left here',
};

/** The command that moves an account to another cell. */
export function addAccountMove(account: Command, runner: Pick<CliRunner, 'withCells'>): void {
  leaf(account, 'move', 'move an account to another cell; run again, it goes on where it was stopped')
    .requiredOption('--account <id>', 'id of the account, which this cell has')
    .requiredOption('--to-database <url>', 'DATABASE_URL of the cell to which it goes')
    .option('--directory <file>', 'the directory of cells, which then lists the keys of the account')
    .option('--to-cell <name>', 'the name of that cell in the directory')
    .option('--proxy <directory>', 'where the files of HAProxy are; a running one is told at once')
    .option('--drain <seconds>', 'how long to wait for jobs that are under way', seconds, 10)
    .addHelpText(
      'after',
      examples(
        'account move --account 0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11 --to-database postgres://gateway:secret@b/gateway ' +
          '--directory cells.json --to-cell b --proxy /etc/haproxy/cells',
      ),
    )
    .action(({ json, account: accountId, toDatabase, directory, toCell, proxy, drain }) => {
      if (!isUuid(accountId)) throw new Error('--account must be the id of an account.');
      if ((directory === undefined) !== (toCell === undefined))
        throw new Error('--directory and --to-cell are given together or not at all.');
      if (proxy !== undefined && directory === undefined) throw new Error('--proxy needs --directory.');
      return runner.withCells(json, async ({ moveAccount }) => {
        const moved = await moveAccount({
          accountId,
          toDatabase,
          toCell,
          directory,
          proxy,
          drainSeconds: drain,
          onStep: (step) => {
            if (!json) process.stderr.write(`${STEPS[step] ?? step}\n`);
          },
        });
        const total = Object.values(moved.rows).reduce((sum, rows) => sum + rows, 0);
        const text = `moved ${total} rows (${moved.rows.messages} messages) and ${moved.jobs} jobs; sends were refused for ${moved.pauseMs} ms`;
        return { json: moved, text };
      });
    });
}

/** The commands that keep the directory of cells and the proxy's files. */
export function addCells(program: Command, runner: Pick<CliRunner, 'withCells'>): void {
  const cells = group(
    program,
    'cells',
    'several gateways, each with some of the accounts',
    'haproxy --directory cells.json --to /etc/haproxy/cells',
  );
  leaf(cells, 'haproxy', 'write haproxy.cfg and its maps, which send each key to its cell')
    .requiredOption('--directory <file>', 'the directory of cells')
    .requiredOption('--to <directory>', 'where HAProxy reads the files')
    .option('--bind <address>', 'the bind line of HAProxy', ':8080')
    .addHelpText(
      'after',
      examples(
        'cells haproxy --directory cells.json --to /etc/haproxy/cells',
        "cells haproxy --directory cells.json --to /etc/haproxy/cells --bind ':443 ssl crt /etc/haproxy/site.pem'",
      ),
    )
    .action(({ json, directory, to, bind }) =>
      runner.withCells(json, async ({ writeProxyFiles }) => {
        const files = await writeProxyFiles({ directory, to, bind });
        return { json: { files }, text: files.join('\n') };
      }),
    );
  leaf(cells, 'keys', 'list in the directory the keys of this cell that do not begin with a slot of it')
    .requiredOption('--directory <file>', 'the directory of cells')
    .requiredOption('--cell <name>', 'the name of the cell whose DATABASE_URL is set')
    .addHelpText('after', examples('cells keys --directory cells.json --cell a'))
    .action(({ json, directory, cell }) =>
      runner.withCells(json, async ({ listKeys }) => {
        const listed = await listKeys({ directory, cell });
        return { json: { listed }, text: `${listed} keys of ${cell} are listed in ${directory}` };
      }),
    );
}

function seconds(text: string): number {
  const parsed = Number(text);
  if (!(parsed >= 1 && parsed <= 600))
    throw new InvalidArgumentError('It must be a number of seconds from 1 to 600.');
  return parsed;
}
