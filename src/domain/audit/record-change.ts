import { actorOf, type Caller } from '../caller.ts';
import type { Tx } from '../ports/stores.ts';
import type { Clock, Ids } from '../ports/system.ts';

/** Appends the audit entry of a change in the transaction of the change. */
export async function recordChange(
  tx: Tx,
  system: { clock: Clock; ids: Ids },
  caller: Caller,
  change: {
    accountId: string | null;
    action: string;
    target: string;
    before?: object;
    after?: object;
  },
): Promise<void> {
  await tx.audit.append({
    id: system.ids.uuid(),
    accountId: change.accountId,
    at: system.clock.now(),
    actor: actorOf(caller),
    action: change.action,
    target: change.target,
    before: change.before ? { ...change.before } : null,
    after: change.after ? { ...change.after } : null,
  });
}
