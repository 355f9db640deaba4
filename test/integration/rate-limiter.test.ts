import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RateVerdict } from '../../src/domain/ports/rate-limiter.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { PgRateLimiter } from '../../src/storage/rate-limit/rate-limiter.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
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
let pools: RateLimitDatabase['pools'];

beforeAll(async () => {
  await database.open();
  pools = database.pools;
});

afterAll(() => database.close());

beforeEach(() => database.at(0));

const limiter = () => database.limiter();
const at = (ms: number) => database.at(ms);
const seconds = (ms: number) => (START + ms) / 1000;
async function row(bucket: string): Promise<{ entries: number } | undefined> {
  return pools[0]('rate_limits').where({ bucket }).first(pools[0].raw('cardinality(hits) AS entries'));
}

describe('a permit that is given back', () => {
  it('can be taken again at once, also with others in the same millisecond', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    await limits.giveBack(bucket);
    expect(allowed(await takeMany(limits, bucket, 5, perMinute(3)))).toBe(3);
    await limits.giveBack(bucket);
    expect(await limits.take(bucket, perMinute(3))).toMatchObject({ isAllowed: true, remaining: 0 });
    expect(await limits.take(bucket, perMinute(3))).toMatchObject({ isAllowed: false });
    at(10_000);
    for (let count = 0; count < 5; count++) await limits.giveBack(bucket);
    // The count is zero, although more requests were returned than had been counted.
    expect(await limits.take(bucket, perMinute(3))).toMatchObject({
      isAllowed: true,
      remaining: 2,
      resetAt: seconds(70_000),
    });
  });

  it('does not change what was counted before it', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    await limits.take(bucket, perMinute(3));
    at(20_000);
    await limits.take(bucket, perMinute(3));
    await limits.giveBack(bucket);
    const verdict = await limits.take(bucket, perMinute(3));
    expect(verdict).toMatchObject({ isAllowed: true, remaining: 1, resetAt: seconds(60_000) });
    at(60_001);
    expect(await limits.take(bucket, perMinute(3))).toMatchObject({
      remaining: 1,
      resetAt: seconds(80_000),
    });
  });
});

describe('the limit for a minute', () => {
  it('allows 100 in any 60 s, refuses the 101st and says when to retry', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    for (let made = 0; made < 100; made += 1) {
      at(made * 100 + 250);
      expect(await limits.take(bucket, perMinute(100))).toEqual({
        isAllowed: true,
        limit: 100,
        remaining: 99 - made,
        resetAt: seconds(61_000),
        retryAfterSeconds: 0,
        rule: null,
      });
    }
    const refused = { isAllowed: false, limit: 100, remaining: 0, resetAt: seconds(61_000), rule: 'minute' };
    expect(await limits.take(bucket, perMinute(100))).toEqual({ ...refused, retryAfterSeconds: 51 });
    at(60_249);
    expect(await limits.take(bucket, perMinute(100))).toEqual({ ...refused, retryAfterSeconds: 1 });
    at(60_250);
    expect(await limits.take(bucket, perMinute(100))).toMatchObject({ isAllowed: true, remaining: 0 });
    expect(await limits.take(bucket, perMinute(100))).toMatchObject({
      isAllowed: false,
      retryAfterSeconds: 1,
    });
    at(60_350);
    expect(await limits.take(bucket, perMinute(100))).toMatchObject({
      isAllowed: true,
      resetAt: seconds(61_000),
    });
  });

  it('does not count refused requests', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    await takeMany(limits, bucket, 3, perMinute(3));
    at(59_000);
    expect(allowed(await takeMany(limits, bucket, 50, perMinute(3)))).toBe(0);
    at(60_000);
    expect(allowed(await takeMany(limits, bucket, 50, perMinute(3)))).toBe(3);
  });

  it('counts each bucket apart', async () => {
    const limits = limiter();
    const [one, two] = [freshBucket(), freshBucket()];
    await takeMany(limits, one, 5, perMinute(5));
    expect(await limits.take(one, perMinute(5))).toMatchObject({ isAllowed: false });
    expect(await limits.take(two, perMinute(5))).toMatchObject({ isAllowed: true, remaining: 4 });
  });

  it.each([`it's "quoted", {braced}, \\ and NULL`, 'NULL', '2001:db8::1', 'ключ 🔑'])(
    'accepts any bucket name: %p',
    async (bucket) => {
      const limits = limiter();
      expect(allowed(await takeMany(limits, bucket, 3, perMinute(2)))).toBe(2);
    },
  );

  it('decides requests of one batch in order of arrival', async () => {
    const limits = limiter();
    const [one, two] = [freshBucket(), freshBucket()];
    const verdicts = await Promise.all(
      [two, one, two, one, two, two].map((bucket) => limits.take(bucket, perMinute(3))),
    );
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([2, 2, 1, 1, 0, 0]);
    expect(verdicts.map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, true, true, false]);
  });

  it('passes nothing with a limit of 0', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    const verdict = {
      isAllowed: false,
      limit: 0,
      remaining: 0,
      resetAt: seconds(0),
      retryAfterSeconds: 60,
      rule: 'minute',
    };
    expect(await takeMany(limits, bucket, 2, perMinute(0))).toEqual([verdict, verdict]);
    expect(await limits.take(bucket, perMinute(0))).toEqual(verdict);
    expect(await limits.take(bucket, perMinute(1))).toMatchObject({ isAllowed: true, remaining: 0 });
  });
});

