import type { Stores } from '../../domain/ports/stores.ts';
import type { Clock } from '../../domain/ports/system.ts';

/**
 * Age in ms at which counts of messages to a number are deleted. Only the current hour matters, and a day is more than
 * clocks may differ.
 */
const KEPT_MS = 24 * 3_600_000;

/**
 * Deletes the counts of messages to phone numbers that are older than a day (R371, R392). Returns the number of deleted rows.
 */
export async function forgetNumberCounts(
  stores: Pick<Stores, 'sendLimits' | 'held'>,
  clock: Clock,
): Promise<number> {
  const before = new Date(clock.now().getTime() - KEPT_MS);
  return (await stores.sendLimits.forgetNumbers(before)) + (await stores.held.forgetNumbers(before));
}
