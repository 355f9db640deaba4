import { createECDH } from 'node:crypto';
import { access, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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

/**
 * The key pair kept in `dataDir/vapid.json`, made there with mode 0600 when there is none. Browsers subscribe to
 * the public key, so another pair makes every subscription useless: throws when the file holds none.
 */
export async function loadOrCreateVapidKeys(dataDir: string): Promise<VapidKeys> {
  const path = join(dataDir, 'vapid.json');
  if (await exists(path)) return read(path);
  await mkdir(dataDir, { recursive: true });
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys('base64url');
  // Leading zeros would be left out otherwise.
  const privateKey = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()])
    .subarray(-32)
    .toString('base64url');
  // Whole or not at all: another process may be reading it at this moment.
  const draft = `${path}.${process.pid}`;
  try {
    await writeFile(draft, `${JSON.stringify({ publicKey, privateKey })}\n`, { mode: 0o600 });
    await link(draft, path);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return read(path);
}

async function read(path: string): Promise<VapidKeys> {
  try {
    return checkVapidKeys(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    const why =
      error instanceof SyntaxError ? 'it is no JSON' : error instanceof Error ? error.message : error;
    throw new Error(`${path} does not hold a VAPID key pair: ${why}. Put the right file back.`);
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