describe('the limit for a second', () => {
  it('refuses the 21st in any second and names the rule', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    const rule = perMinute(100, 20);
    for (let made = 0; made < 20; made += 1) {
      at(made * 40);
      expect(await limits.take(bucket, rule)).toMatchObject({ isAllowed: true, remaining: 99 - made });
    }
    at(999);
    expect(await limits.take(bucket, rule)).toEqual({
      isAllowed: false,
      limit: 100,
      remaining: 80,
      resetAt: seconds(60_000),
      retryAfterSeconds: 1,
      rule: 'second',
    });
    at(1_000);
    expect((await takeMany(limits, bucket, 2, rule)).map(({ rule: name }) => name)).toEqual([null, 'second']);
  });

  it('names the minute when both are used up, and the time at which both are free', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    await takeMany(limits, bucket, 5, perMinute(8, 5));
    at(30_000);
    const verdicts = await takeMany(limits, bucket, 5, perMinute(8, 3));
    expect(verdicts.map(({ rule }) => rule)).toEqual([null, null, null, 'minute', 'minute']);
    expect(verdicts[4]).toMatchObject({ retryAfterSeconds: 30, remaining: 0 });
  });
});

describe('several processes', () => {
  it('pass exactly 100 of 200 concurrent requests over two pools', async () => {
    const both = pools.map((pool) => new PgRateLimiter(new Sql(pool)));
    const bucket = freshBucket();
    const verdicts = await Promise.all(
      both.flatMap((limits) => Array.from({ length: 100 }, () => limits.take(bucket, perMinute(100)))),
    );
    expect(allowed(verdicts)).toBe(100);
    const left = verdicts.filter(({ isAllowed }) => isAllowed).map(({ remaining }) => remaining);
    expect(left.sort((a, b) => a - b)).toEqual([...Array(100).keys()]);
  });

  it('neither deadlock nor miscount with many buckets in any order, during a sweep', async () => {
    const many = [...pools, ...pools].map((pool) => new PgRateLimiter(new Sql(pool)));
    const names = Array.from({ length: 40 }, freshBucket);
    const verdicts = await Promise.all(
      many.flatMap((limits, index) =>
        Array.from({ length: 10 }, async () => {
          const order = index % 2 === 0 ? names : [...names].reverse();
          const taken = await Promise.all(order.map((bucket) => limits.take(bucket, perMinute(25))));
          await limits.sweep();
          return taken;
        }),
      ),
    );
    expect(allowed(verdicts.flat())).toBe(40 * 25);
  });

  it('lock rows in the order of their names, so that batches do not deadlock', async () => {
    const limits = limiter();
    const names = [freshBucket(), freshBucket()].sort() as [string, string];
    await Promise.all(names.map((bucket) => limits.take(bucket, perMinute(100))));
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database.name}' AND wait_event_type = 'Lock'`;
    let taken: Promise<RateVerdict[]> | undefined;
    await pools[1].transaction(async (held) => {
      await held('rate_limits').where({ bucket: names[0] }).forUpdate().first();
      taken = Promise.all([...names].reverse().map((bucket) => limits.take(bucket, perMinute(100))));
      while ((await database.admin.raw(waits)).rows.length === 0);
      await held('rate_limits').where({ bucket: names[1] }).forUpdate().noWait().first();
    });
    expect(await taken).toMatchObject([{ remaining: 98 }, { remaining: 98 }]);
  });

  it('use the clock of the database', async () => {
    const limits = new PgRateLimiter(new Sql(pools[0]));
    const before = Math.ceil(Date.now() / 1000);
    const { resetAt } = await limits.take(freshBucket(), perMinute(100));
    expect(resetAt - 60).toBeGreaterThanOrEqual(before);
    expect(resetAt - 60).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
  });

  it('reject when the database is unreachable', async () => {
    const nowhere = createKnex({ ...database.server, database: 'no_such_database' }, silentLogger);
    const limits = new PgRateLimiter(new Sql(nowhere));
    await expect(limits.take(freshBucket(), perMinute(100))).rejects.toThrow('no_such_database');
    await nowhere.destroy();
  });
});

