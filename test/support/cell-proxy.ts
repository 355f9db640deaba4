/** Cells behind Debian's HAProxy, whose files `npm run cli -- cells haproxy` wrote. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSlots, SLOTS, slotText } from '../../src/domain/cells/slots.ts';
import { runCliHere } from './cli.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

/** A cell as `cells.json` has it. */
interface ListedCell {
  readonly host: string;
  readonly slots: string;
  readonly servers: readonly string[];
}

export interface CellProxy extends AsyncDisposable {
  readonly url: string;
  /** Where the directory of cells and the files of HAProxy are. */
  readonly path: string;
  /** The file `cells.json`. */
  readonly directory: string;
}

/** Starts HAProxy before cells, by name. `port` must be free. Default: any free port. */
export async function startCellProxy(
  cells: Readonly<Record<string, ListedCell>>,
  port?: number,
): Promise<CellProxy> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-cells-'));
  const directory = join(path, 'cells.json');
  await writeFile(directory, JSON.stringify({ cells }));
  const bind = `127.0.0.1:${port ?? (await freePort())}`;
  const written = await runCliHere(
    ['cells', 'haproxy', '--directory', directory, '--to', path, '--bind', bind],
    {},
  );
  if (written.code !== 0) throw new Error(written.stderr);
  const haproxy = spawn('haproxy', ['-db', '-f', join(path, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [haproxy.stdout, haproxy.stderr]) stream.on('data', (text) => (said += text));
  const url = `http://${bind}`;
  await eventually(async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy ended with ${haproxy.exitCode}: ${said}`);
    return (await fetch(`${url}/health/live`)).status === 200;
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

/** Two cells, `a` with the slots 000-7ff and `b` with the others, each with one server. */
export function twoCells(a: string, b: string): Readonly<Record<'a' | 'b', ListedCell>> {
  const server = (url: string) => [new URL(url).host];
  return {
    a: { host: 'a.sms.example.com', slots: '000-7ff', servers: server(a) },
    b: { host: 'b.sms.example.com', slots: '800-fff', servers: server(b) },
  };
}

/** Rejects with the words of HAProxy if it refuses the files. A warning counts, too. */
export async function checkProxyFiles(path: string): Promise<void> {
  const child = spawn('haproxy', ['-c', '-f', join(path, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const [code] = await once(child, 'close');
  if (code !== 0 || /warning/i.test(said)) throw new Error(said);
}

export interface CellFront {
  /** What the gateway must know of its place behind the proxy. */
  readonly environment: Readonly<Record<string, string>>;
  /** Starts the proxy before the gateway. */
  start(): Promise<CellProxy>;
}

/**
 * With TEST_OTHER_CELL, the URL of a gateway that has none of the test's accounts, a test's gateway is the second of two
 * cells, and the test talks to HAProxy (`npm run test:cells-contract`). A request that goes to the wrong cell fails.
 */
export async function cellFront(
  environment: Readonly<Record<string, string>>,
): Promise<CellFront | undefined> {
  const other = process.env.TEST_OTHER_CELL;
  if (other === undefined) return undefined;
  const slots = environment.CELL_SLOTS ?? '800-fff';
  const port = await freePort();
  const own = environment.PORT ?? String(await freePort());
  // Without a public URL, a gateway in production says so. With one, it is the test's own.
  const publicUrl: Record<string, string> =
    environment.NODE_ENV === 'production' ? {} : { PUBLIC_URL: `http://127.0.0.1:${port}` };
  return {
    environment: { PORT: own, CELL_SLOTS: slots, TRUST_PROXY: '127.0.0.0/8,::1/128', ...publicUrl },
    start: () =>
      startCellProxy(
        {
          other: { host: 'other.example.com', slots: slotsOutside(slots), servers: [new URL(other).host] },
          tested: { host: '127.0.0.1', slots, servers: [`127.0.0.1:${own}`] },
        },
        port,
      ),
  };
}

/** Returns the slots that do not belong to `slots`, as a text. */
function slotsOutside(slots: string): string {
  const owned = new Set(
    parseSlots(slots)?.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index),
    ),
  );
  return Array.from({ length: SLOTS }, (_, slot) => slot)
    .filter((slot) => !owned.has(slot))
    .map(slotText)
    .join(',');
}
