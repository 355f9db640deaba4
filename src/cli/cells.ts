import type { Command } from 'commander';
import { type CliRunner, examples, group, leaf } from './command.ts';

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