describe('limits above 1,000 a minute', () => {
  it('are exact for a burst, with at most 62 entries', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    expect(allowed(await takeMany(limits, bucket, 1_600, perMinute(1_500)))).toBe(1_500);
    at(59_999);
    expect(await limits.take(bucket, perMinute(1_500))).toMatchObject({
      isAllowed: false,
      retryAfterSeconds: 1,
    });
    for (let ms = 60_000; ms < 130_000; ms += 330) {
      at(ms);
      await takeMany(limits, bucket, 2, perMinute(1_500));
    }
    expect((await row(bucket))?.entries).toBeLessThanOrEqual(62);
  });

  it('are never exceeded, and are short by one second at most', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    const passed: number[] = [];
    const within = (ms: number) => passed.filter((time) => time > database.nowMs - ms).length;
    for (let ms = 0; ms < 150_000; ms += 370) {
      at(ms);
      for (const { isAllowed } of await takeMany(limits, bucket, 15, perMinute(1_200))) {
        if (isAllowed) passed.push(database.nowMs);
        else expect(within(MINUTE_MS + 1_000)).toBeGreaterThanOrEqual(1_200);
        expect(within(MINUTE_MS)).toBeLessThanOrEqual(1_200);
      }
    }
    expect(passed.length).toBeGreaterThan(2_400);
  });

  it('keep the limit for a second exact, and merge older entries', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    const passed: number[] = [];
    for (let ms = 0; ms < 30_000; ms += 17) {
      at(ms);
      const { isAllowed } = await limits.take(bucket, perMinute(5_000, 30));
      expect(isAllowed).toBe(passed.filter((time) => time > database.nowMs - 1_000).length < 30);
      if (isAllowed) passed.push(database.nowMs);
    }
    expect((await row(bucket))?.entries).toBeLessThan(258);
  });
});

