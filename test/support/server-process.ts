/** Runs the gateway as a separate process. All test files of a jest run share one build of it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { eventually } from './eventually.ts';
import { makeDirectory, makeOnce } from './make-once.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A built gateway, and a directory for a test file's own files. */
export interface Workplace {
  readonly path: string;
  /** The directory of the build, which contains `dist`. It does not change while a test runs. */
  readonly build: string;
  /** Creates a directory, to be a DATA_DIR or a working directory. */
  directory(name: string): Promise<string>;
  remove(): Promise<void>;
}

export async function buildWorkplace(): Promise<Workplace> {
  const path = await makeDirectory(join(tmpdir(), 'gateway-e2e-'));
  const shared = process.env.TEST_BUILD_DIR;
  return {
    path,
    build: shared === undefined ? await build(path) : await buildOnce(join(shared, 'gateway')),
    directory: (name) => makeDirectory(join(path, `${name}-`)),
    // Retry: after a test has killed the gateway, its PostgreSQL may still write files for a moment.
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  };
}

/** A DATA_DIR with the quickstart account, and what the gateway wrote when it created them. */
export interface StartedDirectory {
  readonly dataDir: string;
  readonly stdout: string;
  /** The log of that first start and its end, at level debug. */
  readonly stderr: string;
}

/**
 * Copies a DATA_DIR in which a gateway was started and stopped once into `to`, or else into a new directory. A start in
 * the copy needs no initdb and no migrations. The account's balance is 1,000,100,000 UGX. All test files of a jest run
 * share the original.
 */
export async function startedDirectory(workplace: Workplace, to?: string): Promise<StartedDirectory> {
  const original = await firstStart(workplace);
  const dataDir = to ?? (await workplace.directory('started'));
  await promisify(execFile)('cp', ['-a', `${join(original, 'data')}/.`, dataDir]);
  const read = (name: string) => readFile(join(original, name), 'utf8');
  return { dataDir, stdout: await read('stdout'), stderr: await read('stderr') };
}

/** Starts a gateway in a new DATA_DIR, and stops it. Returns the directory of its data and its output. */
const firstStart = (workplace: Workplace) =>
  makeOnce(join(process.env.TEST_BUILD_DIR ?? workplace.path, 'started'), async (into) => {
    const dataDir = join(into, 'data');
    await mkdir(dataDir);
    const server = startServer(workplace, { DATA_DIR: dataDir, LOG_LEVEL: 'debug' });
    try {
      await server.ready();
      const { accountId } = quickstartOf(server.stdout());
      const topUp = ['account', 'topup', '--account', accountId, '--amount', '1000000000'];
      const { code: notToppedUp, stderr: why } = await runCli(workplace, topUp, { DATA_DIR: dataDir });
      if (notToppedUp) throw new Error(`the account could not be topped up: ${why}`);
      const { host } = await embeddedConnection(dataDir);
      const { code, stdout, stderr } = await server.stop();
      if (code !== 0) throw new Error(`the first start ended with ${code}: ${stderr}`);
      await rm(host, { recursive: true, force: true });
      await writeFile(join(into, 'stdout'), stdout);
      await writeFile(join(into, 'stderr'), stderr);
    } finally {
      await server.kill();
    }
  });

const buildOnce = (place: string) => makeOnce(place, (into) => build(into));

/** Builds into the directory `into`. It may be moved afterwards. */
async function build(into: string): Promise<string> {
  await promisify(execFile)(
    process.execPath,
    [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      ...['-p', join(ROOT, 'tsconfig.build.json')],
      ...['--outDir', join(into, 'dist'), '--incremental', 'false', '--noCheck'],
    ],
    { cwd: ROOT },
  );
  await symlink(join(ROOT, 'node_modules'), join(into, 'node_modules'), 'junction');
  await writeFile(join(into, 'package.json'), '{"type":"module"}');
  await cp(join(ROOT, 'bin'), join(into, 'bin'), { recursive: true });
  await promisify(execFile)(process.execPath, [join(ROOT, 'tools/bundle.js'), into]);
  return into;
}

