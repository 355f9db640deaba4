import { describe, expect, it } from '@jest/globals';
import type { NewApiRequest } from '../../src/domain/requests/api-request.ts';
import { type AnsweredRequest, RequestLog } from '../../src/domain/requests/request-log.ts';

const ANSWERED: AnsweredRequest = {
  key: { accountId: 'a', keyId: '0a', environment: 'production' },
  method: 'GET',
  target: '/api/v1/account',
  status: 200,
  errorCode: null,
  durationMs: 1,
  address: '127.0.0.1',
  requestId: 'r',
  idempotencyKey: undefined,
  requestBytes: 0,
  requestBody: undefined,
  responseBody: '{}',
  isSend: false,
};

/** Makes a log with a clock that the test moves, and a store that keeps the rows or fails with `failure`. */
function makeLog() {
  const state = { ms: Date.parse('2026-03-01T00:00:00Z'), failure: undefined as Error | undefined };
  const rows: NewApiRequest[] = [];
  let ids = 0;
  const log = new RequestLog({
    clock: { now: () => new Date(state.ms) },
    ids: { uuid: () => String(++ids), random: () => Buffer.alloc(0) },
    isFault: (error) => error instanceof Error && error.message === 'away',
    store: {
      fullBodies: async () => new Map(),
      async add(_day, added) {
        if (state.failure) throw state.failure;
        rows.push(...added);
      },
    },
  });
  const note = (count: number, accountId = 'a', isRefusal = false) => {
    for (let left = count; left > 0; left--) {
      log.note(accountId, isRefusal, () => ({ ...ANSWERED, key: { ...ANSWERED.key, accountId } }));
    }
  };
  return { log, rows, note, state };
}

describe('the request log in memory', () => {
  it('keeps 300 successes of an account at once, then one each 4 s, and counts those left out (R417)', async () => {
    const { log, rows, note, state } = makeLog();
    note(500);
    await log.flush();
    expect(rows).toHaveLength(300);
    state.ms += 3_000;
    note(1);
    await log.flush();
    expect(rows).toHaveLength(300);
    state.ms += 1_000;
    note(2);
    await log.flush();
    expect(rows.slice(299).map(({ skippedBefore }) => skippedBefore)).toEqual([0, 201]);
  });

  it('keeps refused requests and those of other accounts beside the successes of one (R417)', async () => {
    const { log, rows, note } = makeLog();
    note(400);
    note(1, 'b');
    await log.flush();
    note(1_100, 'a', true);
    await log.flush();
    // A process holds at most 1,000 between two writes.
    expect(rows).toHaveLength(300 + 1 + 1_000);
  });

  it('asks for the body only of requests that it keeps (R417)', () => {
    const { log, note } = makeLog();
    note(300);
    expect(() =>
      log.note('a', false, () => {
        throw new Error('read');
      }),
    ).not.toThrow();
  });

  it('keeps at most 1,000 while the database is away, and drops what it refuses (R415)', async () => {
    const { log, rows, note, state } = makeLog();
    state.failure = new Error('away');
    for (const name of ['a', 'b', 'c', 'd', 'e']) note(300, name);
    await expect(log.flush()).rejects.toThrow('away');
    note(300, 'f');
    state.failure = undefined;
    await log.flush();
    expect(rows).toHaveLength(1_000);
    state.failure = new Error('invalid');
    note(1, 'g');
    await expect(log.flush()).rejects.toThrow('invalid');
    state.failure = undefined;
    await log.flush();
    expect(rows).toHaveLength(1_000);
  });

  it('stores no idempotency key that a send refuses (R415)', async () => {
    const { log, rows } = makeLog();
    for (const key of ['x'.repeat(65), 'a\0b', '\ud800', 'good']) {
      const requestBody = JSON.stringify({ idempotencyKey: key });
      log.note('a', false, () => ({ ...ANSWERED, isSend: true, requestBody }));
    }
    await log.flush();
    expect(rows.map(({ idempotencyKey }) => idempotencyKey)).toEqual([null, null, null, 'good']);
  });
});
