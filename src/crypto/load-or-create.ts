import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Reads a file that is created once, with mode 0600. `make` gives its text when there is no file. Processes that
 * start together get the same text, on file systems with hard links. A full or failing disk leaves no partial file.
 * Throws the system's error when the file cannot be written.
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
    // Some file systems have no hard links, such as Windows shares. Of two processes that start together, the last
    // one wins there.
    if (syscall === 'link' && NO_LINKS.has(code)) await rename(draft, path);
    // Another process created it first.
    else if (code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncDirectory(directory);
  return (await textOf(path)) ?? '';
}

/** Trimmed; undefined when there is no file. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Without this a power failure could lose the directory entry. Windows has no such call. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}
