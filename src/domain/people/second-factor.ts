/**
 * A **second factor** is what a person shows besides the password: a **TOTP** app, which makes a code of six digits every
 * 30 seconds. A factor counts once a code of it was shown (`confirmedAt`). **Recovery codes** stand in for a lost
 * factor, each once. A code is never taken twice.
 */
import { createHash } from 'node:crypto';
import type { User } from '../accounts/user.ts';
import type { Ids } from '../ports/system.ts';

export interface SecondFactor {
  readonly id: string;
  readonly userId: string;
  readonly kind: 'totp';
  readonly name: string;
  readonly createdAt: Date;
  readonly confirmedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** Factors of a person, so that a check reads a bounded number. */
export const FACTORS_MAX = 5;
const RECOVERY_CODES = 10;
/** 80 random bits, which nobody guesses from the hash. */
const RECOVERY_CODE_BYTES = 10;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Who must have a second factor, by the operator's policy (REQUIRE_SECOND_FACTOR). */
export type SecondFactorPolicy = 'operators' | 'members' | 'none';

/** Whether a person must have a second factor: by the operator's policy, or by that of their account. */
export function mustHaveFactor(
  { role }: Pick<User, 'role'>,
  policy: SecondFactorPolicy,
  accountRequires: boolean,
): boolean {
  if (accountRequires || policy === 'members') return true;
  return policy === 'operators' && role === 'OPERATOR';
}

/** Ten new recovery codes, such as `k7mq-2xwd-9prt-h3vn`. */
export function newRecoveryCodes(ids: Ids): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    let bits = BigInt(`0x${ids.random(RECOVERY_CODE_BYTES).toString('hex')}`);
    let code = '';
    for (let index = 0; index < 16; index += 1) {
      code += ALPHABET[Number(bits % 32n)];
      bits /= 32n;
    }
    return code.replace(/(.{4})(?=.)/g, '$1-');
  });
}

/** What is stored of a recovery code: spaces, hyphens and capitals make no difference. */
export function hashRecoveryCode(code: string): Buffer {
  return createHash('sha256').update(bare(code)).digest();
}

/** A code without spaces and hyphens, in small letters. */
export function bare(code: string): string {
  return code.slice(0, 100).replaceAll(/[\s-]/g, '').toLowerCase();
}