describe('a limit that changes', () => {
  it('adds the difference when raised, and waits for the log to shrink when lowered', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    for (let made = 0; made < 10; made += 1) {
      at(made * 1_000);
      await limits.take(bucket, perMinute(10));
    }
    expect(await limits.take(bucket, perMinute(10))).toMatchObject({ isAllowed: false });
    expect(await limits.take(bucket, perMinute(12))).toMatchObject({
      isAllowed: true,
      remaining: 1,
      limit: 12,
    });
    const lowered = { isAllowed: false, limit: 4, remaining: 0, resetAt: seconds(60_000), rule: 'minute' };
    // Eleven requests are counted, and the limit is 4. The next request is allowed when the fourth newest, made at 7 s,
    // expires.
    expect(await limits.take(bucket, perMinute(4))).toEqual({ ...lowered, retryAfterSeconds: 58 });
    at(66_999);
    expect(await limits.take(bucket, perMinute(4))).toMatchObject({ isAllowed: false, retryAfterSeconds: 1 });
    at(67_000);
    expect(await limits.take(bucket, perMinute(4))).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  it.each([
    [1_000, 1_001],
    [2_000, 1_000],
    [1_001, 100],
    [100, 5_000_000],
  ])('keeps the count from %p to %p a minute', async (before, after) => {
    const limits = limiter();
    const bucket = freshBucket();
    for (let made = 0; made < 90; made += 1) {
      at(made * 13);
      await limits.take(bucket, perMinute(before));
    }
    expect(await limits.take(bucket, perMinute(after))).toMatchObject({
      isAllowed: true,
      limit: after,
      remaining: Math.min(after, 2 ** 21 - 1) - 91,
    });
    at(62_000);
    expect(await limits.take(bucket, perMinute(after))).toMatchObject({ isAllowed: true });
    expect((await row(bucket))?.entries).toBe(2);
  });

  it('keeps the rest of a long log when it is merged', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    for (let made = 0; made <= 649; made += 1) {
      at(made * 100 + 200);
      await limits.take(bucket, perMinute(1_000));
    }
    // The last expired request was made at 5.1 s, and the first counted one at 5.2 s. Both are in the same second.
    at(65_150);
    expect(await limits.take(bucket, perMinute(5_000))).toMatchObject({ remaining: 5_000 - 601 });
    expect((await row(bucket))?.entries).toBeLessThanOrEqual(63);
  });

  it('applies to requests of one batch in order of arrival', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    const rules = [perMinute(2), perMinute(2), perMinute(3), perMinute(2), perMinute(5)];
    const verdicts = await Promise.all(rules.map((rule) => limits.take(bucket, rule)));
    expect(verdicts.map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, false, true]);
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([1, 0, 0, 0, 1]);
  });
});

describe('a clock that was set back', () => {
  it('by a moment is treated as standing still', async () => {
    const limits = limiter();
    const bucket = freshBucket();
    at(2_000);
    await limits.take(bucket, perMinute(2));
    at(0);
    expect(await limits.take(bucket, perMinute(2))).toMatchObject({ remaining: 0, resetAt: seconds(62_000) });
    expect((await row(bucket))?.entries).toBe(2);
    at(61_999);
    expect(await limits.take(bucket, perMinute(2))).toMatchObject({ isAllowed: false });
  });

  it.each([2, 5_000])('by an hour keeps the count for a minute (limit %p)', async (limit) => {
    const limits = limiter();
    const bucket = freshBucket();
    at(3_600_000);
    await takeMany(limits, bucket, limit, perMinute(limit));
    at(0);
    expect(await limits.take(bucket, perMinute(limit))).toMatchObject({
      isAllowed: false,
      retryAfterSeconds: 60,
    });
    at(60_000);
    expect(await limits.take(bucket, perMinute(limit))).toMatchObject({
      isAllowed: true,
      remaining: limit - 1,
    });
  });
});

