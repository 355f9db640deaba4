/**
 * Terms. **Key**: `msg_<key id>_<secret half>`, sent whole in `X-Api-Key`. **Key id** (kid): 16 hex
 * digits, safe to log. **Secret half**: 40 hex digits, 160 random bits, shown once, stored only as a hash.
 *
 * Invariant. A key has one spelling, in small letters: another case is another, unknown key.
 */
import { hash, timingSafeEqual } from 'node:crypto';

const KEY_ID = /^[0-9a-f]{16}$/;
const KEY = /^msg_([0-9a-f]{16})_([0-9a-f]{40})$/;

export interface KeyParts {
  readonly keyId: string;
  readonly secret: string;
}

/** Takes a key apart (R64–R70), or gives undefined when the text has not exactly its form. */
export function parseKey(raw: string): KeyParts | undefined {
  const [, keyId, secret] = KEY.exec(raw) ?? [];
  return keyId === undefined || secret === undefined ? undefined : { keyId, secret };
}

/** Whether the text has the form of a key id. */
export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** Puts a key together as it is shown once (R64–R70). Throws RangeError when `parseKey` could not read it. */
export function formatKey(keyId: string, secret: string): string {
  const key = `msg_${keyId}_${secret}`;
  // The text stays out of the error: it holds a secret.
  if (!KEY.test(key)) throw new RangeError('A key is made of 16 and 40 lowercase hex digits');
  return key;
}

/**
 * What is stored of the secret half: its SHA-256, 32 bytes. A slow hash would protect a secret that can
 * be guessed; 160 random bits cannot, and every request pays for the hash.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Whether `stored` is the hash of `secret`, in time that does not depend on where they differ. Never throws. */
export function secretMatches(stored: Uint8Array, secret: string): boolean {
  const actual = hashSecret(secret);
  return stored.length === actual.length && timingSafeEqual(stored, actual);
}
