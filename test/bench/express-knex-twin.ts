import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { BenchContext } from './context.ts';

/** Starts the plain twin, in a process of its own as the gateway is. */
export async function startTwin(
  context: BenchContext,
  database: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const { host, port, user } = context.postgres;
  const child = spawn(process.execPath, ['test/bench/express-knex-twin.main.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, TWIN_PG: JSON.stringify({ host, port, user, database }) },
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return {
    url: String(line),
    async stop() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}
