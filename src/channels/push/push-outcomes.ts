/** Functions that all push providers use. */

import type { PushSubmission, SubmitOutcome } from '../../domain/ports/provider.ts';

export type Unavailable = SubmitOutcome & { kind: 'unavailable' };

/**
 * Returns the outcome of a message that may be retried. `definitelyNotSent` means that the provider certainly did not
 * get it.
 */
export function unavailable(reason: string, definitelyNotSent: boolean, retryAfterMs?: number): Unavailable {
  return {
    kind: 'unavailable',
    reason,
    ...(definitelyNotSent ? { definitelyNotSent } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Returns the number of seconds for which the platform may still keep the message. Undefined if there is no limit. */
export function secondsToKeep(submission: PushSubmission, nowMs: number): number | undefined {
  if (submission.keepUntil === undefined) return undefined;
  return Math.max(0, Math.round((submission.keepUntil.getTime() - nowMs) / 1000));
}
