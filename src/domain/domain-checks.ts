import { DomainError } from './errors.ts';
import type { TxtRecords } from './ports/single-sign-on.ts';
import type { Clock } from './ports/system.ts';

/** Pause in ms between two checks of a domain's DNS record, and after a check that did not find it (R445, R534). */
export const DOMAIN_CHECK_EVERY_MS = 24 * 3_600_000;
const DOMAIN_CHECK_AGAIN_MS = 3_600_000;
/** Number of domains whose records are read at the same time. */
const CHECKED_AT_ONCE = 20;
/** A round begins no new checks after this time, in ms. A stopping process waits for the end of the round. */
const CHECKED_FOR_MS = 20_000;

/**
 * Checks the domains that are due. `take` returns at most `count` of them, and makes them due again at `again`, for the
 * case that the process ends meanwhile.
 */
export async function checkDueDomains<Due>(
  clock: Clock,
  take: (now: Date, again: Date, count: number) => Promise<readonly Due[]>,
  check: (due: Due) => Promise<void>,
): Promise<void> {
  const until = clock.now().getTime() + CHECKED_FOR_MS;
  let now = clock.now();
  do {
    const due = await take(now, new Date(now.getTime() + DOMAIN_CHECK_AGAIN_MS), CHECKED_AT_ONCE);
    if (due.length === 0) return;
    await Promise.all(due.map(check));
    now = clock.now();
  } while (now.getTime() < until);
}

/** Returns the TXT records of a name. Undefined if no name server answers. */
export async function recordsIfAnswered(
  records: TxtRecords,
  name: string,
): Promise<readonly string[] | undefined> {
  try {
    return await records.find(name);
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}
