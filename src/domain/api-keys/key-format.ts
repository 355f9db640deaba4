/**
 * **Key**: `msg_<key id>_<secret half>`, sent whole in `X-Api-Key`. **Key id**: 16 hex digits, safe to log. **Secret
 * half**: 40 hex digits, which are 160 random bits. It is shown once and stored as a hash.
 *
 * Invariant. A key has exactly one spelling, in lower case. A key in any other spelling is unknown.
 */
import { hash, timingSafeEqual } from 'node:crypto';

const KEY_ID = /^[0-9a-f]{16}$/;
const KEY = /^msg_([0-9a-f]{16})_([0-9a-f]{40})$/;

export interface KeyParts {
  readonly keyId: string;
  readonly secret: string;
}

/** Splits a key into its parts (R64–R70). Returns undefined for any other text. */
export function parseKey(raw: string): KeyParts | undefined {
  const [, keyId, secret] = KEY.exec(raw) ?? [];
  return keyId === undefined || secret === undefined ? undefined : { keyId, secret };
}

/** True if the text has the form of a key id. */
export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** Builds the key that is shown once (R64–R70). Throws RangeError if the parts do not have the right form. */
export function formatKey(keyId: string, secret: string): string {
  const key = `msg_${keyId}_${secret}`;
  // The error must not contain the key, because the key is secret.
  if (!KEY.test(key)) throw new RangeError('A key is made of 16 and 40 lowercase hex digits');
  return key;
}

/**
 * Returns the SHA-256 of the secret half, which is stored. A slow hash is not needed. It protects secrets that can be
 * guessed, and 160 random bits cannot. It would also slow down every request.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Compares a secret with the stored hash in constant time. Never throws. */
export function secretMatches(stored: Uint8Array, secret: string): boolean {
  const actual = hashSecret(secret);
  return stored.length === actual.length && timingSafeEqual(stored, actual);
}
