import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Node's flags as bin/gateway gives them to the server. The plain twin has them, too. */
const FLAGS =
  readFileSync('bin/gateway', 'utf8')
    .match(/^ {2}--[\w=-]+/gm)
    ?.map((flag) => flag.trim()) ?? [];
if (FLAGS.length === 0) throw new Error('bin/gateway names no flags for Node');
const running = new Set<ChildProcess>();

/**
 * Starts a program in a session of its own, as a service manager, a container or a second terminal does: what runs in
 * one session with the load shares the processors with it as one group of tasks (sched(7), autogroup), as a
 * service and its clients seldom do. It ends with the bench, however that ends.
 */
export function startProgram(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Starts a program of Node's as the server runs, whose standard output can be read. */
export function startNode(entry: string, environment: Readonly<Record<string, string>>): ChildProcess {
  return startProgram(process.execPath, [...FLAGS, entry], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...environment },
  });
}

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
