/** Senders for tests of failovers and upgrades: every message must be accepted once, and charged once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { ServerConnection } from './database.ts';
import { eventually } from './eventually.ts';
import { query } from './server-process.ts';
import { UNEVEN } from './uneven.ts';

const SENDERS = 8;
/** A request without an answer for this long, in ms, is repeated. */
const PATIENCE_MS = 20_000;

interface Sending {
  readonly key: string;
  /** Pause in ms between two messages of a sender. */
  readonly pauseMs?: number;
}

/**
 * Starts several senders, whose requests go to `urls` in turn. `urls` may change meanwhile. A refused message is sent
 * again with the same idempotency key.
 */
export function sendAll(urls: readonly string[], { key, pauseMs = 0 }: Sending) {
  const accepted = new Map<string, string>();
  const refused = new Set<string>();
  const newest = new Map<string, number>();
  /** Numbers of requests that have no answer yet. */
  const underWay = new Map<string, number>();
  const count = (url: string, change: number) => underWay.set(url, (underWay.get(url) ?? 0) + change);
  let isLive = true;
  const send = async (url: string, idempotencyKey: string): Promise<boolean> => {
    const startedAt = performance.now();
    const response = await fetch(`${url}/api/v1/developers/sms`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const body = (await response.json()) as { id: string; error?: { code: string } };
    if (response.status === 200) {
      accepted.set(idempotencyKey, body.id);
      newest.set(url, Math.max(startedAt, newest.get(url) ?? 0));
      return true;
    }
    const retryAfter = response.headers.get('Retry-After');
    refused.add(`${response.status} ${body.error?.code}${retryAfter === null ? '' : ', Retry-After'}`);
    return false;
  };
  const senders = Array.from({ length: SENDERS }, async (_, sender) => {
    let attempts = sender;
    for (let number = 0; isLive; number += 1) {
      const isAccepted = () => {
        attempts += 1;
        const url = urls[attempts % urls.length]!;
        count(url, 1);
        return send(url, `${sender}-${number}`)
          .catch((error: Error) => {
            // No process listens there. A proxy would pass the request to the next one.
            const { code } = Object(error.cause) as { code?: unknown };
            if (code !== 'ECONNREFUSED') refused.add(`no answer: ${code ?? error.name}`);
            return false;
          })
          .finally(() => count(url, -1));
      };
      while (!(await isAccepted())) await sleep(10);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  });
  return {
    accepted,
    refused,
    /** Returns when the newest accepted request to `url` was begun, in ms of `performance.now()`. */
    newestAt: (url: string) => newest.get(url) ?? 0,
    /** Returns the number of requests to `url` that have no answer yet. */
    underWay: (url: string) => underWay.get(url) ?? 0,
    /** Each sender repeats its last message until it is accepted. Then the senders stop. */
    stop: async () => {
      isLive = false;
      await Promise.all(senders);
    },
  };
}

/**
 * Checks that the server has each accepted message once and charged it once. Waits until the gateway has sent them all.
 */
export async function hasAll(
  connection: ServerConnection,
  accountId: string,
  accepted: ReadonlyMap<string, string>,
): Promise<void> {
  const ids = [...accepted.values()];
  expect(new Set(ids).size).toBe(ids.length);
  const found = await query<{ id: string }>(connection, 'SELECT id FROM messages WHERE account_id = $1', [
    accountId,
  ]);
  expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids));
  const charges = await query<{ id: string }>(
    connection,
    `SELECT message_id AS id FROM ledger_entries WHERE account_id = $1 AND kind = 'charge'`,
    [accountId],
  );
  expect(charges.map(({ id }) => id).sort()).toEqual([...ids].sort());
  expect(await query(connection, UNEVEN)).toEqual([]);
  await eventually(async () => {
    const waiting = await query(connection, `SELECT 1 FROM recipients WHERE status = 'pending' LIMIT 1`);
    return waiting.length === 0;
  }, 90_000);
}
