/**
 * Times are counted in a histogram. The width of its buckets grows: four buckets for each doubling, from 1 ms. A time
 * that is computed from the histogram differs by at most 9 % from the true time.
 */
const PER_DOUBLING = 4;

/** Returns the number of the histogram bucket for a time. `latency_bucket` (migrations) computes the same in SQL. */
export function latencyBucket(latencyMs: number): number {
  return Math.floor((PER_DOUBLING * Math.log(Math.max(latencyMs, 1))) / Math.log(2));
}

/** Number of recipients in each bucket. */
export type Histogram = ReadonlyMap<number, number>;

/**
 * Returns the time in ms that the fraction `share` of the recipients did not exceed. Null if there are no recipients.
 */
export function percentileMs(histogram: Histogram, share: number): number | null {
  const total = [...histogram.values()].reduce((sum, count) => sum + count, 0);
  let through = 0;
  for (const [bucket, count] of [...histogram].sort(([left], [right]) => left - right)) {
    through += count;
    if (through >= total * share) return Math.round(2 ** ((bucket + 0.5) / PER_DOUBLING));
  }
  return null;
}
