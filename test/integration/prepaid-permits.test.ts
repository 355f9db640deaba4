import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RateVerdict } from '../../src/domain/ports/rate-limiter.ts';
import { Sql } from '../../src/storage/postgres/sql.ts';
import { PgRateLimiter } from '../../src/storage/rate-limit/rate-limiter.ts';
import { TAKE } from '../../src/storage/rate-limit/rate-log.ts';
import {
  allowed,
  freshBucket,
  MINUTE_MS,
  perMinute,
  RateLimitDatabase,
  START,
  takeMany,
} from '../support/rate-limits.ts';

const database = new RateLimitDatabase();
beforeAll(() => database.open());
afterAll(() => database.close());
beforeEach(() => database.at(0));

const LIMIT = 8_000;
/** A limiter as a separate process has it. `asked` counts its queries of the request log. */
class Process {
  asked = 0;
  readonly limiter;

  constructor(pool: 0 | 1 = 0) {
    const sql = new Sql(database.pools[pool]);
    const query = sql.query.bind(sql);
    sql.query = (prepared, values) => {
      if (prepared === TAKE) this.asked += 1;
      return query(prepared, values);
    };
    this.limiter = database.limiter(sql);
  }
}

/** Takes 100 permits within 20 ms. At this rate the limiter fetches 140 more in advance. */
async function load(limiter: Process['limiter'], bucket: string): Promise<RateVerdict | undefined> {
  let last: RateVerdict | undefined;
  for (const [ms, count] of [
    [0, 40],
    [10, 40],
    [20, 20],
  ] as const) {
    database.at(ms);
    last = (await takeMany(limiter, bucket, count, perMinute(LIMIT))).at(-1);
  }
  return last;
}

describe('prepaid permits of the rate limiter (R12)', () => {
  it('pass requests under load without a query, and report what is left as if none were held', async () => {
    const process = new Process();
    const bucket = freshBucket();
    expect(await load(process.limiter, bucket)).toMatchObject({ isAllowed: true, remaining: LIMIT - 100 });
    expect(process.asked).toBe(2);
    // The process has returned its unused permits. So they do not count in the next second.
    database.at(1_000);
    expect(await process.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 101 });
    expect(process.asked).toBe(3);
  });

  it('are taken for a tenth of a second of the current rate', async () => {
    const process = new Process();
    const bucket = freshBucket();
    const limits = perMinute(1_000_000);
    for (let ms = 0; ms < 200; ms += 2) {
      database.at(ms);
      await takeMany(process.limiter, bucket, 20, limits);
    }
    // Five queries: for 20, 100 and 420 permits, and twice for 100 ms of requests (1,000 permits and those of waiting
    // requests).
    expect(process.asked).toBe(5);
    const [row] = await database.pools[0]('rate_limits').where({ bucket }).select('asked');
    expect(row.asked).toBe(1_020);
  });

  it('count for other processes at once, and are returned', async () => {
    const [one, other] = [new Process(0), new Process(1)];
    const bucket = freshBucket();
    await load(one.limiter, bucket);
    expect(await other.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 241 });
    database.at(1_500);
    expect(await other.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 242 });
    await one.limiter.take(bucket, perMinute(LIMIT));
    expect(await other.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 104 });
  });

  it('are not returned when the log has dropped them', async () => {
    const [one, other] = [new Process(0), new Process(1)];
    const bucket = freshBucket();
    await load(one.limiter, bucket);
    // The table is unlogged, so it is empty after a crash of the database.
    await database.pools[0]('rate_limits').where({ bucket }).delete();
    database.at(-1_000);
    await takeMany(other.limiter, bucket, 30, perMinute(LIMIT));
    database.at(1_000);
    expect(await one.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 31 });
  });

  it('of a dead process count for a minute, like used ones', async () => {
    const bucket = freshBucket();
    await load(new Process().limiter, bucket);
    const next = new Process();
    database.at(60_998);
    expect(await next.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 241 });
    database.at(60_999);
    expect(await next.limiter.take(bucket, perMinute(LIMIT))).toMatchObject({ remaining: LIMIT - 2 });
  });

  it.each([
    ['a lower limit', perMinute(LIMIT - 1), LIMIT - 1],
    ['an exact limit', perMinute(1_000), 1_000],
    ['a rule for the second', perMinute(LIMIT, 500), LIMIT],
  ])('do not outlive a change to %s', async (_name, limits, limit) => {
    const process = new Process();
    const bucket = freshBucket();
    await load(process.limiter, bucket);
    expect(await process.limiter.take(bucket, limits)).toMatchObject({
      limit,
      remaining: limit - 101,
    });
    expect(process.asked).toBe(3);
  });

  it('are not taken at low rates, nor near the limit, nor for limits up to 1,000 a minute', async () => {
    for (const [count, limit] of [
      [6, LIMIT],
      [40, 1_100],
      [40, 1_000],
    ] as const) {
      const process = new Process();
      const bucket = freshBucket();
      database.at(0);
      // Use 1,000 of the limit of 1,100. An eighth of the 100 that are left is too few to fetch in advance.
      if (limit === 1_100) await takeMany(process.limiter, bucket, 1_000, perMinute(limit));
      for (const ms of [0, 40, 80]) {
        database.at(ms + 2_000);
        await takeMany(process.limiter, bucket, count / 2, perMinute(limit));
      }
      const [row] = await database.pools[0]('rate_limits').where({ bucket }).select('asked');
      expect({ count, limit, asked: row.asked }).toEqual({ count, limit, asked: count / 2 });
    }
  });
});

