/**
 * **Key**: `msg_<key id>_<secret half>`, sent whole in `X-Api-Key`. **Key id** (kid): 16 hex digits, safe to log.
 * **Secret half**: 40 hex digits, 160 random bits, shown once and stored as a hash.
 *
 * Invariant. A key has one spelling, in lower case. Another spelling is an unknown key.
 */
import { hash, timingSafeEqual } from 'node:crypto';

const KEY_ID = /^[0-9a-f]{16}$/;
const KEY = /^msg_([0-9a-f]{16})_([0-9a-f]{40})$/;

export interface KeyParts {
  readonly keyId: string;
  readonly secret: string;
}

/** Splits a key (R64–R70); undefined for any other text. */
export function parseKey(raw: string): KeyParts | undefined {
  const [, keyId, secret] = KEY.exec(raw) ?? [];
  return keyId === undefined || secret === undefined ? undefined : { keyId, secret };
}

/** Whether the text has the form of a key id. */
export function isKeyId(text: string): boolean {
  return KEY_ID.test(text);
}

/** The key as it is shown once (R64–R70). Throws RangeError if `parseKey` could not read it. */
export function formatKey(keyId: string, secret: string): string {
  const key = `msg_${keyId}_${secret}`;
  // The message must not contain the key: it is secret.
  if (!KEY.test(key)) throw new RangeError('A key is made of 16 and 40 lowercase hex digits');
  return key;
}

/**
 * The stored hash of the secret half: SHA-256. A slow hash would protect guessable secrets; 160 random bits are not
 * guessable, and every request computes it.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Compares in constant time. Never throws. */
export function secretMatches(stored: Uint8Array, secret: string): boolean {
  const actual = hashSecret(secret);
  return stored.length === actual.length && timingSafeEqual(stored, actual);
}
