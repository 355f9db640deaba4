/**
 * The exact sliding log on PostgreSQL (decision 12).
 *
 * Terms. Entry: one bigint of `hits`, the Unix millisecond of counted requests shifted left by 21 bits, and below
 * it how many requests the row has counted up to and with that entry, modulo 2^21. The difference of two entries'
 * low bits is the number of requests between them, so every question is a binary search (`width_bucket`).
 * Base: the first element of `hits`; it has left the window and is only subtracted from.
 *
 * Up to 1,000 a minute an entry stands for the requests of one millisecond. Above, it stands for those of one
 * second and bears the time of the latest, so that no more than the limit ever passes in 60 s; where a rule for
 * the second is set, the last second's entries stay exact until the log is compacted.
 *
 * Invariants. A row's decisions are made under its lock, on a clock read after the lock was taken. Rows are locked
 * in the order of their buckets' names, and whoever locks otherwise (`sweep`) never waits.
 */
import { Batcher } from '../domain/batcher.ts';
import type { RateLimiter, RateLimits, RateVerdict } from '../domain/ports/rate-limiter.ts';
import type { Clock } from '../domain/ports/system.ts';
import { databaseFault } from './faults.ts';
import { type Sql, statement } from './sql.ts';

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const COUNT_BITS = 21;
const COUNT_MASK = 2 ** COUNT_BITS - 1;
/** The highest limit a minute that is exact. */
const EXACT_LIMIT = 1_000;
/** A log above the exact limit is compacted once it has more entries. */
const COMPACT_ABOVE = 256;
/** The clock may go back so far and counts as standing still; further, and the log is moved to the new time. */
const CLOCK_SLACK_MS = 5_000;
const IDLE_MS = 120_000;
const SWEEP_ROWS = 500;
/** Requests that one statement decides at the most. */
const MAX_BATCH = 500;

const CLOCK_MS = `coalesce($5::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;
const upTo = (ms: string) => `((${ms}) << ${COUNT_BITS} | ${COUNT_MASK})`;
const between = (later: string, earlier: string) => `((${later} - ${earlier}) & ${COUNT_MASK})`;
const timeOf = (entry: string) => `(${entry} >> ${COUNT_BITS})`;
const lastOf = (array: string) => `${array}[cardinality(${array})]`;

/** Values: buckets in order, requests, limits a minute, limits a second; the time in ms, or null for the database's. */
const TAKE = statement(
  'rate-limit-take',
  `INSERT INTO rate_limits AS r (bucket, asked, per_minute, per_second, granted, checked_at, hits)
   SELECT bucket, asked, per_minute, per_second, granted, now, ARRAY[0, now << ${COUNT_BITS} | granted]
   FROM (
     SELECT *, greatest(0, least(asked, per_minute, CASE WHEN per_second > 0 THEN per_second ELSE asked END)) AS granted,
       ${CLOCK_MS} AS now
     FROM unnest($1::text[], $2::int[], $3::int[], $4::int[]) AS q (bucket, asked, per_minute, per_second)
     OFFSET 0
   ) AS fresh
   ON CONFLICT (bucket) DO UPDATE SET (asked, per_minute, per_second, granted, checked_at, hits) = (
     SELECT excluded.asked, excluded.per_minute, excluded.per_second, granted, now,
       CASE WHEN granted = 0 THEN log[expired:]
       ELSE log[expired:cardinality(log) -
           CASE WHEN ${timeOf('last')} / quantum = now / quantum THEN 1 ELSE 0 END]
         || ARRAY[now << ${COUNT_BITS} | ((last + granted) & ${COUNT_MASK})]
       END
     FROM (
       SELECT *, greatest(0, least(excluded.asked, excluded.per_minute - ${between('last', 'log[expired]')},
         CASE WHEN excluded.per_second > 0 THEN excluded.per_second - ${between('last', 'log[before_second]')}
         ELSE excluded.asked END))::int AS granted
       FROM (
         SELECT *, ${lastOf('log')} AS last,
           CASE WHEN excluded.per_minute > ${EXACT_LIMIT} AND excluded.per_second = 0 THEN ${SECOND_MS} ELSE 1 END AS quantum,
           greatest(1, width_bucket(${upTo(`now - ${MINUTE_MS}`)}, log)) AS expired,
           CASE WHEN excluded.per_second > 0 THEN greatest(1, width_bucket(${upTo(`now - ${SECOND_MS}`)}, log)) END AS before_second
         FROM (
           SELECT CASE WHEN latest BETWEEN clock AND clock + ${CLOCK_SLACK_MS} THEN latest ELSE clock END AS now,
             CASE WHEN latest > clock + ${CLOCK_SLACK_MS}
               THEN ARRAY[r.hits[1] & ${COUNT_MASK}, clock << ${COUNT_BITS} | (${lastOf('r.hits')} & ${COUNT_MASK})]
               WHEN excluded.per_minute > ${EXACT_LIMIT} AND cardinality(r.hits) > ${COMPACT_ABOVE} THEN ARRAY(
                 SELECT hit FROM (
                   SELECT hit, lag(hit) OVER (ORDER BY hit) AS previous, lead(hit) OVER (ORDER BY hit) AS next
                   FROM unnest(r.hits) AS hit
                 ) AS entry
                 WHERE previous IS NULL OR next IS NULL
                   OR ${timeOf('hit')} / ${SECOND_MS} <> ${timeOf('next')} / ${SECOND_MS}
                   OR (excluded.per_second > 0 AND ${timeOf('hit')} > clock - ${SECOND_MS})
                 ORDER BY hit)
               ELSE r.hits END AS log
           FROM (SELECT ${CLOCK_MS} AS clock, ${timeOf(lastOf('r.hits'))} AS latest OFFSET 0) AS c
           OFFSET 0
         ) AS a
         OFFSET 0
       ) AS b
       OFFSET 0
     ) AS d
   )
   RETURNING bucket, granted, checked_at AS now, ${between(lastOf('hits'), 'hits[1]')} AS counted,
     ${timeOf('hits[2]')} AS oldest,
     CASE WHEN granted < asked THEN (
       SELECT ${timeOf('min(hit)')} FROM unnest(hits) AS hit WHERE ${between(lastOf('hits'), 'hit')} < per_minute
     ) + ${MINUTE_MS} END AS minute_free_at,
     CASE WHEN granted < asked AND per_second > 0 THEN (
       SELECT ${timeOf('min(hit)')} FROM unnest(hits) AS hit WHERE ${between(lastOf('hits'), 'hit')} < per_second
     ) + ${SECOND_MS} END AS second_free_at`,
);

interface TakeRow {
  bucket: string;
  granted: number;
  now: number;
  counted: number;
  oldest: number | null;
  minute_free_at: number | null;
  second_free_at: number | null;
}
export { TAKE };
