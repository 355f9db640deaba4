import type { Caller } from '../caller.ts';
import { forbidden, unauthorized } from '../errors.ts';
import type { Tx } from '../ports/stores.ts';

/**
 * Reads a member's role again within the transaction. The member may have been removed or have another role, and this
 * process may not have learned it yet. Without this check, members could grant rights that they have lost. Throws
 * `unauthorized` or `forbidden`.
 */
export async function refuseStaleRole(tx: Tx, caller: Caller): Promise<void> {
  if (caller.kind !== 'member') return;
  const roleOf = await tx.users.roleOf(caller.userId);
  if (roleOf === 'removed') throw unauthorized('Sign in again.');
  if (roleOf && roleOf !== caller.role) throw forbidden('Your role has changed. Ask again.');
}
