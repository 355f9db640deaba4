import { type ChildProcess, spawn } from 'node:child_process';
import { open, rm, stat, truncate } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, program } from './binaries.ts';
import type { ClusterPlace } from './cluster.ts';
import { type Endpoint, socketFile } from './endpoint.ts';
import { endAbandonedServer, readPostmasterFile } from './postmaster-file.ts';
import { CLEAN_ENVIRONMENT, runAs, type ServerUser } from './server-user.ts';

/** A server that this process started and that accepts connections. */
export interface Postmaster {
  readonly pid: number;
  /** Resolves with the reason when the server is down. Waiting for it does not keep the process alive. */
  readonly exited: Promise<string>;
  /** Disconnects all clients, shuts the server down and waits for its end. */
  stop(): Promise<void>;
}

interface PostmasterOptions {
  binaries: Binaries;
  cluster: ClusterPlace;
  endpoint: Endpoint;
  settings: Record<string, string>;
  logFile: string;
}

const FAST_SHUTDOWN_MS = 30_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;
const ORPHANS_PATIENCE_MS = 10_000;
const LOG_LIMIT_BYTES = 5 * 1024 * 1024;
const LOG_CHECK_MS = 60_000;
const REPORTED_LOG_BYTES = 2_000;

/** Default settings: for a small server that must not lose an acknowledged message. */
const SETTINGS: Record<string, string> = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  max_connections: '100',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Compiling a query takes longer than running any of the gateway's queries.
  jit: 'off',
  // Log only the server's own events. Failed statements are logged with their text and values, which would reveal phone
  // numbers and message bodies.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/**
 * Starts the server on the cluster and waits until it accepts connections. The caller must hold the owner lock. A
 * server that an earlier owner left running is stopped first. If this process dies, a watchdog process shuts the server
 * down. Throws with the server's output if it does not start.
 */
