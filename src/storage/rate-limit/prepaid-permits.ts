import { LRUCache } from 'lru-cache';
import type { RateLimits, RateVerdict } from '../../domain/ports/rate-limiter.ts';
import { countsBySecond, type TakeRow, verdict } from './rate-log.ts';

/** For how long permits taken in advance should last, as the bucket's requests have come lately. */
const AHEAD_MS = 100;
/** A pace is reckoned over no less than this: a few that come together are none. */
const LEAST_PACE_MS = 25;
/** Where fewer come, none are worth that some may have to be given back. */
const LEAST_AHEAD = 20;
/** Of what is left in the minute at most this part is taken in advance: near the limit nobody holds anything. */
const PART_OF_LEFT = 8;
const MAX_BUCKETS = 10_000;

/** What the log granted a bucket when it was last asked; times in ms of the clock that the caller hands in. */
interface Grant {
  readonly limits: RateLimits;
  readonly row: TakeRow;
  readonly askedAt: number;
  /** Up to the last millisecond of the second that counts them: in it another second's leave the window. */
  readonly usableUntil: number;
  /** How many of the granted have been used. */
  used: number;
  /** How many were used in advance of the next time that the log is asked. */
  usedSince: number;
}

/** Requests that were counted and did not take place, and the time of the entry that counts them. */
export interface Unused {
  readonly bucket: string;
  readonly count: number;
  readonly countedAt: number;
}

/**
 * Permits in advance: of a bucket whose requests are counted by the second, a process under load has the log count
 * the requests of the next tenth of a second before they come, and then lets them through without asking. They are
 * used in the second that counts them or given back, so the limit holds; another process may see up to so many fewer
 * left. What a process held when it died stays counted until its second has left the window.
 */
export class PrepaidPermits {
  readonly #grants = new LRUCache<string, Grant>({ max: MAX_BUCKETS });

  /** Uses a permit that was taken in advance under just these limits, if there is one; `nowMs` only goes forward. */
  use(bucket: string, limits: RateLimits, nowMs: number): RateVerdict | undefined {
    const grant = this.#grants.get(bucket);
    if (!grant || grant.used >= grant.row.granted || nowMs > grant.usableUntil) return undefined;
    if (!isSameLimits(grant.limits, limits)) return undefined;
    grant.usedSince += 1;
    return verdict(grant.row, limits, grant.used++);
  }

  /** How many to take in advance, beside the `asked` requests that are there. */
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

  /** Keeps what the log granted beyond the `asked` requests; `askedAt` is a time before the log was asked. */
  keep(row: TakeRow, limits: RateLimits, asked: number, askedAt: number): void {
    if (!countsBySecond(limits)) return;
    const usableUntil = askedAt + row.latest - row.now - 1;
    this.#grants.set(row.bucket, { limits, row, askedAt, usableUntil, used: asked, usedSince: 0 });
  }

  /** Takes away what is left of these buckets' permits. */
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
