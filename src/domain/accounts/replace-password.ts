import type { Dependencies } from '../dependencies.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { Tx } from '../ports/stores.ts';

/**
 * Stores another password of a person. Ends the person's challenges, mail links and sessions, except the session with
 * the hash `keptSession`. Without `keptSession` the password is being reset, and the old password may have been stolen.
 * Then this function also revokes the person's access tokens (R254). If `knownHash` is given and is not the stored hash
 * any more, returns false and changes nothing. So the later of two concurrent changes fails.
 */
export async function replacePassword(
  tx: Tx,
  { clock }: Pick<Dependencies, 'clock'>,
  userId: string,
  password: { readonly hash: string; readonly isOneTime: boolean },
  { knownHash, keptSession }: { readonly knownHash?: string; readonly keptSession?: Buffer } = {},
): Promise<boolean> {
  const isChanged = await tx.users.setPassword(userId, { ...password, at: clock.now() }, knownHash);
  if (!isChanged) return false;
  await tx.secondFactors.removeChallengesOf(userId);
  await tx.sessions.removeOf(userId, keptSession);
  if (!keptSession) await tx.accessTokens.revokeAllOf(userId, clock.now());
  tx.announce('session', ALL_IDS);
  return true;
}
