import type { User } from '../accounts/user.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { PersonMailJob } from '../ports/job-queue.ts';
import type { Tx } from '../ports/stores.ts';

/** A mail about a changed sign-in must not be sent later than this after the change, in ms. */
const NOTICE_MS = 24 * 3_600_000;

/**
 * Removes all second factors and recovery codes of a person. Ends the person's sessions and open challenges. Mails the
 * person, if a mail server is configured (R251). `after` is stored in the audit entry.
 */
export async function removeAllFactors(
  tx: Tx,
  deps: Pick<Dependencies, 'clock' | 'ids' | 'mailer'>,
  caller: Caller,
  user: User,
  after?: object,
): Promise<void> {
  const factors = await tx.secondFactors.lock(user.id);
  await tx.secondFactors.remove(factors.map(({ factor }) => factor.id));
  await tx.secondFactors.replaceRecoveryCodes(user.id, []);
  await endSessions(tx, user.id);
  await recordChange(tx, deps, caller, {
    accountId: user.accountId,
    action: 'secondFactor.reset',
    target: user.id,
    ...(after && { after }),
  });
  await mailNotice(tx, deps, 'factors_reset', user.id);
}

/**
 * Ends the person's sessions and open challenges, because they began with the old factors. The session with the hash
 * `keptHash` stays.
 */
export async function endSessions(tx: Tx, userId: string, keptHash?: Buffer): Promise<void> {
  await tx.sessions.removeOf(userId, keptHash);
  await tx.secondFactors.removeChallengesOf(userId);
  tx.announce('session', ALL_IDS);
}

/** Enqueues a mail that tells a person what changed in their sign-in. Does nothing if no mail server is configured. */
export async function mailNotice(
  tx: Tx,
  { clock, mailer }: Pick<Dependencies, 'clock' | 'mailer'>,
  kind: 'factors_reset' | 'password_reset',
  userId: string,
): Promise<void> {
  if (!mailer.isConfigured) return;
  const at = clock.now();
  const until = new Date(at.getTime() + NOTICE_MS).toISOString();
  const data: PersonMailJob = { kind, userId, at: at.toISOString(), until };
  await tx.jobs.enqueue([{ queue: 'person-mail', routeKey: 'person-mail', data }]);
}
