/** Two cells as processes, each with a PostgreSQL and a carrier of its own, behind Debian's HAProxy. */
import { readdir, readFile } from 'node:fs/promises';
import { type CellProxy, startCellProxy, twoCells } from './cell-proxy.ts';
import { eventually } from './eventually.ts';
import {
  embeddedConnection,
  postmasterPid,
  runCli,
  type ServerProcess,
  startCli,
  startedDirectory,
  startServer,
  type Workplace,
} from './server-process.ts';
import { type Smsc, startSmsc } from './smsc.ts';

export type CellName = 'a' | 'b';

export interface CellProcess {
  readonly name: CellName;
  readonly url: string;
  readonly server: ServerProcess;
  readonly connection: Awaited<ReturnType<typeof embeddedConnection>>;
  readonly databaseUrl: string;
  readonly smsc: Smsc;
  /** The environment of its gateway and of the CLI. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command of the CLI as a process. Throws if it fails. Returns the JSON that it prints. */
  cli(...args: string[]): Promise<unknown>;
  /** Kills the gateway and its PostgreSQL with all their processes. */
  kill(): Promise<void>;
}

export interface CellProcesses extends AsyncDisposable {
  readonly cells: Readonly<Record<CellName, CellProcess>>;
  readonly proxy: CellProxy;
  /** Starts `account move` as a process. */
  startMove(accountId: string, from: CellName): ServerProcess;
}

export async function startCellProcesses(workplace: Workplace): Promise<CellProcesses> {
  // Both directories are copies of one, so both cells have the same master key.
  const cells = {
    a: await startCell(workplace, 'a', '000-7ff'),
    b: await startCell(workplace, 'b', '800-fff'),
  };
  const proxy = await startCellProxy(twoCells(cells.a.url, cells.b.url));
  return {
    cells,
    proxy,
    startMove(accountId, from) {
      const to = from === 'a' ? 'b' : 'a';
      return startCli(
        workplace,
        [
          ...['account', 'move', '--account', accountId, '--to-database', cells[to].databaseUrl],
          ...['--directory', proxy.directory, '--to-cell', to, '--proxy', proxy.path, '--drain', '60'],
        ],
        cells[from].environment,
      );
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      for (const cell of Object.values(cells)) {
        await cell.server.kill();
        await cell.kill();
        await cell.smsc.stop();
      }
    },
  };
}

async function startCell(workplace: Workplace, name: CellName, slots: string): Promise<CellProcess> {
  const { dataDir } = await startedDirectory(workplace);
  const smsc = await startSmsc({
    systemId: `cell-${name}`,
    reports: { form: 'text', when: 'after', delayMs: 300 },
  });
  const environment = {
    DATA_DIR: dataDir,
    CELL_SLOTS: slots,
    SMS_ROUTES: `*=${smsc.url}`,
    TRUST_PROXY: '127.0.0.0/8',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    RATE_LIMIT_PER_MINUTE: '1000000',
    RATE_LIMIT_WEBHOOKS_PER_MINUTE: '1000',
    QUIET_HOURS: 'none',
  };
  const server = startServer(workplace, environment);
  const url = await server.ready();
  const connection = await embeddedConnection(dataDir);
  const { host, port, user, database } = connection;
  return {
    name,
    url,
    server,
    connection,
    databaseUrl: `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`,
    smsc,
    environment,
    async cli(...args) {
      const { code, stdout, stderr } = await runCli(workplace, [...args, '--json'], environment);
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async kill() {
      const main = await postmasterPid(dataDir).catch(() => undefined);
      const gone = server.kill();
      if (main !== undefined) await killTree(main);
      await gone;
    },
  };
}

/** Kills a process and its children. Resolves when they are gone. */
async function killTree(main: number): Promise<void> {
  const pids = [main, ...(await childrenOf(main))];
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  const stateOf = (pid: number) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  await eventually(async () => {
    const states = await Promise.all(pids.map(stateOf));
    return states.every((text) => text === undefined || /\) Z /.test(text));
  });
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: number[] = [];
  for (const pid of pids) {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (Number(fields[1]) === parent) found.push(pid);
  }
  return found;
}
