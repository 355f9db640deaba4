/**
 * The exact sliding log on PostgreSQL (decision 12).
 *
 * Terms. Entry: one bigint of `hits`, the Unix millisecond of counted requests shifted left by 21 bits, and below
 * it how many requests the row has counted up to and with that entry, modulo 2^21. The difference of two entries'
 * low bits is the number of requests between them, so each question is a binary search (`width_bucket`).
 * Base: the first element of `hits`; it has left the window and is only subtracted.
 *
 * Up to 1,000 a minute an entry stands for the requests of one millisecond. Above, it stands for those of one
 * second and bears the time of the latest, so that never more than the limit pass in 60 s; with a rule for the
 * second, entries stay exact and the ones older than a second are merged when there are many.
 *
 * Invariants. A row is decided under its lock, on a clock read after the lock was taken. Rows are locked in the
 * order of their buckets' names, and whoever locks otherwise (`sweep`) never waits.
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
/** A log above the exact limit is merged once it has more entries. */
const MERGE_ABOVE = 256;
/** A clock set back by up to this counts as standing still; by more, and the log is moved to the new time. */
const CLOCK_SLACK_MS = 5_000;
const IDLE_MS = 120_000;
const SWEEP_ROWS = 500;
/** Requests that one statement decides at the most. */
const MAX_BATCH = 500;

const clockMs = (injected: string) =>
  `coalesce(${injected}::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)`;
const timeOf = (entry: string) => `(${entry} >> ${COUNT_BITS})`;
const secondOf = (entry: string) => `((${entry} >> ${COUNT_BITS}) / ${SECOND_MS})`;
const lastOf = (hits: string) => `${hits}[cardinality(${hits})]`;
const countBetween = (later: string, earlier: string) => `((${later} - ${earlier}) & ${COUNT_MASK})`;
/** How many entries, the base always among them, are as old as the start of a window of `ms` or older. */
const entriesBefore = (ms: number) =>
  `greatest(1, width_bucket((now - ${ms}) << ${COUNT_BITS} | ${COUNT_MASK}, log))`;
/** When the requests counted come below `limit`, if they have reached it. */
const freeAt = (limit: string, windowMs: number) =>
  `(SELECT ${timeOf('min(hit)')} + ${windowMs} FROM unnest(hits) AS hit
    WHERE ${countBetween(lastOf('hits'), 'hit')} < ${limit})`;

/**
 * Values: buckets in order, requests of each, limits a minute and a second; the time in ms, null for the
 * database's own clock. `OFFSET 0` keeps each step from being worked out again for every use of its columns.
 */
