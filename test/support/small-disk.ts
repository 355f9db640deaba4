/** Mounts small disks, which a test can fill. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Mounts a disk over a directory, until it is disposed. `size` is a text such as `5m`. */
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
      // Unmount lazily (-l): a killed gateway may still have open files until its last process ends.
      spawnSync('umount', ['-l', path]);
    },
  };
}

/** True if this process may mount a disk. Only root may, and in some containers not even root. */
export const mayMount = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const path = mkdtempSync(join(tmpdir(), 'mount-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', path]).status === 0;
  if (isMounted) spawnSync('umount', [path]);
  rmdirSync(path);
  return isMounted;
})();
