import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The master key kept in `dataDir/master.key`, made there with mode 0600 when there is none. Throws when the file
 * holds no 32 bytes in base64: a new key would make every sealed secret unreadable.
 */
export async function loadOrCreateMasterKey(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'master.key');
  await mkdir(dataDir, { recursive: true });
  try {
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64');
  if (key.length !== 32) {
    throw new Error(`${path} does not hold a master key of 32 bytes in base64. Put the right file back.`);
  }
  return key;
}
