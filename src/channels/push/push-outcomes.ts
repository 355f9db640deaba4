/** What the push providers share. */

import type { PushSubmission, SubmitOutcome } from '../../domain/ports/provider.ts';

export type Unavailable = SubmitOutcome & { kind: 'unavailable' };

/** Not now. `definitelyNotSent`: the provider has nothing of it. */
export function unavailable(reason: string, definitelyNotSent: boolean, retryAfterMs?: number): Unavailable {
  return {
    kind: 'unavailable',
    reason,
    ...(definitelyNotSent ? { definitelyNotSent } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Whole seconds that the platform may still keep the message. Undefined: no limit. */
export function secondsToKeep(submission: PushSubmission, nowMs: number): number | undefined {
  if (submission.keepUntil === undefined) return undefined;
  return Math.max(0, Math.round((submission.keepUntil.getTime() - nowMs) / 1000));
}
