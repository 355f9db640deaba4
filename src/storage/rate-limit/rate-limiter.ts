import type { RateLimiter, RateLimits, RateVerdict } from '../../domain/ports/rate-limiter.ts';
import type { Clock } from '../../domain/ports/system.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { mayPassAlone } from '../postgres/faults.ts';
import type { Sql } from '../postgres/sql.ts';
import { isSameLimits, PrepaidPermits } from './prepaid-permits.ts';
import { COUNT_MASK, GIVE_BACK, SWEEP, TAKE, type TakeRow, verdict } from './rate-log.ts';

/** Number of requests that one statement decides, without those counted in advance. */
const MAX_BATCH = 500;

interface Ask {
  readonly bucket: string;
  readonly limits: RateLimits;
}

/**
 * The requests of one bucket in a batch, in order and all with the same limits. `places` are their indexes in the
 * batch.
 */
interface Group {
  readonly limits: RateLimits;
  readonly places: number[];
}

/**
 * The rate limiter that all processes share (R12). It is exact up to 1,000 requests a minute. Above that, it never
 * exceeds the limit and allows at most one second's requests too few. A change of limits applies from the next request
 * on, and the requests already counted still count. A limit above 2,097,151 a minute has the effect of 2,097,151.
 *
 * Requests that arrive while a statement runs are decided by the next statement, in order for each bucket. Under load
 * most requests need no statement, because they were counted in advance (`PrepaidPermits`). `take` rejects if the
 * database is unreachable, so that nothing passes uncounted.
 */
export class PgRateLimiter implements RateLimiter {
  readonly #sql: Sql;
  readonly #clock: Clock | undefined;
  readonly #batches: Batcher<Ask, RateVerdict>;
  readonly #permits = new PrepaidPermits();

  /** `clock` is for tests. Without it, the database's time is used, which all processes share. */
  constructor(sql: Sql, clock?: Clock) {
    this.#sql = sql;
    this.#clock = clock;
    this.#batches = new Batcher((batch) => this.#decide(batch), {
      maxWeight: MAX_BATCH,
      isolate: mayPassAlone,
    });
  }

  take(bucket: string, limits: RateLimits): Promise<RateVerdict> {
    const permitted = this.#permits.use(bucket, limits, this.#elapsedMs());
    return permitted ? Promise.resolve(permitted) : this.#batches.add({ bucket, limits });
  }

  async giveBack(bucket: string): Promise<void> {
    await this.#sql.query(GIVE_BACK, [[bucket], [1], [null]]);
  }

  /** Deletes rows that were unused for 2 minutes. Each statement reads 500 rows. Returns the number of deleted rows. */
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

  /** A time in ms that never decreases. */
  #elapsedMs(): number {
    return this.#now() ?? performance.now();
  }

  async #decide(batch: readonly Ask[]): Promise<RateVerdict[]> {
    // The previous batch may have taken prepaid permits. Then some requests of this batch need no query.
    const verdicts = batch.map(({ bucket, limits }) => this.#permits.use(bucket, limits, this.#elapsedMs()));
    let waiting = [...batch.keys()].filter((place) => verdicts[place] === undefined);
    while (waiting.length > 0) {
      // One statement can write a row only once. So requests of the same bucket with other limits wait for the next
      // statement.
      const { groups, later } = group(batch, waiting);
      await this.#giveBackUnused([...groups.keys()]);
      for (const row of await this.#take(groups)) {
        const { limits, places } = groups.get(row.bucket) as Group;
        places.forEach((place, index) => {
          verdicts[place] = verdict(row, limits, index);
        });
      }
      waiting = later;
    }
    return verdicts as RateVerdict[];
  }

  async #take(groups: ReadonlyMap<string, Group>): Promise<TakeRow[]> {
    const askedAt = this.#elapsedMs();
    const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
    const rows = await this.#sql.query<TakeRow>(TAKE, [
      sorted.map(([bucket]) => bucket),
      sorted.map(
        ([bucket, { limits, places }]) =>
          places.length + this.#permits.ahead(bucket, limits, places.length, askedAt),
      ),
      sorted.map(([, { limits }]) => Math.min(limits.perMinute, COUNT_MASK)),
      sorted.map(([, { limits }]) => Math.min(limits.perSecond, COUNT_MASK)),
      this.#now(),
    ]);
    for (const row of rows) {
      const { limits, places } = groups.get(row.bucket) as Group;
      this.#permits.keep(row, limits, places.length, askedAt);
    }
    return rows;
  }

  async #giveBackUnused(buckets: readonly string[]): Promise<void> {
    const unused = this.#permits.takeUnused(buckets);
    if (unused.length === 0) return;
    await this.#sql.query(GIVE_BACK, [
      unused.map(({ bucket }) => bucket),
      unused.map(({ count }) => count),
      unused.map(({ countedAt }) => countedAt),
    ]);
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
    else if (!closed.has(bucket) && isSameLimits(found.limits, limits)) found.places.push(place);
    else {
      closed.add(bucket);
      later.push(place);
    }
  }
  return { groups, later };
}