export async function launchPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { cluster, endpoint, binaries } = options;
  await endAbandonedServer(cluster.directory, (pid, mode) => signal(pid, mode, binaries, cluster));
  const deadline = Date.now() + ORPHANS_PATIENCE_MS;
  for (;;) {
    // No server runs now, so these files are stale. PostgreSQL would refuse to start if another process had the pid in
    // postmaster.pid.
    await rm(join(cluster.directory, 'postmaster.pid'), { force: true });
    if (process.platform !== 'win32') {
      await rm(socketFile(endpoint), { force: true });
      await rm(`${socketFile(endpoint)}.lock`, { force: true });
    }
    try {
      return await launchOnce(options);
    } catch (error) {
      // The other processes of a killed postmaster need a moment to end.
      const isTransient = (error as Error).message.includes('pre-existing shared memory block');
      if (!isTransient || Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

async function launchOnce({ binaries, cluster, endpoint, settings, logFile }: PostmasterOptions) {
  await using log = await open(logFile, 'a', 0o600);
  await shorten(logFile);
  const logStart = (await log.stat()).size;

  const { uid, gid } = cluster.user;
  const child = spawn(program(binaries, 'postgres'), serverArguments(cluster, endpoint, settings), {
    uid,
    gid,
    cwd: cluster.directory,
    env: CLEAN_ENVIRONMENT,
    // Ctrl-C in a terminal reaches the whole process group. It must not stop the server before the gateway has finished
    // its work.
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  let failure: Error | undefined;
  const exited = new Promise<string>((done) => {
    child.once('error', (error) => {
      failure = error;
      done(error.message);
    });
    child.once('exit', (code, signalName) =>
      done(signalName ? `killed by ${signalName}` : `exit code ${code}`),
    );
  });
  const isDown = () => failure !== undefined || child.exitCode !== null || child.signalCode !== null;
  if (child.pid !== undefined) watch(child.pid, exited, logFile, binaries, cluster);

  while (!isDown()) {
    const file = await readPostmasterFile(cluster.directory);
    if (file?.pid === child.pid && file?.ready) {
      child.unref();
      return { pid: child.pid!, exited, stop: () => stop(child, exited, binaries, cluster) };
    }
    await sleep(5);
  }
  throw new Error(
    `The embedded PostgreSQL on ${cluster.directory} did not start as user ${cluster.user.name} ` +
      `(${await exited}). It said: ${(await readFrom(logFile, logStart)) || 'nothing'} (log: ${logFile})`,
  );
}

function serverArguments({ directory }: ClusterPlace, endpoint: Endpoint, settings: Record<string, string>) {
  const listening: Record<string, string> =
    process.platform === 'win32'
      ? { listen_addresses: endpoint.host, unix_socket_directories: '' }
      : {
          listen_addresses: '',
          // Put the path in quotes, because the setting is a list and the path may contain a comma.
          unix_socket_directories: `"${endpoint.host}"`,
          unix_socket_permissions: '0700',
        };
  const all = { ...SETTINGS, ...settings, ...listening, port: String(endpoint.port) };
  return ['-D', directory, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Starts two helpers that end with the server: the log limiter and the watchdog. */
function watch(
  pid: number,
  exited: Promise<string>,
  logFile: string,
  binaries: Binaries,
  cluster: ClusterPlace,
) {
  const watchdog = startWatchdog(pid, binaries, cluster);
  // Ignore an error: if the log cannot be shortened now, the next interval tries again.
  const limiter = setInterval(() => void shorten(logFile).catch(() => undefined), LOG_CHECK_MS).unref();
  void exited.then(() => {
    clearInterval(limiter);
    // Kill the watchdog at once. Later it could signal another process that has the server's pid by then.
    watchdog.kill('SIGKILL');
  });
}

/**
 * Starts a small process that asks the server to shut down when this process dies. It reads from a pipe that only this
 * process holds open: the read ends when this process is gone. It is detached, so that a kill of the process group does
 * not reach it.
 */
function startWatchdog(pid: number, binaries: Binaries, { directory, user }: ClusterPlace): ChildProcess {
  const [command, args] =
    process.platform === 'win32'
      ? [process.execPath, ['-e', WINDOWS_WATCHDOG, program(binaries, 'pg_ctl'), directory]]
      : ['/bin/sh', ['-c', 'read -r _; kill -INT "$1"', 'sh', String(pid)]];
  const watchdog = spawn(command, args, {
    uid: user.uid,
    gid: user.gid,
    cwd: directory,
    env: CLEAN_ENVIRONMENT,
    detached: true,
    windowsHide: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Ignore errors of the watchdog. Without it, the server goes on running if the gateway is killed, and the next start
  // stops it.
  watchdog.on('error', () => undefined);
  watchdog.stdin?.on('error', () => undefined);
  (watchdog.stdin as Socket | null)?.unref();
  watchdog.unref();
  return watchdog;
}

const WINDOWS_WATCHDOG = `
  const [pgCtl, directory] = process.argv.slice(1);
  process.stdin.resume().on('end', () =>
    require('node:child_process').spawnSync(pgCtl, ['stop', '-D', directory, '-m', 'fast'], { windowsHide: true }));
`;

async function stop(child: ChildProcess, exited: Promise<string>, binaries: Binaries, cluster: ClusterPlace) {
  child.ref();
  const isDown = () => child.exitCode !== null || child.signalCode !== null;
  for (const [mode, patienceMs] of [
    ['fast', FAST_SHUTDOWN_MS],
    ['immediate', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    if (isDown()) return;
    await signal(child.pid!, mode, binaries, cluster);
    await Promise.race([exited, sleep(patienceMs, undefined, { ref: false })]);
  }
  if (!isDown()) child.kill('SIGKILL');
  await exited;
}

/** Asks the server to shut down. Windows has no signals, so pg_ctl does it there. */
async function signal(pid: number, mode: 'fast' | 'immediate', binaries: Binaries, cluster: ClusterPlace) {
  if (process.platform === 'win32') {
    const user: ServerUser = cluster.user;
    await runAs(user, program(binaries, 'pg_ctl'), ['stop', '-W', '-D', cluster.directory, '-m', mode]);
    return;
  }
  try {
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Empties a log that is too long. The server opened the file for appending, so this works while it runs. */
async function shorten(logFile: string): Promise<void> {
  if ((await stat(logFile)).size > LOG_LIMIT_BYTES) await truncate(logFile);
}

async function readFrom(path: string, start: number): Promise<string> {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  const from = Math.max(Math.min(start, size), size - REPORTED_LOG_BYTES);
  const buffer = Buffer.alloc(size - from);
  await file.read(buffer, 0, buffer.length, from);
  return buffer.toString('utf8').trim();
}
