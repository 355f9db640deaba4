/** Cells behind Debian's HAProxy, whose files `npm run cli -- cells haproxy` wrote. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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
  /** The process of HAProxy. */
  readonly pid: number | undefined;
}

/**
 * Starts HAProxy before cells, by name. `host` and `port` are where it listens; default: any free port of 127.0.0.1. With
 * `source`, it calls the gateways from that address. `service` is the text of a configuration of the operator's own, which
 * HAProxy reads from the same directory.
 */
export async function startCellProxy(
  cells: Readonly<Record<string, ListedCell>>,
  {
    host = '127.0.0.1',
    port,
    source,
    service,
  }: {
    readonly host?: string;
    readonly port?: number;
    readonly source?: string;
    readonly service?: string;
  } = {},
): Promise<CellProxy> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-cells-'));
  const directory = join(path, 'cells.json');
  await writeFile(directory, JSON.stringify({ cells }));
  const listensOn = port ?? (await freePort());
  const bind = host === '::' ? `:::${listensOn} v4v6` : `${host}:${listensOn}`;
  const written = await runCliHere(
    ['cells', 'haproxy', '--directory', directory, '--to', path, '--bind', bind],
    {},
  );
  if (written.code !== 0) throw new Error(written.stderr);
  const config = join(path, 'haproxy.cfg');
  if (source !== undefined) {
    const text = await readFile(config, 'utf8');
    await writeFile(config, text.replaceAll(/(\n {2}server .*)/g, `$1 source ${source}`));
  }
  if (service !== undefined) await writeFile(join(path, 'service.cfg'), service);
  const haproxy = spawn('haproxy', ['-db', '-f', service === undefined ? config : path], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [haproxy.stdout, haproxy.stderr]) stream.on('data', (text) => (said += text));
  const url = `http://127.0.0.1:${listensOn}`;
  await eventually(async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy ended with ${haproxy.exitCode}: ${said}`);
    return (await fetch(`${url}/health/live`)).status === 200;
  }, 20_000);
  return {
    url,
    path,
    directory,
    pid: haproxy.pid,
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
  readonly processUrl: string;
  /** Starts the proxy before the gateway. */
  start(): Promise<CellProxy>;
}

/** The URL of a gateway that has none of the test's accounts, if the test's gateway is the second of two cells. */
const OTHER_CELL = process.env.TEST_OTHER_CELL;

/** Whether the tests talk to their gateways through HAProxy (`npm run test:cells-contract`). */
export const isBehindProxy = OTHER_CELL !== undefined;

/** The address from which HAProxy calls the gateways. They trust it, and not the clients on 127.0.0.1. */
const PROXY_ADDRESS = '127.0.0.77';

/**
 * Whether these bytes are HAProxy's own refusal of a request that breaks HTTP. Its text cannot be set, and it has none of
 * the gateway's headers (docs/operations/cells.md).
 */
export function isRefusalOfProxy(answer: string): boolean {
  return (
    isBehindProxy &&
    /^HTTP\/1\.1 400 Bad request\r\n/.test(answer) &&
    answer.endsWith(
      '<html><body><h1>400 Bad request</h1>\nYour browser sent an invalid request.\n</body></html>\n',
    )
  );
}

/**
 * Makes a test's gateway the second of two cells, so that the test talks to HAProxy. A request that goes to the wrong cell
 * fails. Returns undefined if the tests run without a proxy.
 */
export async function cellFront(
  environment: Readonly<Record<string, string>>,
): Promise<CellFront | undefined> {
  if (OTHER_CELL === undefined) return undefined;
  const {
    HOST: host = '127.0.0.1',
    CELL_SLOTS: slots = '800-fff',
    TRUST_PROXY: trusted = PROXY_ADDRESS,
  } = environment;
  // If the test chooses a port, it is the one that its clients and its PUBLIC_URL know.
  const port = environment.PORT === undefined ? await freePort() : Number(environment.PORT);
  const own = await freePort();
  // Without a public URL, a gateway in production says so. With one, it is the test's own.
  const publicUrl = environment.PUBLIC_URL ?? `http://127.0.0.1:${port}`;
  return {
    environment: {
      PORT: String(own),
      CELL_SLOTS: slots,
      // A test that trusts itself as a proxy on loopback has HAProxy between itself and the gateway now.
      TRUST_PROXY: trusted.includes('127.0.0.') ? `${trusted},${PROXY_ADDRESS}` : trusted,
      ...(environment.NODE_ENV === 'production' && environment.PUBLIC_URL === undefined
        ? {}
        : { PUBLIC_URL: publicUrl }),
    },
    processUrl: `http://127.0.0.1:${own}`,
    start: () =>
      startCellProxy(
        {
          // The first cell gets the requests that name neither a key nor a known host.
          tested: { host: '127.0.0.1', slots, servers: [`127.0.0.1:${own}`] },
          other: {
            host: 'other.example.com',
            slots: slotsOutside(slots),
            servers: [new URL(OTHER_CELL).host],
          },
        },
        { host, port, source: PROXY_ADDRESS },
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
