import { recordChange } from '../audit/record-change.ts';
import type { SystemCaller } from '../caller.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { UnitOfWork } from '../ports/stores.ts';
import type { Clock, Ids } from '../ports/system.ts';
import { type Hold, reasonToHold } from './hold.ts';

const START: SystemCaller = { kind: 'system', name: 'start' };

/**
 * Runs when the process starts. Finds out whether this copy of the data was restored or copied, and then holds it
 * (R230). Records the place of a new database. Returns the hold in force.
 */
export function settleCopy(
  uow: UnitOfWork,
  system: { readonly clock: Clock; readonly ids: Ids },
  isAsked: boolean,
): Promise<Hold | undefined> {
  return uow.run(async (tx) => {
    const state = await tx.copy.lock();
    const { known, found, hold } = state;
    if (hold) return hold;
    const reason = reasonToHold(state, isAsked);
    if (reason === undefined) {
      const isNew = known.systemIdentifier === null || known.databaseOid === null;
      if (isNew) await tx.copy.settle(found);
      return undefined;
    }
    await tx.copy.hold(reason, found);
    await recordChange(tx, system, START, {
      accountId: null,
      action: 'recovery.hold',
      target: 'gateway',
      after: { reason },
    });
    tx.announce('hold', ALL_IDS);
    return (await tx.copy.read()).hold;
  });
}
