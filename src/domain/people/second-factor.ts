/**
 * A **second factor** proves a person's identity in addition to the password. A **TOTP** app shows a code of six digits
 * that changes every 30 seconds. A **passkey** (WebAuthn) signs a challenge after it has verified the person. An app
 * becomes a factor when one of its codes is entered (`confirmedAt`). **Recovery codes** replace a lost factor, each
 * once. No code is accepted twice.
 */
import { createHash } from 'node:crypto';
import type { User } from '../accounts/user.ts';
import type { Ids } from '../ports/system.ts';

export interface SecondFactor {
  readonly id: string;
  readonly userId: string;
  readonly kind: 'totp' | 'passkey';
  readonly name: string;
  readonly createdAt: Date;
  readonly confirmedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** Lifetime of a challenge, in milliseconds. */
export const CHALLENGE_MS = 5 * 60_000;
/** Largest number of factors of a person. It limits the cost of checking a code. */
export const FACTORS_MAX = 5;
const RECOVERY_CODES = 10;
/** Length of a recovery code in random bytes: 80 bits. Nobody can find a code from its hash by guessing. */
const RECOVERY_CODE_BYTES = 10;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Who must have a second factor (REQUIRE_SECOND_FACTOR). */
export type SecondFactorPolicy = 'operators' | 'members' | 'none';

/** True if the operator's policy or the account's policy requires a second factor of a person. */
export function mustHaveFactor(
  { role }: Pick<User, 'role'>,
  policy: SecondFactorPolicy,
  accountRequires: boolean,
): boolean {
  if (accountRequires || policy === 'members') return true;
  return policy === 'operators' && (role === 'OPERATOR' || role === 'OPERATOR_READONLY');
}

/** Returns ten new recovery codes, such as `k7mq-2xwd-9prt-h3vn`. */
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

/** Returns the hash under which a recovery code is stored. It ignores spaces, hyphens and case. */
export function hashRecoveryCode(code: string): Buffer {
  return createHash('sha256').update(bare(code)).digest();
}

/** Returns a code in lower case, without spaces and hyphens. */
export function bare(code: string): string {
  return code.slice(0, 100).replaceAll(/[\s-]/g, '').toLowerCase();
}
