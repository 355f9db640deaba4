import type { Caller } from '../caller.ts';
import { forbidden, unauthorized } from '../errors.ts';
import type { Tx } from '../ports/stores.ts';

/**
 * Reads a member's role again in the transaction. A process may not know yet that the member was removed or has
 * another role, and must not let them grant what they lost. Throws `unauthorized` or `forbidden`.
 */
export async function refuseStaleRole(tx: Tx, caller: Caller): Promise<void> {
  if (caller.kind !== 'member') return;
  const roleOf = await tx.users.roleOf(caller.userId);
  if (roleOf === 'removed') throw unauthorized('Sign in again.');
  if (roleOf && roleOf !== caller.role) throw forbidden('Your role has changed. Ask again.');
}
