/** What the push providers have in common: the words of their outcomes, and how long a message may be kept. */

import type { PushSubmission, SubmitOutcome } from '../../domain/ports/provider.ts';

export type Unavailable = SubmitOutcome & { kind: 'unavailable' };

/** Not now. `definitelyNotSent`: the provider has nothing of it, for certain. */
export function unavailable(reason: string, definitelyNotSent: boolean, retryAfterMs?: number): Unavailable {
  return {
    kind: 'unavailable',
    reason,
    ...(definitelyNotSent ? { definitelyNotSent } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Whole seconds that the platform may still keep the message; undefined when it is as long as it likes. */
export function secondsToKeep(submission: PushSubmission, nowMs: number): number | undefined {
  if (submission.keepUntil === undefined) return undefined;
  return Math.max(0, Math.round((submission.keepUntil.getTime() - nowMs) / 1000));
}
