/** Functions that all push providers use. */

import type { ProviderOutcome, PushSubmission } from '../../domain/ports/provider.ts';

export type Unavailable = ProviderOutcome & { kind: 'unavailable' };

/**
 * Returns the outcome of a message that may be retried. `definitelyNotSent` means that the provider certainly did not
 * get it.
 */
export function unavailable(reason: string, definitelyNotSent: boolean, retryAfterMs?: number): Unavailable {
  return {
    kind: 'unavailable',
    asked: true,
    reason,
    ...(definitelyNotSent ? { definitelyNotSent } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Returns the outcome of a message about which nobody asked the provider. It may be retried. */
export function unasked(reason: string): Unavailable {
  return { ...unavailable(reason, true), asked: false };
}

/** Returns the number of seconds for which the platform may still keep the message. Undefined if there is no limit. */
export function secondsToKeep(submission: PushSubmission, nowMs: number): number | undefined {
  if (submission.keepUntil === undefined) return undefined;
  return Math.max(0, Math.round((submission.keepUntil.getTime() - nowMs) / 1000));
}
