/**
 * A **second factor** proves a person's identity besides the password: a **TOTP** app makes a code of six digits
 * every 30 seconds, and a **passkey** (WebAuthn) signs a challenge after it has verified the person. An app counts once a
 * code of it was entered (`confirmedAt`). **Recovery codes** replace a lost factor, each once. No code is accepted twice.
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

/** Lifetime of a challenge. */
export const CHALLENGE_MS = 5 * 60_000;
/** Factors of a person, which bounds the cost of a check. */
export const FACTORS_MAX = 5;
const RECOVERY_CODES = 10;
/** 80 random bits, which cannot be guessed from the hash. */
const RECOVERY_CODE_BYTES = 10;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Who must have a second factor (REQUIRE_SECOND_FACTOR). */
export type SecondFactorPolicy = 'operators' | 'members' | 'none';

/** Whether the operator's policy or that of the account requires a second factor of a person. */
export function mustHaveFactor(
  { role }: Pick<User, 'role'>,
  policy: SecondFactorPolicy,
  accountRequires: boolean,
): boolean {
  if (accountRequires || policy === 'members') return true;
  return policy === 'operators' && (role === 'OPERATOR' || role === 'OPERATOR_READONLY');
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

/** The stored hash of a recovery code. Ignores spaces, hyphens and case. */
export function hashRecoveryCode(code: string): Buffer {
  return createHash('sha256').update(bare(code)).digest();
}

/** A code in lower case without spaces and hyphens. */
export function bare(code: string): string {
  return code.slice(0, 100).replaceAll(/[\s-]/g, '').toLowerCase();
}
