/**
 * Times are counted in buckets that grow with them: four for each doubling, from 1 ms. A time read off a bucket is at
 * most 9 % from the true one.
 */
const PER_DOUBLING = 4;

/** The bucket of a time. `latency_bucket` (migrations) is the same in SQL. */
export function latencyBucket(latencyMs: number): number {
  return Math.floor((PER_DOUBLING * Math.log(Math.max(latencyMs, 1))) / Math.log(2));
}

/** Number of recipients in each bucket. */
export type Histogram = ReadonlyMap<number, number>;

/** The time in ms that `share` of the recipients did not exceed; null without recipients. */
export function percentileMs(histogram: Histogram, share: number): number | null {
  const total = [...histogram.values()].reduce((sum, count) => sum + count, 0);
  let through = 0;
  for (const [bucket, count] of [...histogram].sort(([left], [right]) => left - right)) {
    through += count;
    if (through >= total * share) return Math.round(2 ** ((bucket + 0.5) / PER_DOUBLING));
  }
  return null;
}
