import { createECDH } from 'node:crypto';

/**
 * The key pair that identifies this gateway to push services (RFC 8292), in base64url. The public key has 65 bytes, the
 * private key 32.
 */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Checks that both keys belong together. Throws an Error that says what is wrong. */
export function checkVapidKeys({ publicKey, privateKey }: VapidKeys): VapidKeys {
  const secret = Buffer.from(privateKey, 'base64url');
  if (secret.length !== 32) throw new Error('the private key is not 32 bytes in base64url');
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(secret);
  if (pair.getPublicKey('base64url') !== publicKey.replace(/=+$/, '')) {
    throw new Error('the public key does not belong to the private key');
  }
  return { publicKey: publicKey.replace(/=+$/, ''), privateKey: privateKey.replace(/=+$/, '') };
}

/** Creates a new key pair, as the text of its file. */
export function makeVapidKeys(): string {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys('base64url');
  // `getPrivateKey` drops leading zeros, so pad the key to 32 bytes.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()])
    .subarray(-32)
    .toString('base64url');
  return `${JSON.stringify({ publicKey, privateKey })}\n`;
}

/**
 * Reads the key pair in `text`, the content of the file `path`. Throws if there is none. It must not create a new pair
 * then: browsers have subscribed with the old public key, and every subscription would break.
 */
export function readVapidKeys(path: string, text: string): VapidKeys {
  try {
    return checkVapidKeys(JSON.parse(text));
  } catch (error) {
    const why =
      error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : error;
    throw new Error(`${path} does not hold a VAPID key pair: ${why}. Put the right file back.`);
  }
}
