import { createECDH } from 'node:crypto';

/** The key pair that identifies this gateway to push services (RFC 8292), base64url: 65 and 32 bytes. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Checks that the two belong together. Throws Error that says what is wrong. */
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

/** A new key pair, as the text of its file. */
export function makeVapidKeys(): string {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys('base64url');
  // `getPrivateKey` drops leading zeros.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()])
    .subarray(-32)
    .toString('base64url');
  return `${JSON.stringify({ publicKey, privateKey })}\n`;
}

/**
 * The key pair in `text`, read from `path`. Throws when it holds none: browsers subscribed to the public key, and a
 * new pair would break every subscription.
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
