import type { Channel } from './message.ts';

/** Delays after the first failed submissions. After them the last delay doubles up to the ceiling (R23). */
const SCHEDULES: Readonly<Record<Channel, { firstMs: readonly number[]; ceilingMs: number }>> = {
  sms: { firstMs: [1_000], ceilingMs: 300_000 },
  email: { firstMs: [10_000, 30_000, 120_000], ceilingMs: 4 * 3_600_000 },
  push: { firstMs: [1_000], ceilingMs: 300_000 },
  whatsapp: { firstMs: [1_000], ceilingMs: 300_000 },
};

/** Ceiling where a submission may have arrived. A carrier that works again is retried within this time. */
const UNKNOWN_CEILING_MS = 3_600_000;

/**
 * Delay in milliseconds after submission number `attempt` (from 0), which found the provider unavailable. With
 * `possiblySent` each retry may duplicate the message, so the delay keeps doubling up to a higher ceiling.
 */
export function retryDelayMs(channel: Channel, attempt: number, possiblySent = false): number {
  const { firstMs, ceilingMs } = SCHEDULES[channel];
  const firstDelayMs = firstMs[attempt];
  if (firstDelayMs !== undefined) return firstDelayMs;
  const last = firstMs[firstMs.length - 1] ?? 1_000;
  const most = possiblySent ? Math.max(ceilingMs, UNKNOWN_CEILING_MS) : ceilingMs;
  return Math.min(most, last * 2 ** Math.min(30, attempt - firstMs.length + 1));
}
