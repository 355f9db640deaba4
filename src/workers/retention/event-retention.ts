import type { Clock } from '../../domain/ports/system.ts';
import type { EventStore } from '../../domain/ports/webhook-stores.ts';

/** Events are kept for this time, in ms (R33). */
const EVENT_RETENTION_MS = 30 * 24 * 3_600_000;
/** Number of events in one transaction. It is small, so that locks are held briefly. */
const BATCH = 500;

/** Deletes events that are older than 30 days, with their webhook deliveries. Returns the number of deleted events. */
export async function forgetOldEvents(
  events: Pick<EventStore, 'forgetBefore'>,
  clock: Clock,
): Promise<number> {
  let forgotten = 0;
  let last = BATCH;
  while (last === BATCH) {
    last = await events.forgetBefore(new Date(clock.now().getTime() - EVENT_RETENTION_MS), BATCH);
    forgotten += last;
  }
  return forgotten;
}
