import { LRUCache } from 'lru-cache';
import type { RateLimits, RateVerdict } from '../../domain/ports/rate-limiter.ts';
import { countsBySecond, type TakeRow, verdict } from './rate-log.ts';

/** Time that prepaid permits should last at the current rate, in ms. */
const AHEAD_MS = 100;
/** The rate is measured over at least this time, so that a few requests together do not count as a rate, in ms. */
const LEAST_PACE_MS = 25;
/** Fewer permits are not worth taking, because unused ones must be given back. */
const LEAST_AHEAD = 20;
/** At most this part of what is left in the minute is taken, so that nobody holds permits near the limit. */
const PART_OF_LEFT = 8;
const MAX_BUCKETS = 10_000;

/** The last grant of the log to a bucket; times in ms of the caller's clock. */
interface Grant {
  readonly limits: RateLimits;
  readonly row: TakeRow;
  readonly askedAt: number;
  /** Until the last millisecond of the second that counts them: in it, entries of another second leave the window. */
  readonly usableUntil: number;
  /** Used permits of the grant. */
  used: number;
  /** Permits used since the log was asked. */
  usedSince: number;
}

/** Requests that were counted but did not happen, and the time of the entry that counts them. */
export interface Unused {
  readonly bucket: string;
  readonly count: number;
  readonly countedAt: number;
}

/**
 * Prepaid permits: for a bucket that is counted by the second, a process under load has the log count the requests of
 * the next tenth of a second before they arrive, and then passes them without a query. Permits are used in the second
 * that counts them or given back, so the limit holds; meanwhile another process may see that many fewer left. Permits
 * of a process that died stay counted until their second has left the window.
 */
export class PrepaidPermits {
  readonly #grants = new LRUCache<string, Grant>({ max: MAX_BUCKETS });

  /** Uses a prepaid permit for exactly these limits, if there is one; `nowMs` never goes back. */
  use(bucket: string, limits: RateLimits, nowMs: number): RateVerdict | undefined {
    const grant = this.#grants.get(bucket);
    if (!grant || grant.used >= grant.row.granted || nowMs > grant.usableUntil) return undefined;
    if (!isSameLimits(grant.limits, limits)) return undefined;
    grant.usedSince += 1;
    return verdict(grant.row, limits, grant.used++);
  }

  /** How many permits to take besides the `asked` requests that are waiting. */
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

  /** Keeps the permits that the log granted beyond the `asked` requests; `askedAt` is a time before the query. */
  keep(row: TakeRow, limits: RateLimits, asked: number, askedAt: number): void {
    if (!countsBySecond(limits)) return;
    const usableUntil = askedAt + row.latest - row.now - 1;
    this.#grants.set(row.bucket, { limits, row, askedAt, usableUntil, used: asked, usedSince: 0 });
  }

  /** Removes and returns the unused permits of these buckets. */
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
