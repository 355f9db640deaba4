/** Cells behind Debian's HAProxy, whose files `npm run cli -- cells haproxy` wrote. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCliHere } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';

export interface CellProxy extends AsyncDisposable {
  readonly url: string;
  /** Where the directory of cells and the files of HAProxy are. */
  readonly path: string;
  readonly directory: string;
}

/** Starts HAProxy before the gateways, by name of the cell. The first cell owns the slots 000-7ff, the second 800-fff. */
export async function startCellProxy(cells: Readonly<Record<string, string>>): Promise<CellProxy> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-cells-'));
  const directory = join(path, 'cells.json');
  const slots = ['000-7ff', '800-fff'];
  const named = Object.entries(cells).map(([name, url], index) => [
    name,
    { host: `${name}.sms.example.com`, slots: slots[index], servers: [new URL(url).host] },
  ]);
  await writeFile(directory, JSON.stringify({ cells: Object.fromEntries(named) }));
  const port = await freePort();
  const bind = `127.0.0.1:${port}`;
  const written = await runCliHere(
    ['cells', 'haproxy', '--directory', directory, '--to', path, '--bind', bind],
    {},
  );
  if (written.code !== 0) throw new Error(written.stderr);
  await check(path);
  const haproxy = spawn('haproxy', ['-db', '-f', join(path, 'haproxy.cfg')], { stdio: 'ignore' });
  const url = `http://${bind}`;
  await eventually(async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy ended with ${haproxy.exitCode}`);
    for (const name of Object.keys(cells)) {
      const headers = { Host: `${name}.sms.example.com` };
      if ((await fetch(`${url}/health/live`, { headers })).status !== 200) return false;
    }
    return true;
  }, 20_000);
  return {
    url,
    path,
    directory,
    async [Symbol.asyncDispose]() {
      if (haproxy.exitCode === null) {
        haproxy.kill('SIGKILL');
        await once(haproxy, 'close');
      }
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** Rejects with the words of HAProxy if it refuses the files. A warning counts, too. */
async function check(path: string): Promise<void> {
  const child = spawn('haproxy', ['-c', '-f', join(path, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const [code] = await once(child, 'close');
  if (code !== 0 || /warning/i.test(said)) throw new Error(said);
}
