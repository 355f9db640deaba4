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

/** Counts requests in an exact sliding window that all processes share (R12). Refused requests are not counted. */
export interface RateLimiter {
  take(bucket: string, limits: RateLimits): Promise<RateVerdict>;
  /** Removes the newest counted request from the bucket. Called if another bucket refused the same request. */
  giveBack(bucket: string): Promise<void>;
  /** Deletes unused buckets. Returns the number. */
  sweep(): Promise<number>;
}

/**
 * The answer to a request for points, and the points that the bucket has left. Points measure the cost of a GraphQL
 * query.
 */
export interface PointVerdict {
  readonly isAllowed: boolean;
  /** Number of points left in the current minute. */
  readonly remaining: number;
  /** End of the current minute. From then on all points are available again. */
  readonly resetAt: Date;
  /** Whole seconds, at least 1, until the end of the minute. */
  readonly retryAfterSeconds: number;
}

/**
 * A budget of points per minute for each bucket (R280), shared by all processes. The minute of a bucket begins with its
 * first query. Refused points are not counted.
 */
export interface PointBudget {
  /** Takes all of `points`, or none if they do not fit. 0 points always fit. */
  take(bucket: string, perMinute: number, points: number): Promise<PointVerdict>;
  /**
   * Gives back points of an earlier `take` that the query did not use. They are stored with the next call for the
   * bucket, or within a second.
   */
  giveBack(bucket: string, verdict: PointVerdict, points: number): void;
  /** Deletes unused buckets. Returns the number. */
  sweep(): Promise<number>;
}
