import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

const running = new Set<ChildProcess>();

/**
 * Starts a program in a session of its own, as a service manager, a container or a second terminal does. In one session
 * with the load Linux would take both for one program where it shares out the processors (sched(7), autogroup), and let
 * the load push in before each answer. It ends with the bench, however that ends.
 */
export function startProgram(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
