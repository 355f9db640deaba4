import type { Caller } from '../caller.ts';
import { forbidden, unauthorized } from '../errors.ts';
import type { Tx } from '../ports/stores.ts';

/**
 * Reads in the transaction what a member may do by now: a process that has not heard of a removal or another role yet
 * must not let them give on what they no longer have. Throws `unauthorized` or `forbidden`.
 */
export async function refuseStaleRole(tx: Tx, caller: Caller): Promise<void> {
  if (caller.kind !== 'member') return;
  const standing = await tx.users.standing(caller.userId);
  if (standing === 'removed') throw unauthorized('Sign in again.');
  if (standing && standing !== caller.role) throw forbidden('Your role has changed. Ask again.');
}
