import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchServer } from './context.ts';
import { HttpConnection } from './http-connection.ts';

/** Timeout of a request in ms. A later answer counts as a failure. */
const PATIENCE_MS = 60_000;
const TICK_MS = 10;

export interface OpenLoopOptions {
  readonly rate: number;
  readonly seconds: number;
  /** Most concurrent requests, each on its own connection. Further ones are not sent. */
  readonly maxOpen: number;
  /** Called after every second. */
  readonly onSecond?: (second: number, acceptedSoFar: number) => Promise<void> | void;
}

export interface OpenLoopResult {
  readonly offered: number;
  /** For requests answered 200: the send time in seconds from the start, and the latency. */
  readonly accepted: readonly { readonly id: string; readonly atSeconds: number; readonly ms: number }[];
  /** Latencies of 503 answers with `Retry-After`, in ms. */
  readonly refusedMs: readonly number[];
  readonly dropped: number;
  /** Descriptions of other answers and of missing answers. */
  readonly failures: readonly string[];
}

/** Sends SMS at a fixed rate, independent of the answers. Each has its own idempotency key. */
export async function openLoop(server: BenchServer, options: OpenLoopOptions): Promise<OpenLoopResult> {
  const { rate, seconds, maxOpen, onSecond } = options;
  const connections = await Promise.all(
    Array.from({ length: maxOpen }, () => HttpConnection.open(server.url)),
  );
  // Use the connections in rotation, because the server closes a connection that stays idle.
  const idle = [...connections];
  const headers = { 'X-API-Key': server.key, 'Content-Type': 'application/json' };
  const accepted: { id: string; atSeconds: number; ms: number }[] = [];
  const refusedMs: number[] = [];
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  const run = Math.random().toString(36).slice(2);
  const startedAt = performance.now();
  let offered = 0;
  let dropped = 0;

  const send = async (connection: HttpConnection, index: number) => {
    const at = performance.now();
    // These numbers never end in 0001 to 0004, which the simulator treats specially.
    const to = `+2567${String((index * 10 + 7) % 1e8).padStart(8, '0')}`;
    const answer = await connection.send(
      'POST',
      '/api/v1/developers/sms',
      { ...headers, 'Idempotency-Key': `${run}-${index}` },
      JSON.stringify({ to, message: 'Hello, this is a benchmark message.' }),
    );
    idle.push(connection);
    const ms = performance.now() - at;
    if (ms > PATIENCE_MS) failures.push(`answered after ${ms.toFixed(0)} ms`);
    else if (answer.status === 200) {
      accepted.push({ id: JSON.parse(answer.body).id, atSeconds: (at - startedAt) / 1000, ms });
    } else if (answer.status === 503 && /\r\nretry-after:/i.test(answer.head)) {
      refusedMs.push(ms);
    } else {
      failures.push(`${answer.status}: ${answer.body}`);
    }
  };

  let told = 0;
  for (let elapsed = 0; elapsed < seconds; elapsed = (performance.now() - startedAt) / 1000) {
    for (const due = Math.floor(elapsed * rate); offered < due; offered++) {
      const connection = idle.shift();
      if (connection === undefined) {
        dropped += 1;
        continue;
      }
      const sent: Promise<void> = send(connection, offered)
        .catch((error: unknown) => void failures.push(String(error)))
        .finally(() => open.delete(sent));
      open.add(sent);
    }
    if (elapsed >= told + 1) {
      told = Math.floor(elapsed);
      await onSecond?.(told, accepted.length);
    }
    await sleep(TICK_MS);
  }
  const late = sleep(PATIENCE_MS, 'late', { ref: false });
  if ((await Promise.race([Promise.all(open), late])) === 'late') failures.push(`${open.size} had no answer`);
  for (const connection of connections) connection.close();
  return { offered, accepted, refusedMs, dropped, failures };
}

/** Returns the 99th percentile, or 0 if there are no values. */
export function p99(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