const TAKE = statement(
  'rate-limit-take',
  `INSERT INTO rate_limits AS r (bucket, asked, per_minute, per_second, granted, checked_at, hits)
   SELECT bucket, asked, per_minute, per_second, granted, now,
     CASE WHEN granted > 0 THEN ARRAY[0, now << ${COUNT_BITS} | granted] ELSE ARRAY[0::bigint] END
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
         ELSE log[expired:cardinality(log) - CASE WHEN ${timeOf('last')} / grain = now / grain THEN 1 ELSE 0 END]
           || ARRAY[now << ${COUNT_BITS} | ((last + granted) & ${COUNT_MASK})]
       END
     FROM (
       SELECT *, greatest(0, least(excluded.asked,
         excluded.per_minute - ${countBetween('last', 'log[expired]')},
         CASE WHEN excluded.per_second > 0
           THEN excluded.per_second - ${countBetween('last', `log[${entriesBefore(SECOND_MS)}]`)}
           ELSE excluded.asked END))::int AS granted
       FROM (
         SELECT *, ${lastOf('log')} AS last, ${entriesBefore(MINUTE_MS)} AS expired,
           CASE WHEN excluded.per_minute > ${EXACT_LIMIT} AND excluded.per_second = 0
             THEN ${SECOND_MS} ELSE 1 END AS grain
         FROM (
           SELECT is_ahead, CASE WHEN is_ahead THEN clock ELSE greatest(clock, latest) END AS now,
             CASE WHEN is_ahead THEN ARRAY[r.hits[1] & ${COUNT_MASK},
                 clock << ${COUNT_BITS} | (${lastOf('r.hits')} & ${COUNT_MASK})]
               WHEN excluded.per_minute > ${EXACT_LIMIT} AND cardinality(r.hits) > ${MERGE_ABOVE} THEN ARRAY(
                 SELECT hit FROM unnest(r.hits, r.hits[2:]) WITH ORDINALITY AS e (hit, next, place)
                 WHERE place = 1 OR next IS NULL OR ${secondOf('hit')} <> ${secondOf('next')}
                   OR (excluded.per_second > 0 AND ${timeOf('next')} > clock - ${SECOND_MS})
                 ORDER BY place)
               -- A long log lies outside the row: so it is fetched once.
               ELSE r.hits || '{}'::bigint[] END AS log
           FROM (
             SELECT *, latest > clock + ${CLOCK_SLACK_MS} AS is_ahead
             FROM (SELECT ${clockMs('$5')} AS clock, ${timeOf(lastOf('r.hits'))} AS latest OFFSET 0) AS read
           ) AS at
           OFFSET 0
         ) AS pruned
         OFFSET 0
       ) AS placed
       OFFSET 0
     ) AS decided
   )
   RETURNING bucket, granted, checked_at AS now, ${countBetween(lastOf('hits'), 'hits[1]')} AS counted,
     ${timeOf('hits[2]')} AS oldest,
     CASE WHEN granted = asked THEN NULL
       WHEN ${countBetween(lastOf('hits'), 'hits[1]')} = per_minute THEN ${timeOf('hits[2]')} + ${MINUTE_MS}
       ELSE ${freeAt('per_minute', MINUTE_MS)} END AS minute_free_at,
     CASE WHEN granted < asked AND per_second > 0 THEN ${freeAt('per_second', SECOND_MS)} END AS second_free_at`,
);

/** Values: the bucket. Its latest entry counts one less, and goes when it counts none. */
const GIVE_BACK = statement(
  'rate-limit-give-back',
  `UPDATE rate_limits SET hits = hits[:cardinality(hits) - 1] ||
     CASE ${countBetween(lastOf('hits'), 'hits[cardinality(hits) - 1]')} WHEN 1 THEN '{}'::bigint[]
       ELSE ARRAY[${timeOf(lastOf('hits'))} << ${COUNT_BITS} | ((${lastOf('hits')} - 1) & ${COUNT_MASK})] END
   WHERE bucket = $1 AND cardinality(hits) > 1`,
);

