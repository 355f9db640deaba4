import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * The text of a file that is made once, with mode 0600, and kept: `make` gives the text when there is no file. However
 * many processes start at once, all get the same text, where the file system has links; a disk that is full or fails
 * leaves no part of the file. Throws the system's error when it cannot be kept.
 */
export async function loadOrKeep(path: string, make: () => string): Promise<string> {
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
    // Some file systems have no links, such as shares of Windows. There of two first starts at once the last one wins.
    if (syscall === 'link' && NO_LINKS.has(code)) await rename(draft, path);
    // Another process was first.
    else if (code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(directory);
  return (await textOf(path)) ?? '';
}

/** Without the white space around it; undefined when there is no file. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The name must survive a power failure as the text does. Windows has no such call. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}
