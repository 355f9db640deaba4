/** Makes directories that several test files of a jest run share, such as a build of the gateway. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rmdir } from 'node:fs/promises';
import { eventually } from './eventually.ts';

/** Time limit of a wait for another test file that makes the directory, in ms. */
const MAKING_MS = 110_000;

/** Creates a directory whose path begins with `prefix`, as `mkdtemp` does, that every user may enter. */
export async function makeDirectory(prefix: string): Promise<string> {
  const made = await mkdtemp(prefix);
  // If root runs the tests, another user runs PostgreSQL. That user must be able to enter the directory.
  await chmod(made, 0o755);
  return made;
}

/**
 * Returns the directory `place`, and makes it if no other test file of this jest run has made it. `make` fills the
 * directory that it gets, which becomes `place`. Files that need it at the same time wait for the first: two compilers
 * at once take twice as long.
 */
export async function makeOnce(place: string, make: (into: string) => Promise<unknown>): Promise<string> {
  const lock = `${place}.lock`;
  const take = () =>
    mkdir(lock).then(
      () => true,
      () => false,
    );
  while (!existsSync(place)) {
    if (!(await take())) {
      await eventually(() => !existsSync(lock), MAKING_MS);
      continue;
    }
    try {
      if (existsSync(place)) break;
      const own = await makeDirectory(`${place}-`);
      await make(own);
      await rename(own, place);
    } finally {
      await rmdir(lock);
    }
  }
  return place;
}
