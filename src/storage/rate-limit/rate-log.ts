/**
 * The sliding log of counted requests in PostgreSQL (R12): its format and its statements.
 *
 * Terms:
 * - Entry: one bigint of the array `hits`. The upper bits are a Unix time in ms. The low 21 bits are the number of
 *   requests that the row has counted up to and including this entry, modulo 2^21. The difference of the low bits of
 *   two entries is the number of requests between them. So each question is a binary search (`width_bucket`).
 * - Base: the first element of `hits`. It has left the window, and only its count is needed, for subtraction.
 *
 * Up to 1,000 requests a minute, an entry counts the requests of one millisecond. Above that, it counts those of one
 * second and has the time of the second's last millisecond. The limit then holds in any 60 s, because requests later in
 * that second are covered too. If there is also a limit for the second, entries stay exact. When there are many, those
 * older than a second are merged.
 *
 * Invariants: A row is decided under its lock, with a clock that is read after the lock was taken. Rows are locked in
 * the order of their buckets' names. `SWEEP` locks them in another order, but never waits.
 */
import type { RateLimits, RateVerdict } from '../../domain/ports/rate-limiter.ts';
import { statement } from '../postgres/sql.ts';

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const COUNT_BITS = 21;
/** The highest count that an entry can hold. */
export const COUNT_MASK = 2 ** COUNT_BITS - 1;
/** The highest limit for a minute that is exact. */
const EXACT_LIMIT = 1_000;
/** The log of a bucket above the exact limit is merged if it has more entries than this. */
const MERGE_ABOVE = 256;
/**
 * If the clock was set back by at most this, in ms, new entries keep the time of the last entry until the clock has
 * reached it. If the clock was set back by more, the log gets the new time.
 */
const CLOCK_SLACK_MS = 5_000;
const IDLE_MS = 120_000;
const SWEEP_ROWS = 500;

/** True if all requests of one second share an entry. */
export function countsBySecond({ perMinute, perSecond }: RateLimits): boolean {
  return perMinute > EXACT_LIMIT && perSecond === 0;
}

