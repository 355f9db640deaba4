import type { Channel } from './message.ts';

/** Pauses after the first unsuccessful hand-overs; after them the last one doubles up to the ceiling (R23). */
const SCHEDULES: Readonly<Record<Channel, { firstMs: readonly number[]; ceilingMs: number }>> = {
  sms: { firstMs: [1_000], ceilingMs: 300_000 },
  email: { firstMs: [10_000, 30_000, 120_000], ceilingMs: 4 * 3_600_000 },
  push: { firstMs: [1_000], ceilingMs: 300_000 },
  whatsapp: { firstMs: [1_000], ceilingMs: 300_000 },
};

/** The least ceiling where the hand-over may have arrived: a carrier that is back is found so late at the latest. */
const UNKNOWN_CEILING_MS = 3_600_000;

/**
 * Milliseconds to wait after the hand-over number `attempt` (from 0) that found the provider unavailable. `mayHaveLeft`:
 * each further try may be one message more for its recipient, so the pause goes on doubling.
 */
export function retryDelayMs(channel: Channel, attempt: number, mayHaveLeft = false): number {
  const { firstMs, ceilingMs } = SCHEDULES[channel];
  const known = firstMs[attempt];
  if (known !== undefined) return known;
  const last = firstMs[firstMs.length - 1] ?? 1_000;
  const most = mayHaveLeft ? Math.max(ceilingMs, UNKNOWN_CEILING_MS) : ceilingMs;
  return Math.min(most, last * 2 ** Math.min(30, attempt - firstMs.length + 1));
}
