import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestDatabase } from './database.ts';

const WORKER = new URL('crashing-worker.ts', import.meta.url).pathname;
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
const children = new Set<ChildProcess>();

/** Starts a worker on `database`. When it reaches `step` (see crashing-worker.ts), kills it with kill -9. */
export async function crashAWorker(step: string, database: TestDatabase): Promise<void> {
  const child = spawn(process.execPath, [WORKER, step], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      MASTER_KEY,
      NODE_ENV: 'test',
      ROLES: 'worker',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
  });
  children.add(child);
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'reached') continue;
    child.kill('SIGKILL');
    await exited;
    return;
  }
  throw new Error(`the worker ended before it came to "${step}"`);
}

/** Ends worker processes that still run because a test failed. */
export function killWorkers(): void {
  for (const child of children) child.kill('SIGKILL');
}
