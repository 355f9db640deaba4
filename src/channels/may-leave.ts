import type { Submission } from '../domain/ports/provider.ts';

/** Why a submission did not leave. If the recipient was suppressed, the worker says so in its place. */
export const MAY_NOT_LEAVE = 'it is not known whether the recipient may still get the message';

/**
 * True if the message may still leave to its recipient (R557). Call it after the wait for a connection or a place in the
 * window.
 */
export async function mayLeave({ to, stillAllowed }: Submission): Promise<boolean> {
  return stillAllowed === undefined || (await stillAllowed([to]))?.length === 1;
}
