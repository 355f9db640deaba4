import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/storage/embedded-postgres/embedded-postgres.ts';
import { startNode } from './program.ts';

/** All servers of a run share a master key, because servers on one database must. */
export const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** One row of the table: a measured figure, the figure it is compared with, and their ratio. */
export interface BenchResult {
  /** Number of the row in the performance table, if this result belongs to that table. */
  readonly row?: number;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline?: number;
  readonly ratio?: number;
  /** The server's CPU time for a message, in microseconds. It varies less than the rate. */
  readonly cpuUs?: number;
  /** The goal for the ratio, or for the value if there is no ratio. */
  readonly reach?: string;
  readonly note?: string;
}

export interface BenchServer {
  readonly url: string;
  readonly key: string;
  readonly pid: number;
  /** Name of the server's database. */
  readonly database: string;
  /** CPU seconds used by the server so far, and its resident memory in MB. */
  usage(): Promise<{ cpuSeconds: number; rssMb: number }>;
  stop(): Promise<void>;
}

export interface BenchContext {
  readonly postgres: EmbeddedPostgres['connection'];
  /** Starts the built server as a process, on a fresh database with a funded account. */
  startServer(environment?: Record<string, string>, entry?: string): Promise<BenchServer>;
  /** Starts one more server process on the database of `first`. */
  joinServer(
    first: Pick<BenchServer, 'database' | 'key'>,
    environment?: Record<string, string>,
  ): Promise<BenchServer>;
  /** Creates an empty database. Returns its name. */
  createDatabase(): Promise<string>;
  /** Lets a gateway create a database with a funded account, and stops the gateway. Returns the database's name. */
  gatewayDatabase(): Promise<string>;
  /** Runs `work` on a client of the database. */
  withClient<T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T>;
  log(line: string): void;
}

const FUNDS_MINOR = 1_000_000_000;
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: console.warn, error: console.error, child: () => logger };

/** Starts PostgreSQL with production settings. `close` stops everything that was started. */
export async function createContext(): Promise<BenchContext & { close(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  await chmod(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir, database: 'bench', logger });
  const servers = new Set<ChildProcess>();
  let databases = 0;

  const withClient = async <T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ ...postgres.connection, database });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  const createDatabase = async () => {
    databases += 1;
    const name = `bench_${databases}`;
    await withClient('bench', (client) => client.query(`CREATE DATABASE ${name}`));
    return name;
  };

  const launch = async (
    entry: string,
    database: string,
    environment: Record<string, string>,
  ): Promise<BenchServer> => {
    const { host, port, user } = postgres.connection;
    const child = startNode(entry, {
      PORT: '0',
      DATABASE_URL: `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`,
      DATA_DIR: join(dataDir, database),
      MASTER_KEY,
      RATE_LIMIT_PER_MINUTE: '1000000',
      RATE_LIMIT_WEBHOOKS_PER_MINUTE: '1000',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
      ...environment,
    });
    servers.add(child);
    const { key, url } = await readStart(child);
    return {
      url,
      key,
      pid: child.pid ?? 0,
      database,
      usage: () => usageOf(child.pid ?? 0),
      async stop() {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        await exited;
        servers.delete(child);
      },
    };
  };

  const startServer: BenchContext['startServer'] = async (environment = {}, entry = 'dist/src/main.js') => {
    const database = await createDatabase();
    const server = await launch(entry, database, environment);
    await withClient(database, fund);
    return server;
  };

  return {
    postgres: postgres.connection,
    createDatabase,
    withClient,
    startServer,
    log: (line) => process.stderr.write(`${line}\n`),
    async gatewayDatabase() {
      const { database, stop } = await startServer({ ROLES: 'api' });
      await stop();
      return database;
    },
    joinServer: async (first, environment = {}) => ({
      ...(await launch('dist/src/main.js', first.database, environment)),
      key: first.key,
    }),
    async close() {
      for (const child of servers) child.kill('SIGKILL');
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Reads the API key and the URL that the first start prints, from the server's output. */
async function readStart(child: ChildProcess): Promise<{ key: string; url: string }> {
  let key = '';
  if (!child.stdout) throw new Error('the server has no standard output');
  for await (const line of createInterface(child.stdout)) {
    key ||= /production key\s+(msg_\w+)/.exec(line)?.[1] ?? '';
    const url = /^ready (http\S+)/.exec(line)?.[1];
    if (url !== undefined) {
      child.stdout.resume();
      return { key, url };
    }
  }
  throw new Error('the server ended before it was ready');
}

/** Credits every account with one ledger entry, so that balance and ledger agree. */
export async function fund(client: pg.Client): Promise<void> {
  await client.query(
    `WITH funded AS (
       UPDATE accounts SET balance_minor = balance_minor + $1, ledger_seq = ledger_seq + 1
       RETURNING id, ledger_seq, balance_minor)
     INSERT INTO ledger_entries (account_id, seq, kind, amount_minor, balance_after_minor, actor, created_at)
     SELECT id, ledger_seq, 'topup', $1, balance_minor, 'system:bench', now() FROM funded`,
    [FUNDS_MINOR],
  );
}

async function usageOf(pid: number): Promise<{ cpuSeconds: number; rssMb: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { cpuSeconds: ticks / 100, rssMb: (Number(fields[21]) * 4096) / 1e6 };
}

/**
 * Returns the median of the rounds' ratios. A temporary load on the machine slows both sides of a round, so it changes
 * the ratio little.
 */
export const medianRatio = (values: readonly number[], baselines: readonly number[]): number =>
  median(values.map((value, round) => value / (baselines[round] ?? Number.NaN)));

/** Imports a module of the built server. */
export const built = <Module>(path: string): Promise<Module> => import(join(process.cwd(), 'dist/src', path));

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
};
