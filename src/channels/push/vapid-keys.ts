import { createECDH } from 'node:crypto';

/** The key pair with which this gateway names itself to push services (RFC 8292), base64url: 65 and 32 bytes. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Checks that the two belong together. Throws an Error that says what is wrong. */
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

/** A new key pair, as the text of the file that keeps it. */
export function makeVapidKeys(): string {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys('base64url');
  // Leading zeros would be left out otherwise.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()])
    .subarray(-32)
    .toString('base64url');
  return `${JSON.stringify({ publicKey, privateKey })}\n`;
}

/**
 * The key pair that the file at `path` keeps as `text`. Browsers subscribe to the public key, so another pair makes
 * every subscription useless: throws when the text holds none.
 */
export function readVapidKeys(path: string, text: string): VapidKeys {
  try {
    return checkVapidKeys(JSON.parse(text));
  } catch (error) {
    const why =
      error instanceof SyntaxError ? 'it is no JSON' : error instanceof Error ? error.message : error;
    throw new Error(`${path} does not hold a VAPID key pair: ${why}. Put the right file back.`);
  }
}
