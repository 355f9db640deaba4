import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto';
import type { SecretBox } from '../domain/ports/system.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Returns a short name for a master key. It reveals nothing about the key. */
function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('master-key-id').update(key).digest('hex').slice(0, 8);
}

/** Returns the name of the master key that encrypted a text. */
export function sealedUnder(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

/**
 * Encrypts with AES-256-GCM, in the format `v1.<key id>.<nonce, tag and ciphertext in base64url>`. `previous` are the
 * keys of MASTER_KEY_PREVIOUS. They only decrypt the texts that they encrypted before. `open` throws if no key fits or
 * if the text was changed.
 *
 * When the master key is rotated, stored secrets stay encrypted with the former key until they are replaced. Only the
 * signed head of the audit log is encrypted again.
 */
export function createSecretBox(masterKey: Buffer, previous: readonly Buffer[] = []): SecretBox {
  // A KeyObject is four times as fast as a key that is passed as bytes.
  const keys = new Map([...previous, masterKey].map((key) => [keyIdOf(key), createSecretKey(key)]));
  const currentKey = createSecretKey(masterKey);
  const currentId = keyIdOf(masterKey);
  return {
    seal(plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey, nonce);
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return `v1.${currentId}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
    },
    open(sealed) {
      const [version, keyId, body] = sealed.split('.');
      const key = keyId === undefined ? undefined : keys.get(keyId);
      if (version !== 'v1' || !key || body === undefined) {
        throw new Error(
          `a secret was sealed with master key ${keyId}, which is neither MASTER_KEY nor in MASTER_KEY_PREVIOUS`,
        );
      }
      const bytes = Buffer.from(body, 'base64url');
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const plain = Buffer.concat([
        decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]);
      return plain.toString('utf8');
    },
  };
}