it('agrees with a plain list of times', async () => {
  const limits = limiter();
  const step = fc.record({
    waitMs: fc.oneof(
      fc.constantFrom(0, 1, 999, 1_000, 1_001, 59_999, 60_000),
      fc.integer({ min: 0, max: 30_000 }),
    ),
    requests: fc.integer({ min: 1, max: 4 }),
    perMinute: fc.constantFrom(1, 3, 5, 9),
    perSecond: fc.constantFrom(0, 0, 1, 2, 4),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const bucket = freshBucket();
      let log: number[] = [];
      at(0);
      for (const { waitMs, requests, ...rule } of steps) {
        database.nowMs += waitMs;
        log = log.filter((time) => time > database.nowMs - MINUTE_MS);
        const verdicts = await takeMany(limits, bucket, requests, rule);
        for (const verdict of verdicts) {
          const lastSecond = log.filter((time) => time > database.nowMs - 1_000);
          const minuteIsFull = log.length >= rule.perMinute;
          const secondIsFull = rule.perSecond > 0 && lastSecond.length >= rule.perSecond;
          const isAllowed = !minuteIsFull && !secondIsFull;
          if (isAllowed) log.push(database.nowMs);
          const freeAt = Math.max(
            minuteIsFull ? (log.at(-rule.perMinute) as number) + MINUTE_MS : 0,
            secondIsFull ? (lastSecond.at(-rule.perSecond) as number) + 1_000 : 0,
          );
          expect(verdict).toEqual({
            isAllowed,
            limit: rule.perMinute,
            remaining: Math.max(0, rule.perMinute - log.length),
            resetAt: Math.ceil(((log[0] as number) + MINUTE_MS) / 1000),
            retryAfterSeconds: isAllowed ? 0 : Math.ceil((freeAt - database.nowMs) / 1000),
            rule: isAllowed ? null : minuteIsFull ? 'minute' : 'second',
          });
        }
      }
    }),
    { numRuns: 150 },
  );
});

describe('the sweep', () => {
  it('deletes all rows unused for over 2 minutes, and no others', async () => {
    await pools[0]('rate_limits').delete();
    const limits = limiter();
    const idle = Array.from({ length: 1_203 }, freshBucket);
    await Promise.all(idle.map((bucket) => limits.take(bucket, perMinute(100))));
    at(1);
    const used = freshBucket();
    await limits.take(used, perMinute(100));
    at(120_000);
    expect(await limits.sweep()).toBe(0);
    at(120_001);
    expect(await limits.sweep()).toBe(1_203);
    expect(await pools[0]('rate_limits').pluck('bucket')).toEqual([used]);
    expect(await limits.take(idle[0] as string, perMinute(100))).toMatchObject({ remaining: 99 });
  });

  it('skips rows that are being written, without waiting', async () => {
    await pools[0]('rate_limits').delete();
    const limits = limiter();
    const busy = freshBucket();
    await limits.take(busy, perMinute(100));
    at(200_000);
    await pools[1].transaction(async (held) => {
      await held('rate_limits').where({ bucket: busy }).forUpdate().first();
      expect(await limits.sweep()).toBe(0);
    });
    expect(await limits.sweep()).toBe(1);
  });
});

it('updates rows in place', async () => {
  // PostgreSQL keeps old row versions for the oldest transaction of any database of the server. So repeat until no such
  // transaction disturbs a round.
  await eventually(async () => {
    await pools[0]('rate_limits').truncate();
    const limits = limiter();
    const bucket = freshBucket();
    for (let made = 0; made < 300; made += 1) {
      at(made * 601);
      await limits.take(bucket, perMinute(100));
    }
    const { rows } = await pools[0].raw(`SELECT relpersistence, pg_relation_size(oid) AS bytes FROM pg_class
      WHERE relname = 'rate_limits'`);
    expect(rows[0].relpersistence).toBe('u');
    // With a full log, 300 row versions would take more than 230 kB.
    expect(rows[0].bytes).toBeLessThan(200_000);
    return true;
  }, 240_000);
}, 250_000);
