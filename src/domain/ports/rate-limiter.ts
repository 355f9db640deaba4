/** How many requests a bucket may make: in any 60 seconds, and in any second (0: no such rule). */
export interface RateLimits {
  readonly perMinute: number;
  readonly perSecond: number;
}

export interface RateVerdict {
  readonly isAllowed: boolean;
  /** Requests allowed a minute. */
  readonly limit: number;
  /** Requests left in the minute that ends now. */
  readonly remaining: number;
  /** Unix second at which the oldest counted request leaves the minute; now's second when none is counted. */
  readonly resetAt: number;
  /** Whole seconds, at least 1, until a request can pass again; 0 when this one passed. */
  readonly retryAfterSeconds: number;
  /** The rule that refused. */
  readonly rule: 'minute' | 'second' | null;
}

/** The exact sliding log, shared by all processes (R12). A refused request is not counted. */
export interface RateLimiter {
  take(bucket: string, limits: RateLimits): Promise<RateVerdict>;
  /** Takes back the latest request that was counted: it did not take place, since another bucket refused it. */
  giveBack(bucket: string): Promise<void>;
  /** Forgets buckets that nobody uses; how many. */
  sweep(): Promise<number>;
}
