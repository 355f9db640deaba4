/** Requests of a bucket in any 60 seconds and in any second (0: unlimited). */
export interface RateLimits {
  readonly perMinute: number;
  readonly perSecond: number;
}

export interface RateVerdict {
  readonly isAllowed: boolean;
  /** Requests allowed per minute. */
  readonly limit: number;
  /** Requests left in the minute that ends now. */
  readonly remaining: number;
  /** Unix second at which the oldest counted request leaves the minute; the present second when none is counted. */
  readonly resetAt: number;
  /** Whole seconds, at least 1, until a request can pass; 0 when this one passed. */
  readonly retryAfterSeconds: number;
  /** The limit that refused the request. */
  readonly rule: 'minute' | 'second' | null;
}

/** The exact sliding window, shared by all processes (R12). Refused requests are not counted. */
export interface RateLimiter {
  take(bucket: string, limits: RateLimits): Promise<RateVerdict>;
  /** Removes the latest counted request, because another bucket refused it. */
  giveBack(bucket: string): Promise<void>;
  /** Deletes unused buckets. Returns how many. */
  sweep(): Promise<number>;
}
