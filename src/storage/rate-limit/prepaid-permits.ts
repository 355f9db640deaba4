import { LRUCache } from 'lru-cache';
import type { RateLimits, RateVerdict } from '../../domain/ports/rate-limiter.ts';
import { countsBySecond, type TakeRow, verdict } from './rate-log.ts';

/** Time in ms for which prepaid permits should last at the current rate. */
const AHEAD_MS = 100;
/**
 * Shortest time in ms over which the rate is measured. With a shorter time, a few requests at the same moment would
 * look like a high rate.
 */
const LEAST_PACE_MS = 25;
/**
 * Smallest number of permits that are taken in advance. Fewer permits save too little, because unused permits must be
 * given back.
 */
const LEAST_AHEAD = 20;
/**
 * A process takes at most this fraction (1/8) of the minute's remaining requests in advance. So near the limit, no
 * process holds permits that other processes need.
 */
const PART_OF_LEFT = 8;
const MAX_BUCKETS = 10_000;

/** The last grant of permits to a bucket. Times are in ms of the caller's clock. */
interface Grant {
  readonly limits: RateLimits;
  readonly row: TakeRow;
  readonly askedAt: number;
  /**
   * The last moment at which the permits may be used: shortly before the end of the second that counts them. In a later
   * second, more entries of the log are older than the window.
   */
  readonly usableUntil: number;
  /** How many permits of the grant are used. */
  used: number;
  /** How many permits were used since the last query to the log. */
  usedSince: number;
}

/** Permits that were counted but not used. `countedAt` is the time of the log entry that counts them. */
export interface Unused {
  readonly bucket: string;
  readonly count: number;
  readonly countedAt: number;
}

/**
 * Permits for requests that have not arrived yet. Only buckets whose requests are counted by the second have such
 * permits. Under load, a process adds the expected requests of the next 100 ms to the log in advance. It then allows
 * these requests without a query. It uses the permits within the second that counts them, or gives them back, so the
 * limit holds. Until then, other processes count the permits as used. If a process dies, its permits stay counted until
 * their second is older than the window.
 */
export class PrepaidPermits {
  readonly #grants = new LRUCache<string, Grant>({ max: MAX_BUCKETS });

  /**
   * Uses a prepaid permit for exactly these limits and returns its verdict. Undefined if there is none. `nowMs` must
   * never decrease.
   */
  use(bucket: string, limits: RateLimits, nowMs: number): RateVerdict | undefined {
    const grant = this.#grants.get(bucket);
    if (!grant || grant.used >= grant.row.granted || nowMs > grant.usableUntil) return undefined;
    if (!isSameLimits(grant.limits, limits)) return undefined;
    grant.usedSince += 1;
    return verdict(grant.row, limits, grant.used++);
  }

  /** Returns how many permits to take in advance, besides those for the `asked` requests that are waiting. */
  ahead(bucket: string, limits: RateLimits, asked: number, nowMs: number): number {
    const grant = countsBySecond(limits) ? this.#grants.get(bucket) : undefined;
    if (!grant) return 0;
    const came = grant.usedSince + asked;
    if (came < LEAST_AHEAD) return 0;
    const expected = Math.floor((came * AHEAD_MS) / Math.max(nowMs - grant.askedAt, LEAST_PACE_MS));
    const most = Math.floor((limits.perMinute - grant.row.counted) / PART_OF_LEFT);
    const ahead = Math.min(expected, most);
    return ahead < LEAST_AHEAD ? 0 : ahead;
  }

  /**
   * Keeps the permits that the log granted beyond those for the `asked` waiting requests. `askedAt` is a time before
   * the query.
   */
  keep(row: TakeRow, limits: RateLimits, asked: number, askedAt: number): void {
    if (!countsBySecond(limits)) return;
    const usableUntil = askedAt + row.latest - row.now - 1;
    this.#grants.set(row.bucket, { limits, row, askedAt, usableUntil, used: asked, usedSince: 0 });
  }

  /** Removes the unused permits of these buckets and returns them. */
  takeUnused(buckets: readonly string[]): Unused[] {
    return buckets.flatMap((bucket) => {
      const grant = this.#grants.get(bucket);
      const count = grant ? grant.row.granted - grant.used : 0;
      if (!grant || count <= 0) return [];
      grant.used = grant.row.granted;
      return [{ bucket, count, countedAt: grant.row.latest }];
    });
  }
}

export function isSameLimits(a: RateLimits, b: RateLimits): boolean {
  return a.perMinute === b.perMinute && a.perSecond === b.perSecond;
}