const clockMs = (injected: string) =>
  `coalesce(${injected}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;
const timeOf = (entry: string) => `(${entry} >> ${COUNT_BITS})`;
const secondOf = (entry: string) => `((${entry} >> ${COUNT_BITS}) / ${SECOND_MS})`;
const lastOf = (hits: string) => `${hits}[cardinality(${hits})]`;
const countBetween = (later: string, earlier: string) => `((${later} - ${earlier}) & ${COUNT_MASK})`;
/** SQL for `countsBySecond` with the limits in `row`. */
const bySecond = (row: string) => `(${row}.per_minute > ${EXACT_LIMIT} AND ${row}.per_second = 0)`;
/** SQL for the time of a new entry. */
const stampOf = (row: string) =>
  `(now + CASE WHEN ${bySecond(row)} THEN ${SECOND_MS - 1} - now % ${SECOND_MS} ELSE 0 END)`;
/** SQL for the number of entries at or before the start of a window of `ms`. The base is always included. */
const entriesBefore = (ms: number) =>
  `greatest(1, width_bucket((now - ${ms}) << ${COUNT_BITS} | ${COUNT_MASK}, log))`;
/** SQL for the time at which the count falls below `limit`. Null if the limit is not reached. */
const freeAt = (limit: string, windowMs: number) =>
  `(SELECT ${timeOf('min(hit)')} + ${windowMs} FROM unnest(hits) AS hit
    WHERE ${countBetween(lastOf('hits'), 'hit')} < ${limit})`;

/**
 * Counts requests and decides how many are granted. Parameters: $1 buckets in order, $2 the requests of each, $3 the
 * limits for a minute, $4 the limits for a second. $5 is the time in ms, or null for the database's clock. `OFFSET 0`
 * keeps PostgreSQL from computing a step again for each use of its columns.
 */
export const TAKE = statement(
  'rate-limit-take',
  `INSERT INTO rate_limits AS r (bucket, asked, per_minute, per_second, granted, checked_at, hits)
   SELECT bucket, asked, per_minute, per_second, granted, now,
     CASE WHEN granted > 0 THEN ARRAY[0, ${stampOf('first_use')} << ${COUNT_BITS} | granted]
       ELSE ARRAY[0::bigint] END
   FROM (
     SELECT *, ${clockMs('$5')} AS now,
       least(asked, per_minute, CASE WHEN per_second > 0 THEN per_second ELSE asked END) AS granted
     FROM unnest($1::text[], $2::int[], $3::int[], $4::int[]) AS q (bucket, asked, per_minute, per_second)
     OFFSET 0
   ) AS first_use
   ON CONFLICT (bucket) DO UPDATE SET (asked, per_minute, per_second, granted, checked_at, hits) = (
     SELECT excluded.asked, excluded.per_minute, excluded.per_second, granted, now,
       CASE WHEN granted = 0 AND expired = 1 AND NOT is_ahead THEN r.hits
         WHEN granted = 0 THEN log[expired:]
         ELSE log[expired:cardinality(log) - CASE WHEN ${timeOf('last')} / grain = stamp / grain THEN 1 ELSE 0 END]
           || ARRAY[stamp << ${COUNT_BITS} | ((last + granted) & ${COUNT_MASK})]
       END
     FROM (
       SELECT *, greatest(0, least(excluded.asked,
         excluded.per_minute - ${countBetween('last', 'log[expired]')},
         CASE WHEN excluded.per_second > 0
           THEN excluded.per_second - ${countBetween('last', `log[${entriesBefore(SECOND_MS)}]`)}
           ELSE excluded.asked END))::int AS granted
       FROM (
         SELECT *, ${lastOf('log')} AS last, ${entriesBefore(MINUTE_MS)} AS expired,
           greatest(${timeOf(lastOf('log'))}, ${stampOf('excluded')}) AS stamp,
           CASE WHEN ${bySecond('excluded')} THEN ${SECOND_MS} ELSE 1 END AS grain
         FROM (
           SELECT is_ahead, now,
             CASE WHEN is_ahead THEN ARRAY[r.hits[1] & ${COUNT_MASK},
                 now << ${COUNT_BITS} | (${lastOf('r.hits')} & ${COUNT_MASK})]
               WHEN excluded.per_minute > ${EXACT_LIMIT} AND cardinality(r.hits) > ${MERGE_ABOVE} THEN ARRAY(
                 SELECT hit FROM unnest(r.hits, r.hits[2:]) WITH ORDINALITY AS e (hit, next, place)
                 WHERE place = 1 OR next IS NULL OR ${secondOf('hit')} <> ${secondOf('next')}
                   OR (excluded.per_second > 0 AND ${timeOf('next')} > now - ${SECOND_MS})
                 ORDER BY place)
               -- PostgreSQL stores a long log outside the row. OFFSET 0 makes it fetch the log once.
               ELSE r.hits || '{}'::bigint[] END AS log
           FROM (
             SELECT now, ${timeOf(lastOf('r.hits'))} > now + ${CLOCK_SLACK_MS} AS is_ahead
             FROM (SELECT ${clockMs('$5')} AS now OFFSET 0) AS read
           ) AS at
           OFFSET 0
         ) AS pruned
         OFFSET 0
       ) AS placed
       OFFSET 0
     ) AS decided
   )
   RETURNING bucket, granted, checked_at AS now, ${countBetween(lastOf('hits'), 'hits[1]')} AS counted,
     ${timeOf('hits[2]')} AS oldest, ${timeOf(lastOf('hits'))} AS latest,
     CASE WHEN granted = asked THEN NULL
       WHEN ${countBetween(lastOf('hits'), 'hits[1]')} = per_minute THEN ${timeOf('hits[2]')} + ${MINUTE_MS}
       ELSE ${freeAt('per_minute', MINUTE_MS)} END AS minute_free_at,
     CASE WHEN granted < asked AND per_second > 0 THEN ${freeAt('per_second', SECOND_MS)} END AS second_free_at`,
);

/** The result of `TAKE` for a bucket. Times are Unix times in ms. */
export interface TakeRow {
  readonly bucket: string;
  readonly granted: number;
  readonly now: number;
  /** Requests counted in the minute that ends now. */
  readonly counted: number;
  readonly oldest: number | null;
  /** Time of the entry that counts the granted requests. */
  readonly latest: number;
  readonly minute_free_at: number | null;
  readonly second_free_at: number | null;
}

/** Returns the verdict for one request. `index` is its position among the requests of the bucket in the statement. */
export function verdict(row: TakeRow, { perMinute }: RateLimits, index: number): RateVerdict {
  const isAllowed = index < row.granted;
  const left = Math.max(0, Math.min(perMinute, COUNT_MASK) - row.counted);
  const limit = perMinute;
  const resetAt =
    row.oldest === null ? Math.floor(row.now / 1000) : Math.ceil((row.oldest + MINUTE_MS) / 1000);
  if (isAllowed) {
    const remaining = left + row.granted - 1 - index;
    return { isAllowed, limit, resetAt, remaining, retryAfterSeconds: 0, rule: null };
  }
  const isMinute = left === 0;
  // With a limit of 0, no request is ever allowed. The verdict then names the rule of the minute.
  const minuteFreeAt = isMinute ? (row.minute_free_at ?? row.now + MINUTE_MS) : 0;
  const waitMs = Math.max(minuteFreeAt, row.second_free_at ?? 0) - row.now;
  return {
    isAllowed,
    limit,
    resetAt,
    remaining: left,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    rule: isMinute ? 'minute' : 'second',
  };
}

const lessGiven = (entry: string) =>
  `(${timeOf(entry)} << ${COUNT_BITS} | ((${entry} - given) & ${COUNT_MASK}))`;

/**
 * Gives back counted requests. Parameters: $1 buckets, $2 the number to give back for each, $3 the times of the entries
 * that count them. A null time means the latest entry. An entry is reduced at most to zero. An entry of zero is
 * deleted.
 */
export const GIVE_BACK = statement(
  'rate-limit-give-back',
  `WITH counted AS MATERIALIZED (
     SELECT bucket, hits, place, ${countBetween('hits[place]', 'hits[place - 1]')} AS own, unused
     FROM rate_limits r JOIN unnest($1::text[], $2::int[], $3::bigint[]) AS u (bucket, unused, at) USING (bucket),
       LATERAL (SELECT coalesce(width_bucket(at << ${COUNT_BITS} | ${COUNT_MASK}, hits), cardinality(hits)) AS place) p
     WHERE place > 1 AND ${timeOf('hits[place]')} = coalesce(at, ${timeOf('hits[place]')})
     ORDER BY bucket FOR UPDATE OF r
   )
   UPDATE rate_limits r SET hits = c.hits[:place - 1]
     || CASE WHEN given < own THEN ARRAY[${lessGiven('c.hits[place]')}] ELSE '{}' END
     || ARRAY(SELECT ${lessGiven('hit')} FROM unnest(c.hits[place + 1:]) WITH ORDINALITY AS e (hit, n) ORDER BY n)
   FROM (SELECT *, least(unused, own) AS given FROM counted) AS c
   WHERE r.bucket = c.bucket`,
);

/**
 * Deletes idle rows in one slice of the table, in the order of buckets. Parameters: $1 the bucket after which the slice
 * begins, $2 the time in ms or null for the database's clock.
 */
export const SWEEP = statement(
  'rate-limit-sweep',
  `WITH slice AS MATERIALIZED (
     SELECT bucket FROM rate_limits WHERE bucket > $1 ORDER BY bucket LIMIT ${SWEEP_ROWS}
   ), idle AS MATERIALIZED (
     SELECT r.bucket FROM rate_limits r JOIN slice USING (bucket)
     WHERE r.checked_at < ${clockMs('$2')} - ${IDLE_MS} FOR UPDATE OF r SKIP LOCKED
   ), gone AS (
     DELETE FROM rate_limits r USING idle WHERE r.bucket = idle.bucket RETURNING r.bucket
   )
   SELECT (SELECT max(bucket) FROM slice) AS last, (SELECT count(*) FROM gone) AS deleted`,
);