/** Returns the environment of a process: what it needs, without the developer's own configuration. */
function environment(variables: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, TMPDIR: tmpdir(), ...variables };
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command of the CLI. */
export function startCli(
  workplace: Workplace,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): ServerProcess {
  const script = join(workplace.build, 'dist/src/cli/main.js');
  return startProcess(workplace, process.execPath, [script, ...args], variables);
}

/** Runs a command of the CLI until it ends. */
export function runCli(
  workplace: Workplace,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Finished> {
  return startCli(workplace, args, variables).finished;
}

export interface ServerProcess {
  readonly child: ChildProcess;
  /** Resolves with the output when the process has ended. */
  readonly finished: Promise<Finished>;
  /** Returns what the process has written to stdout so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves with the base URL when the process prints that it is ready. Rejects if the process ends before that. */
  ready(): Promise<string>;
  /** Sends SIGTERM. Resolves when the process has ended. */
  stop(): Promise<Finished>;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<Finished>;
}

/** Starts the server as `npm start` does. If `PORT` is not given, a free port is used. */
export function startServer(
  workplace: Workplace,
  variables: Readonly<Record<string, string>>,
  cwd?: string,
): ServerProcess {
  return startProcess(workplace, join(workplace.build, 'bin/gateway'), [], { PORT: '0', ...variables }, cwd);
}

function startProcess(
  workplace: Workplace,
  command: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  cwd = workplace.path,
): ServerProcess {
  const child = spawn(command, args, {
    cwd,
    env: {
      // Node does not warn of url.parse() in packages, but does so in the bundle of the tests.
      NODE_OPTIONS: '--disable-warning=DEP0169',
      ...environment(variables),
      NODE_COMPILE_CACHE: join(workplace.build, 'compiled'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => {
    written.stdout += data;
  });
  child.stderr.on('data', (data: Buffer) => {
    written.stderr += data;
  });
  const finished = once(child, 'close').then(([code]): Finished => ({ code, ...written }));
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const end = (signal: NodeJS.Signals) => {
    if (!hasEnded()) child.kill(signal);
    return finished;
  };
  return {
    child,
    finished,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    ready: async () => {
      const url = () => /^ready (\S+).*$/m.exec(written.stdout)?.[1];
      await eventually(() => url() !== undefined || hasEnded());
      if (hasEnded()) await finished;
      const found = url();
      if (found !== undefined) return found;
      throw new Error(`it ended before it was ready, and wrote: ${written.stdout}${written.stderr}`);
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

/** Returns the connection parameters of the embedded PostgreSQL in a DATA_DIR. */
export async function embeddedConnection(dataDir: string) {
  const endpoint = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8'));
  return { ...endpoint, user: 'postgres', database: 'gateway' } as {
    host: string;
    port: number;
    user: string;
    database: string;
  };
}

/** Returns the process id of the embedded PostgreSQL's main process. */
export async function postmasterPid(dataDir: string): Promise<number> {
  const file = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8');
  return Number(file.split('\n')[0]);
}

/** Runs one query on a connection of its own, and returns the rows. */
export async function query<Row>(
  connection: pg.ClientConfig,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql, [...values])).rows as Row[];
  } finally {
    await client.end();
  }
}

/** Returns the secrets that a first start has printed. */
export function quickstartOf(stdout: string) {
  const find = (pattern: RegExp) => pattern.exec(stdout)?.[1] ?? '';
  return {
    accountId: find(/account\s+([0-9a-f-]{36})/),
    key: find(/production key\s+(msg_\S+)/),
    email: find(/sign in\s+(\S+)/),
    password: find(/sign in\s+\S+\s+(\S+)/),
    sandboxKey: find(/sandbox key\s+(msg_\S+)/),
    curl: find(/^(curl .*)$/m),
  };
}
