import type { SendLimitStore } from '../../domain/ports/send-limit-store.ts';
import type { Clock } from '../../domain/ports/system.ts';

/** Counts of messages to a number matter in their hour only. A day leaves room for clocks that differ. */
const KEPT_MS = 24 * 3_600_000;

/** Deletes the counts of messages to phone numbers of past hours (R371). Returns the number of deleted rows. */
export function forgetNumberCounts(
  limits: Pick<SendLimitStore, 'forgetNumbers'>,
  clock: Clock,
): Promise<number> {
  return limits.forgetNumbers(new Date(clock.now().getTime() - KEPT_MS));
}
