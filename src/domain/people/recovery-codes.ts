import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { hashRecoveryCode, newRecoveryCodes } from './second-factor.ts';

/** New recovery codes. They are shown only in this answer. */
export interface RecoveryCodes {
  readonly recoveryCodes: readonly string[];
}

/** Replaces the recovery codes of a person by ten new codes (R250). */
export async function issueRecoveryCodes(tx: Tx, ids: Ids, userId: string): Promise<RecoveryCodes> {
  const recoveryCodes = newRecoveryCodes(ids);
  await tx.secondFactors.replaceRecoveryCodes(userId, recoveryCodes.map(hashRecoveryCode));
  return { recoveryCodes };
}
