/** Number of buckets above which those whose minute has ended are removed. */
const BUCKETS_MAX = 10_000;
const MINUTE_MS = 60_000;

/** The answer to a request for some units of a bucket, and the units that are left until `resetAt`. */
interface LocalVerdict {
  readonly isAllowed: boolean;
  readonly remaining: number;
  readonly resetAt: Date;
  /** Whole seconds, at least 1, until the end of the minute. */
  readonly retryAfterSeconds: number;
}

/**
 * Budgets of this process alone, for the time without a primary: the counts that all processes share are there (R520).
 * The minute of a bucket begins with its first unit.
 */
export class LocalCounts {
  readonly #minutes = new Map<string, { used: number; readonly until: number }>();

  /** Takes `units` of the bucket, or none if they do not fit into `perMinute`. */
  take(bucket: string, perMinute: number, units: number, now: Date): LocalVerdict {
    const at = now.getTime();
    const known = this.#minutes.get(bucket);
    const minute = known && known.until > at ? known : { used: 0, until: at + MINUTE_MS };
    const isAllowed = minute.used + units <= perMinute;
    if (isAllowed) minute.used += units;
    if (minute !== known) this.#keep(bucket, minute, at);
    return {
      isAllowed,
      remaining: Math.max(0, perMinute - minute.used),
      resetAt: new Date(minute.until),
      retryAfterSeconds: Math.max(1, Math.ceil((minute.until - at) / 1_000)),
    };
  }

  #keep(bucket: string, minute: { used: number; readonly until: number }, at: number): void {
    this.#minutes.set(bucket, minute);
    if (this.#minutes.size <= BUCKETS_MAX) return;
    for (const [name, { until }] of this.#minutes) if (until <= at) this.#minutes.delete(name);
  }
}
