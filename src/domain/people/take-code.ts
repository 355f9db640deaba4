import type { Tx } from '../ports/stores.ts';
import type { Clock, SecretBox, Totp } from '../ports/system.ts';
import { bare, hashRecoveryCode } from './second-factor.ts';

/**
 * Checks a code of a confirmed TOTP app, or a recovery code, and marks it as used. Returns undefined for a wrong or
 * used code. Locks the person's factors, so that concurrent requests cannot use the same code twice.
 */
export async function takeCode(
  tx: Tx,
  { totp, secrets, clock }: { totp: Totp; secrets: SecretBox; clock: Clock },
  userId: string,
  code: string,
): Promise<'totp' | 'recovery_code' | undefined> {
  const now = clock.now();
  const factors = await tx.secondFactors.lock(userId);
  const digits = bare(code);
  if (/^\d{6}$/.test(digits)) {
    for (const { factor, secretSealed, lastStep } of factors) {
      if (factor.confirmedAt === null || secretSealed === null) continue;
      const step = totp.stepOf(secrets.open(secretSealed), digits, now, lastStep);
      if (step === undefined) continue;
      await tx.secondFactors.recordUse(factor.id, step, now);
      return 'totp';
    }
    return undefined;
  }
  const isTaken = await tx.secondFactors.takeRecoveryCode(userId, hashRecoveryCode(code), now);
  return isTaken ? 'recovery_code' : undefined;
}
