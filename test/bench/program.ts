import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Node's flags, read from bin/gateway. The twin gets the same flags, so that the comparison is fair. */
const FLAGS =
  readFileSync('bin/gateway', 'utf8')
    .match(/^ {2}--[\w=-]+/gm)
    ?.map((flag) => flag.trim()) ?? [];
if (FLAGS.length === 0) throw new Error('bin/gateway names no flags for Node');
const running = new Set<ChildProcess>();

/**
 * Starts a program in a separate session, as a service manager or a container does. Programs in the load's session
 * would share the processors with it as one group of tasks (sched(7), autogroup). The program ends with the bench.
 */
export function startProgram(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Starts a Node program with the server's flags and a readable stdout. */
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
