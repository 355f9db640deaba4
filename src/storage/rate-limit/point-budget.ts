import type { PointBudget, PointVerdict } from '../../domain/ports/rate-limiter.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const MINUTE_MS = 60_000;
const IDLE_MS = 120_000;
/** Points that are given back are stored with the next `take` of their bucket, or after this time in ms. */
const GIVE_BACK_MS = 500;
const MAX_BATCH = 500;

const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
/** SQL for the sum of the smallest asks that fit together. An ask is the number of points of one `take`. */
const fitting = (asks: string, left: string) =>
  `coalesce((SELECT max(sum) FROM (SELECT sum(ask) OVER (ORDER BY ask, place) AS sum
     FROM unnest(${asks}) WITH ORDINALITY AS a (ask, place)) AS s WHERE sum <= ${left}), 0)::int`;

/**
 * Takes points. Each parameter has one element for each bucket, in order. $1: the buckets. $2: points per minute. $3:
 * points to give back. $4: the end of the minute to which these belong. $5: the asks as the text of an array. `OFFSET
 * 0` keeps PostgreSQL from computing a step again for each use of its columns.
 */
const TAKE = statement(
  'query-points-take',
  `INSERT INTO query_points AS p (bucket, budget, correction, corrected_until, asks, granted, used, ends_at)
   SELECT bucket, budget, correction, corrected_until, asks, granted, granted, ${NOW} + ${MINUTE_MS}
   FROM (
     SELECT bucket, budget, correction, corrected_until, asks::int[] AS asks,
       ${fitting('asks::int[]', 'budget')} AS granted
     FROM unnest($1::text[], $2::int[], $3::int[], $4::bigint[], $5::text[])
       AS q (bucket, budget, correction, corrected_until, asks)
     OFFSET 0
   ) AS first_use
   ON CONFLICT (bucket) DO UPDATE SET (budget, correction, corrected_until, asks, granted, used, ends_at) = (
     SELECT excluded.budget, excluded.correction, excluded.corrected_until, excluded.asks, granted, used + granted, ends_at
     FROM (
       SELECT used, ends_at, ${fitting('excluded.asks', 'excluded.budget - used')} AS granted
       FROM (
         SELECT CASE WHEN is_over THEN now + ${MINUTE_MS} ELSE p.ends_at END AS ends_at,
           CASE WHEN is_over THEN 0
             WHEN excluded.corrected_until = p.ends_at THEN greatest(0, p.used - excluded.correction)
             ELSE p.used END AS used
         FROM (
           -- If the minute ends more than a minute from now, it began before the clock was set back.
           SELECT now, p.ends_at <= now OR p.ends_at > now + ${MINUTE_MS} AS is_over
           FROM (SELECT ${NOW} AS now OFFSET 0) AS clock OFFSET 0
         ) AS minute OFFSET 0
       ) AS present OFFSET 0
     ) AS decided
   )
   RETURNING bucket, granted, used, ends_at, ${NOW} AS now`,
);

/** Deletes idle rows. It has no parameters, and never waits for a row that is in use. */
const SWEEP = statement(
  'query-points-sweep',
  `WITH idle AS MATERIALIZED (
     SELECT bucket FROM query_points WHERE ends_at < ${NOW} - ${IDLE_MS} FOR UPDATE SKIP LOCKED
   ), gone AS (
     DELETE FROM query_points p USING idle WHERE p.bucket = idle.bucket RETURNING p.bucket
   )
   SELECT count(*) AS deleted FROM gone`,
);

interface TakeRow {
  readonly bucket: string;
  readonly granted: number;
  readonly used: number;
  readonly ends_at: number;
  readonly now: number;
}
interface Ask {
  readonly bucket: string;
  readonly perMinute: number;
  readonly points: number;
}
interface Correction {
  readonly until: number;
  readonly perMinute: number;
  points: number;
}

/**
 * A budget of points for each minute, in one row for each bucket. Calls of `take` that arrive while a statement runs
 * are decided together by the next one. For each bucket, the calls for the fewest points are granted first. Rows are
 * locked in the order of their buckets' names. Points that are given back are sent with the next `take`. If a process
 * dies, the points that it did not give back stay counted until the minute ends.
 */
export class PgPointBudget implements PointBudget {
  readonly #sql: Sql;
  readonly #batches: Batcher<Ask, PointVerdict>;
  readonly #corrections = new Map<string, Correction>();
  /** The points per minute with which each granted verdict was decided. */
  readonly #granted = new WeakMap<PointVerdict, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#batches = new Batcher((batch) => this.#decide(batch), { maxWeight: MAX_BATCH });
  }

  take(bucket: string, perMinute: number, points: number): Promise<PointVerdict> {
    return this.#batches.add({ bucket, perMinute, points });
  }

  giveBack(bucket: string, verdict: PointVerdict, points: number): void {
    const perMinute = this.#granted.get(verdict);
    if (perMinute === undefined || points === 0) return;
    const until = verdict.resetAt.getTime();
    const known = this.#corrections.get(bucket);
    if (known?.until === until) known.points += points;
    else if (!known || known.until < until) this.#corrections.set(bucket, { until, perMinute, points });
    this.#timer ??= setTimeout(() => this.#flush(), GIVE_BACK_MS).unref();
  }

  async sweep(): Promise<number> {
    const [row] = await this.#sql.query<{ deleted: number }>(SWEEP, []);
    return row?.deleted ?? 0;
  }

  /** Stops giving points back. Points that were not given back yet stay counted. */
  close(): void {
    clearTimeout(this.#timer);
    this.#corrections.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    for (const [bucket, { perMinute }] of this.#corrections) {
      // If the database is unreachable, the points stay counted until their minute ends.
      this.take(bucket, perMinute, 0).catch(() => undefined);
    }
  }

  async #decide(batch: readonly Ask[]): Promise<PointVerdict[]> {
    const asks = Map.groupBy(batch, ({ bucket }) => bucket);
    const buckets = [...asks.keys()].sort();
    const corrections = buckets.map((bucket) => this.#corrections.get(bucket));
    for (const bucket of buckets) this.#corrections.delete(bucket);
    const rows = await this.#sql.query<TakeRow>(TAKE, [
      buckets,
      buckets.map((bucket) => asks.get(bucket)?.at(-1)?.perMinute),
      corrections.map((correction) => correction?.points ?? 0),
      corrections.map((correction) => correction?.until ?? 0),
      buckets.map((bucket) => `{${asks.get(bucket)?.map(({ points }) => points)}}`),
    ]);
    const verdicts = new Map<Ask, PointVerdict>();
    for (const row of rows) this.#settle(row, asks.get(row.bucket) ?? [], verdicts);
    return batch.map((ask) => verdicts.get(ask) as PointVerdict);
  }

  /** Adds the verdicts for the asks of one bucket to `verdicts`. */
  #settle(row: TakeRow, asks: readonly Ask[], verdicts: Map<Ask, PointVerdict>): void {
    const resetAt = new Date(row.ends_at);
    const retryAfterSeconds = Math.max(1, Math.ceil((row.ends_at - row.now) / 1_000));
    let sum = 0;
    // The sort is stable. So equal asks are granted in the same order as in the statement.
    for (const ask of [...asks].sort((a, b) => a.points - b.points)) {
      sum += ask.points;
      const isAllowed = sum <= row.granted;
      const remaining = Math.max(0, ask.perMinute - row.used);
      const verdict = { isAllowed, remaining, resetAt, retryAfterSeconds };
      if (isAllowed) this.#granted.set(verdict, ask.perMinute);
      verdicts.set(ask, verdict);
    }
  }
}
