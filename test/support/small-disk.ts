/** Disks that are soon full. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Puts a disk of that size, such as 5m, in place of a directory; it is there until it is disposed of. */
export function mountDisk(path: string, size: string) {
  const { status, stderr } = spawnSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${size},mode=755`,
    'tmpfs',
    path,
  ]);
  if (status !== 0) throw new Error(String(stderr));
  return {
    path,
    async [Symbol.asyncDispose]() {
      // What a killed gateway left open on it goes with its last process.
      spawnSync('umount', ['-l', path]);
    },
  };
}

/** Root may, but not in every container. */
export const mayMount = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const path = mkdtempSync(join(tmpdir(), 'mount-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', path]).status === 0;
  if (isMounted) spawnSync('umount', [path]);
  rmdirSync(path);
  return isMounted;
})();
