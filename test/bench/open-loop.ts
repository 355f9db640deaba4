import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchServer } from './context.ts';
import { HttpConnection } from './http-connection.ts';

/** A sender's patience. An answer that comes later than this is a failure. */
const PATIENCE_MS = 60_000;
const TICK_MS = 10;

export interface OpenLoopOptions {
  readonly rate: number;
  readonly seconds: number;
  /** Requests that may be under way at once, each on a connection of its own; what comes beyond is not sent. */
  readonly maxOpen: number;
  /** Told of every second that has passed. */
  readonly onSecond?: (second: number, acceptedSoFar: number) => Promise<void> | void;
}

export interface OpenLoopResult {
  readonly offered: number;
  /** Of the requests that were answered 200: when they were sent, in seconds from the start, and how long it took. */
  readonly accepted: readonly { readonly id: string; readonly atSeconds: number; readonly ms: number }[];
  /** How long a 503 with `Retry-After` took, in ms. */
  readonly refusedMs: readonly number[];
  readonly dropped: number;
  /** Any other answer, and none at all. */
  readonly failures: readonly string[];
}

/** SMS at a rate that does not care how fast they are answered. Every one has an idempotency key of its own. */
export async function openLoop(server: BenchServer, options: OpenLoopOptions): Promise<OpenLoopResult> {
  const { rate, seconds, maxOpen, onSecond } = options;
  const connections = await Promise.all(
    Array.from({ length: maxOpen }, () => HttpConnection.open(server.url)),
  );
  // Each in its turn: the server closes what is idle for long.
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
    // Numbers that the simulator treats specially are left out: 0001 to 0004.
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

/** The value that 99 of 100 do not exceed; 0 where there are none. */
export function p99(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
