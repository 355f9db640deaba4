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

/** What a bucket has left of its points after a query took some. */
export interface PointVerdict {
  readonly isAllowed: boolean;
  /** Points left in the minute. */
  readonly remaining: number;
  /** End of the minute, when all points are back. */
  readonly resetAt: Date;
  /** Whole seconds, at least 1, until then. */
  readonly retryAfterSeconds: number;
}

/**
 * Points for each minute of a bucket (R280), shared by all processes. A minute begins with its first query. Refused
 * points are not counted.
 */
export interface PointBudget {
  /** Takes all of `points` or none. 0 points are always granted. */
  take(bucket: string, perMinute: number, points: number): Promise<PointVerdict>;
  /** Gives back points of a `take` that were not used, with the next question about the bucket or within a second. */
  giveBack(bucket: string, verdict: PointVerdict, points: number): void;
  /** Deletes unused buckets. Returns how many. */
  sweep(): Promise<number>;
}
