import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { BenchContext } from './context.ts';
import { startNode } from './program.ts';

/** Starts the twin (`express-knex-twin.main.ts`) as a separate process, as the gateway is started. */
export async function startTwin(
  context: BenchContext,
  database: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const { host, port, user } = context.postgres;
  const child = startNode('test/bench/express-knex-twin.main.ts', {
    TWIN_PG: JSON.stringify({ host, port, user, database }),
  });
  if (!child.stdout) throw new Error('the twin has no standard output');
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
