/**
 * Times are counted in classes whose width grows with the time: four classes for each doubling, from 1 ms. A time that
 * is computed from the classes is at most 9 % from the true one.
 */
const PER_DOUBLING = 4;

/** Returns the number of the class that a time belongs to. `latency_bucket` (migrations) computes the same in SQL. */
export function latencyBucket(latencyMs: number): number {
  return Math.floor((PER_DOUBLING * Math.log(Math.max(latencyMs, 1))) / Math.log(2));
}

/** Number of recipients in each class. */
export type Histogram = ReadonlyMap<number, number>;

/** Returns the time in ms that a share of the recipients did not exceed; null if there are no recipients. */
export function percentileMs(histogram: Histogram, share: number): number | null {
  const total = [...histogram.values()].reduce((sum, count) => sum + count, 0);
  let through = 0;
  for (const [bucket, count] of [...histogram].sort(([left], [right]) => left - right)) {
    through += count;
    if (through >= total * share) return Math.round(2 ** ((bucket + 0.5) / PER_DOUBLING));
  }
  return null;
}
