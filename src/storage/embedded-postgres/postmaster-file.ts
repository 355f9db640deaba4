import { readFile, readlink, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAs } from './server-user.ts';

const STATUS_LINE = 7;
const FAST_SHUTDOWN_MS = 30_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;

/** The content of postmaster.pid in a cluster. A killed PostgreSQL leaves the file behind. */
interface PostmasterFile {
  pid: number;
  ready: boolean;
}

/** Reads postmaster.pid. Undefined if the file is missing or incomplete. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  // A PostgreSQL in single-user mode writes its pid as a negative number.
  const pid = Math.abs(Number.parseInt(lines[0] ?? '', 10));
  return pid > 0 ? { pid, ready: lines[STATUS_LINE]?.trim() === 'ready' } : undefined;
}

/**
 * True if the process is a running server on this cluster. False for a zombie or another program that has reused the
 * pid.
 */
export async function isLivePostmaster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const [, command, state] = /\((.*)\) (\S)/s.exec(status) ?? [];
    if (command !== 'postgres' || state === 'Z' || state === 'X') return false;
    // Another cluster's server may have this pid now. So compare the process's working directory. That link cannot be
    // read as another user, or in some containers. Then compare the process's user.
    const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
    if (directory === undefined) return mayServe(await ownerOf(`/proc/${pid}`), await ownerOf(cluster));
    return directory === (await realpath(cluster).catch(() => undefined));
  }
  const [lister, args] =
    process.platform === 'win32'
      ? ['tasklist', ['/NH', '/FI', `PID eq ${pid}`]]
      : ['/bin/ps', ['-o', 'stat=,comm=', '-p', String(pid)]];
  const listed = await runAs({ name: 'this process' }, lister, args).catch(() => '');
  return listed.includes('postgres') && !listed.trim().startsWith('Z');
}

const ownerOf = async (path: string) => (await stat(path).catch(() => undefined))?.uid;

/**
 * True if the process may be the cluster's server. PostgreSQL runs as the owner of the cluster. A process with
 * protected memory seems to belong to root.
 */
function mayServe(processUid: number | undefined, clusterUid: number | undefined): boolean {
  return processUid !== undefined && (processUid === 0 || processUid === clusterUid);
}

/**
 * Stops the server that an earlier owner left running on the cluster, if any, and waits for its end. The caller must
 * hold the owner lock. `shutDown` asks the server to stop: first mode fast, then immediate. Throws if the server does
 * not stop.
 */
export async function endAbandonedServer(
  cluster: string,
  shutDown: (pid: number, mode: 'fast' | 'immediate') => Promise<void>,
): Promise<void> {
  const abandoned = await readPostmasterFile(cluster);
  if (!abandoned) return;
  const isLive = () => isLivePostmaster(abandoned.pid, cluster);
  for (const [mode, patienceMs] of [
    ['fast', FAST_SHUTDOWN_MS],
    ['immediate', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    if (!(await isLive())) return;
    await shutDown(abandoned.pid, mode);
    const deadline = Date.now() + patienceMs;
    while ((await isLive()) && Date.now() < deadline) await sleep(10);
  }
  if (!(await isLive())) return;
  throw new Error(
    `A PostgreSQL server (pid ${abandoned.pid}) still runs on ${cluster} though no gateway owns it, and it ` +
      'does not stop: stop that process, then start the gateway again.',
  );
}
