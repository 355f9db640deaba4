import { actorOf, type Caller } from '../caller.ts';
import type { Tx } from '../ports/stores.ts';
import type { Clock, Ids } from '../ports/system.ts';

/**
 * Actions that change how people sign in, and exports. Their audit entries also hold the IP address and the device of
 * the request.
 */
const FROM_WHERE =
  /^(secondFactor|session|accessToken|operator|operatorReset)\.|^member\.(invite|accept)$|^account\.(setSecurityPolicy|startExport|.*SingleSignOn.*)$|^recipient\.(erase|export)$/;

/**
 * Appends the audit entry of a change, in the same transaction as the change, and announces it to the account's live
 * subscriptions. For an export and a change of how people sign in, the entry also has the IP address and the device of the request
 * (R303). Returns the id of the entry.
 */
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
): Promise<string> {
  const from = 'from' in caller && FROM_WHERE.test(change.action) ? caller.from : undefined;
  const after = from === undefined ? change.after : { ...change.after, ...from };
  const { accountId } = change;
  const id = system.ids.uuid();
  await tx.audit.append({
    id,
    accountId,
    at: system.clock.now(),
    actor: actorOf(caller),
    action: change.action,
    target: change.target,
    before: change.before ? { ...change.before } : null,
    after: after ? { ...after } : null,
  });
  if (accountId !== null) tx.announceLive('audit', [{ accountId, id }]);
  return id;
}
