import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { loadOrCreate } from './load-or-create.ts';

/**
 * Reads the master key from `dataDir/master.key`. Creates the file with mode 0600 if it does not exist. Throws if the
 * file does not contain 32 bytes in base64. It must not create a new key then, because that key could decrypt no stored
 * secret.
 */
export async function loadOrCreateMasterKey(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'master.key');
  const text = await loadOrCreate(path, () => `${randomBytes(32).toString('base64')}\n`);
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32) {
    throw new Error(`${path} does not hold a master key of 32 bytes in base64. Put the right file back.`);
  }
  return key;
}
