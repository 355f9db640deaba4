import type { Channel } from './message.ts';

/**
 * Delays in milliseconds between submissions (R23). `firstMs` has the delays after the first failed submissions. After
 * these, the last delay doubles each time, up to `ceilingMs`.
 */
const SCHEDULES: Readonly<Record<Channel, { firstMs: readonly number[]; ceilingMs: number }>> = {
  sms: { firstMs: [1_000], ceilingMs: 300_000 },
  email: { firstMs: [10_000, 30_000, 120_000], ceilingMs: 4 * 3_600_000 },
  push: { firstMs: [1_000], ceilingMs: 300_000 },
  whatsapp: { firstMs: [1_000], ceilingMs: 300_000 },
};

/**
 * Largest delay in ms if an earlier submission may have arrived. So a carrier that works again gets the next submission
 * within this time.
 */
const UNKNOWN_CEILING_MS = 3_600_000;

/**
 * Returns the delay in milliseconds before the next submission. `attempt` is the number, from 0, of the submission that
 * found the provider unavailable. With `possiblySent`, each retry may duplicate the message, so the delay doubles up to
 * a higher ceiling.
 */
export function retryDelayMs(channel: Channel, attempt: number, possiblySent = false): number {
  const { firstMs, ceilingMs } = SCHEDULES[channel];
  const firstDelayMs = firstMs[attempt];
  if (firstDelayMs !== undefined) return firstDelayMs;
  const last = firstMs[firstMs.length - 1] ?? 1_000;
  const most = possiblySent ? Math.max(ceilingMs, UNKNOWN_CEILING_MS) : ceilingMs;
  return Math.min(most, last * 2 ** Math.min(30, attempt - firstMs.length + 1));
}
