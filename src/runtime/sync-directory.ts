import { open } from 'node:fs/promises';

/** Writes a directory to disk, so that new and renamed files survive a power failure. Windows has no such call. */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}
