/** Largest number of requests of a bucket in any 60 seconds, and in any second. A `perSecond` of 0 is unlimited. */
export interface RateLimits {
  readonly perMinute: number;
  readonly perSecond: number;
}

export interface RateVerdict {
  readonly isAllowed: boolean;
  /** Number of requests allowed per minute. */
  readonly limit: number;
  /** Number of requests that are still allowed in the 60 seconds that end now. */
  readonly remaining: number;
  /** Unix second at which the oldest counted request is 60 seconds old. The present second if no request is counted. */
  readonly resetAt: number;
  /** Whole seconds, at least 1, until a request is allowed. 0 if this request was allowed. */
  readonly retryAfterSeconds: number;
  /** The limit that refused the request. */
  readonly rule: 'minute' | 'second' | null;
}

/** An exact sliding window, shared by all processes (R12). Refused requests are not counted. */
export interface RateLimiter {
  take(bucket: string, limits: RateLimits): Promise<RateVerdict>;
  /** Removes the latest counted request from the bucket. Called if another bucket refused the request. */
  giveBack(bucket: string): Promise<void>;
  /** Deletes unused buckets. Returns the number. */
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