const burst = fc.record({
  waitMs: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0, 999, 1_000, 5_000, 59_000, 60_000)),
  requests: fc.integer({ min: 1, max: 200 }),
  limit: fc.constantFrom(2_000, 2_000, 2_600, 3_000),
});

it('one process decides as if it held no permits', async () => {
  let without = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 1, maxLength: 30 }), async (bursts) => {
      const process = new Process();
      const bucket = freshBucket();
      /** For each allowed request: the last millisecond of the second in which it was made. */
      let log: number[] = [];
      database.at(0);
      for (const { waitMs, requests, limit } of bursts) {
        database.nowMs += waitMs;
        const now = database.nowMs;
        log = log.filter((time) => time > now - MINUTE_MS);
        const verdicts: RateVerdict[] = [];
        while (verdicts.length < requests) {
          const before = process.asked;
          const count = Math.min(25, requests - verdicts.length);
          verdicts.push(...(await takeMany(process.limiter, bucket, count, perMinute(limit))));
          if (process.asked === before) without += 1;
        }
        for (const verdict of verdicts) {
          const isAllowed = log.length < limit;
          if (isAllowed) log.push(now - (now % 1_000) + 999);
          const freeAt = isAllowed ? now : (log.at(-limit) as number) + MINUTE_MS;
          expect(verdict).toEqual({
            isAllowed,
            limit,
            remaining: Math.max(0, limit - log.length),
            resetAt: Math.ceil(((log[0] as number) + MINUTE_MS) / 1000),
            retryAfterSeconds: Math.ceil((freeAt - now) / 1000),
            rule: isAllowed ? null : 'minute',
          });
        }
      }
    }),
    { numRuns: 100 },
  );
  // Many requests must have been decided without a query.
  expect(without).toBeGreaterThan(100);
});

it('two processes never pass more than the limit in any minute, nor less than three quarters', async () => {
  const steps = fc.array(fc.tuple(burst, fc.constantFrom<0 | 1>(0, 1)), { minLength: 5, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(steps, async (bursts) => {
      const processes = [new Process(0), new Process(1)] as const;
      const bucket = freshBucket();
      const limit = 1_600;
      const passed: number[] = [];
      database.at(0);
      for (const [{ waitMs, requests }, which] of bursts) {
        database.nowMs += waitMs;
        const within = (ms: number) => passed.filter((time) => time > database.nowMs - ms).length;
        const verdicts = await takeMany(processes[which].limiter, bucket, requests, perMinute(limit));
        for (let count = allowed(verdicts); count > 0; count -= 1) passed.push(database.nowMs);
        expect(within(MINUTE_MS)).toBeLessThanOrEqual(limit);
        if (allowed(verdicts) < requests)
          expect(within(MINUTE_MS + 1_000)).toBeGreaterThanOrEqual(limit * 0.75);
      }
    }),
    { numRuns: 100 },
  );
});

it('two processes under load, by the clock of the database, pass nearly all of a limit and no more', async () => {
  const limiters = database.pools.map((pool) => new PgRateLimiter(new Sql(pool)));
  const bucket = freshBucket();
  const limit = 3_000;
  const workers = limiters.flatMap((limiter) => Array(20).fill(limiter)) as PgRateLimiter[];
  const passed = await Promise.all(
    workers.map(async (limiter) => {
      let count = 0;
      while ((await limiter.take(bucket, perMinute(limit))).isAllowed) count += 1;
      return count;
    }),
  );
  const total = passed.reduce((sum, count) => sum + count, 0);
  expect(total).toBeLessThanOrEqual(limit);
  expect(total).toBeGreaterThan(limit * 0.75);
});

it('a permit is valid until the second that counts it ends', async () => {
  const process = new Process();
  const bucket = freshBucket();
  database.at(900);
  await takeMany(process.limiter, bucket, 40, perMinute(LIMIT));
  await takeMany(process.limiter, bucket, 40, perMinute(LIMIT));
  database.at(998);
  await process.limiter.take(bucket, perMinute(LIMIT));
  expect(process.asked).toBe(2);
  database.at(999);
  const { resetAt } = await process.limiter.take(bucket, perMinute(LIMIT));
  expect(process.asked).toBe(3);
  expect(resetAt).toBe((START + 61_000) / 1000);
});
