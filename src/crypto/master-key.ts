import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { loadOrKeep } from './kept-file.ts';

/**
 * The master key kept in `dataDir/master.key`, made there with mode 0600 when there is none. Throws when the file
 * holds no 32 bytes in base64: a new key would make every sealed secret unreadable.
 */
export async function loadOrCreateMasterKey(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'master.key');
  const text = await loadOrKeep(path, () => `${randomBytes(32).toString('base64')}\n`);
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32) {
    throw new Error(`${path} does not hold a master key of 32 bytes in base64. Put the right file back.`);
  }
  return key;
}
