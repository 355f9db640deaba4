/** Pins the processes of a bench to shares of the cores, with `taskset` of util-linux. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { BenchContext, BenchServer } from './context.ts';

/** With fewer cores than this, load and PostgreSQL get no cores of their own. */
const ENOUGH = 4;

/** Which process runs where, in a sentence, and a function that gives all cores back to the load and PostgreSQL. */
interface Pinned {
  readonly text: string;
  undo(): Promise<void>;
}

/**
 * Pins gateways, PostgreSQL and this process, which is the load. Of four cores or more, the gateways get the first half,
 * PostgreSQL and the load the others; of fewer, all share all. `each`: every gateway gets one core of its half, in turn.
 * `together`: all gateways get all of it. Pins nothing where there is no `taskset`, and says so.
 */
export async function pinToCores(
  context: BenchContext,
  servers: readonly BenchServer[],
  how: 'each' | 'together',
): Promise<Pinned> {
  const cores = await ownCores();
  if (cores === undefined) {
    const text = 'nothing is pinned: this machine has no taskset';
    context.log(text);
    return { text, undo: async () => undefined };
  }
  const half = cores.length < ENOUGH ? cores.length : Math.floor(cores.length / 2);
  const ofGateways = cores.slice(0, half);
  const others = cores.length < ENOUGH ? cores : cores.slice(half);
  const coresOf = (index: number) =>
    how === 'together' ? ofGateways : [ofGateways[index % ofGateways.length] ?? 0];
  const shared = [process.pid, ...(await postgresPids(context))];
  for (const pid of shared) await pin(pid, others);
  for (const [index, { pid }] of servers.entries()) await pin(pid, coresOf(index));
  const places = servers.map((_, index) => `gateway ${index + 1} on ${coresOf(index).join()}`);
  const text = `of the cores ${cores.join()}: ${places.join(', ')}, PostgreSQL and the load on ${others.join()}`;
  context.log(`pinned, ${text}`);
  return {
    text,
    async undo() {
      for (const pid of [process.pid, ...(await postgresPids(context))]) await pin(pid, cores);
    },
  };
}

/** Returns the numbers of the cores that this process may use. Undefined without `taskset`. */
async function ownCores(): Promise<number[] | undefined> {
  try {
    const { stdout } = await promisify(execFile)('taskset', ['-c', '-p', String(process.pid)]);
    const [, list = ''] = /: ([\d,-]+)\s*$/.exec(stdout) ?? [];
    return list.split(',').flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Pins all threads of a process. Processes that it starts later are pinned, too. */
async function pin(pid: number, cores: readonly number[]): Promise<void> {
  try {
    await promisify(execFile)('taskset', ['-a', '-c', '-p', cores.join(), String(pid)]);
  } catch (error) {
    // A process of PostgreSQL may have ended meanwhile.
    if (await isRunning(pid)) throw error;
  }
}

const isRunning = (pid: number) =>
  readFile(`/proc/${pid}/stat`).then(
    () => true,
    () => false,
  );

/** Returns the ids of PostgreSQL's main process and of those that it has started. */
async function postgresPids(context: BenchContext): Promise<number[]> {
  const main = await context.withClient(context.postgres.database, async (client) => {
    const { rows } = await client.query(
      `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`,
    );
    return rows[0].pid as number;
  });
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(pids.map(parentOf));
  return [main, ...pids.filter((_, index) => parents[index] === main)];
}

async function parentOf(pid: number): Promise<number | undefined> {
  // The process may have ended meanwhile.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
