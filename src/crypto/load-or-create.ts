import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../runtime/sync-directory.ts';

const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Returns the text of a file. If the file does not exist, creates it with the text of `make` and mode 0600. Processes
 * that start together get the same text, if the file system has hard links. A full or failing disk leaves no partial
 * file. Throws the system's error if the file cannot be written.
 */
export async function loadOrCreate(path: string, make: () => string): Promise<string> {
  const kept = await textOf(path);
  if (kept !== undefined) return kept;
  const directory = dirname(path);
  await mkdir(directory, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, make(), { mode: 0o600, flush: true });
    await link(draft, path);
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException;
    // Some file systems, such as Windows shares, have no hard links. If two processes start together there, both write
    // the file, and the text of the last one stays.
    if (syscall === 'link' && NO_LINKS.has(code)) await rename(draft, path);
    // Another process was faster and created the file.
    else if (code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(directory);
  return (await textOf(path)) ?? '';
}

/** Returns the trimmed text of a file. Undefined if the file does not exist. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
