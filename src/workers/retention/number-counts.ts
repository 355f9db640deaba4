import type { SendLimitStore } from '../../domain/ports/send-limit-store.ts';
import type { Clock } from '../../domain/ports/system.ts';

/**
 * Age in ms at which counts of messages to a number are deleted. Only the current hour matters, and a day is more than
 * clocks may differ.
 */
const KEPT_MS = 24 * 3_600_000;

/**
 * Deletes the counts of messages to phone numbers that are older than a day (R371). Returns the number of deleted rows.
 */
export function forgetNumberCounts(
  limits: Pick<SendLimitStore, 'forgetNumbers'>,
  clock: Clock,
): Promise<number> {
  return limits.forgetNumbers(new Date(clock.now().getTime() - KEPT_MS));
}
