import type { RequestStore } from '../../domain/ports/request-store.ts';
import type { Clock } from '../../domain/ports/system.ts';
import { FULL_BODIES_HOURS, REQUESTS_DAYS } from '../../domain/requests/api-request.ts';

const HOUR_MS = 3_600_000;
/**
 * Number of rows that one statement changes, and number of statements in one round. A statement changes few rows, so
 * that it holds its locks briefly.
 */
const BATCH = 500;
const BATCHES = 100;

/** Deletes requests that are older than 7 days, and erases whole bodies that are older than a day (R415, R416). */
export async function forgetOldRequests(
  requests: Pick<RequestStore, 'forget' | 'eraseFullBodies'>,
  clock: Clock,
): Promise<void> {
  const hoursAgo = (hours: number) => new Date(clock.now().getTime() - hours * HOUR_MS);
  for (const step of [
    () => requests.eraseFullBodies(hoursAgo(FULL_BODIES_HOURS), BATCH),
    () => requests.forget(hoursAgo(REQUESTS_DAYS * 24), BATCH),
  ]) {
    for (let left = BATCHES; left > 0 && (await step()) === BATCH; left--);
  }
}