/** Values: the bucket after which to go on, the time in ms or null. One slice of the table in bucket order. */
const SWEEP = statement(
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

interface TakeRow {
  bucket: string;
  granted: number;
  now: number;
  counted: number;
  oldest: number | null;
  minute_free_at: number | null;
  second_free_at: number | null;
}

interface Ask {
  readonly bucket: string;
  readonly limits: RateLimits;
}

/** The requests of one bucket in a batch, in order; all under the same limits. */
interface Group {
  readonly limits: RateLimits;
  readonly places: number[];
}

/**
 * The rate limiter that all processes share (decision 12): exact up to 1,000 a minute, and above that never over the
 * limit and at most one second's requests below it. Any change of limits holds from the next request, on what the
 * minute has counted so far. A limit above 2,097,151 a minute works as that one.
 *
 * Requests that arrive while a batch is under way are decided by the next one, in one statement, those of one
 * bucket in the order they came. `take` rejects when the database cannot be reached: nothing is let through uncounted.
 */
export class PgRateLimiter implements RateLimiter {
  readonly #sql: Sql;
  readonly #clock: Clock | undefined;
  readonly #batches: Batcher<Ask, RateVerdict>;

  /** Without a `clock` time is the database's, which all processes share; tests hand in one of their own. */
  constructor(sql: Sql, clock?: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    this.#batches = new Batcher((batch) => this.#decide(batch), {
      maxWeight: MAX_BATCH,
      isolate: (error) => databaseFault(error) === undefined,
    });
  }

  take(bucket: string, limits: RateLimits): Promise<RateVerdict> {
    return this.#batches.add({ bucket, limits });
  }

  async giveBack(bucket: string): Promise<void> {
    await this.#sql.query(GIVE_BACK, [bucket]);
  }

  /** Deletes the rows of buckets not asked about for 2 minutes, some hundred a statement; returns how many. */
  async sweep(): Promise<number> {
    let deleted = 0;
    for (let after: string | null = ''; after !== null; ) {
      const rows: { last: string | null; deleted: number }[] = await this.#sql.query(SWEEP, [
        after,
        this.#now(),
      ]);
      deleted += rows[0]?.deleted ?? 0;
      after = rows[0]?.last ?? null;
    }
    return deleted;
  }

  #now(): number | null {
    return this.#clock?.now().getTime() ?? null;
  }

  async #decide(batch: readonly Ask[]): Promise<RateVerdict[]> {
    const verdicts: RateVerdict[] = new Array(batch.length);
    let waiting = [...batch.keys()];
    while (waiting.length > 0) {
      // One row is written once a statement: requests under other limits than their bucket's first take the next.
      const { groups, later } = group(batch, waiting);
      const buckets = [...groups.keys()].sort();
      const sorted = buckets.map((bucket) => groups.get(bucket) as Group);
      const rows = await this.#sql.query<TakeRow>(TAKE, [
        buckets,
        sorted.map(({ places }) => places.length),
        sorted.map(({ limits }) => Math.min(limits.perMinute, COUNT_MASK)),
        sorted.map(({ limits }) => Math.min(limits.perSecond, COUNT_MASK)),
        this.#now(),
      ]);
      for (const row of rows) {
        const { limits, places } = groups.get(row.bucket) as Group;
        places.forEach((place, index) => {
          verdicts[place] = verdict(row, limits, index);
        });
      }
      waiting = later;
    }
    return verdicts;
  }
}

function group(
  batch: readonly Ask[],
  waiting: readonly number[],
): { groups: Map<string, Group>; later: number[] } {
  const groups = new Map<string, Group>();
  const closed = new Set<string>();
  const later: number[] = [];
  for (const place of waiting) {
    const { bucket, limits } = batch[place] as Ask;
    const found = groups.get(bucket);
    if (!found) groups.set(bucket, { limits, places: [place] });
    else if (!closed.has(bucket) && isSame(found.limits, limits)) found.places.push(place);
    else {
      closed.add(bucket);
      later.push(place);
    }
  }
  return { groups, later };
}

function isSame(a: RateLimits, b: RateLimits): boolean {
  return a.perMinute === b.perMinute && a.perSecond === b.perSecond;
}

/** The verdict on the request that was the `index`-th of its bucket in the statement. */
function verdict(row: TakeRow, { perMinute }: RateLimits, index: number): RateVerdict {
  const isAllowed = index < row.granted;
  const left = Math.max(0, Math.min(perMinute, COUNT_MASK) - row.counted);
  const base = {
    isAllowed,
    limit: perMinute,
    resetAt: row.oldest === null ? Math.floor(row.now / 1000) : Math.ceil((row.oldest + MINUTE_MS) / 1000),
  };
  if (isAllowed) {
    return { ...base, remaining: left + row.granted - 1 - index, retryAfterSeconds: 0, rule: null };
  }
  const isMinute = left === 0;
  // A limit of 0 never frees: then the minute is named.
  const minuteFreeAt = isMinute ? (row.minute_free_at ?? row.now + MINUTE_MS) : 0;
  const waitMs = Math.max(minuteFreeAt, row.second_free_at ?? 0) - row.now;
  return {
    ...base,
    remaining: left,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    rule: isMinute ? 'minute' : 'second',
  };
}
