import { open } from 'node:fs/promises';

/**
 * Writes a directory to the disk, so that new and renamed files survive a power failure. Does nothing on Windows, which
 * has no such call.
 */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}
