/** Small disks, which a test can fill. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Mounts a disk of this size, such as 5m, over a directory until it is disposed. */
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
      // Files that a killed gateway left open are released when its last process ends.
      spawnSync('umount', ['-l', path]);
    },
  };
}

/** True if this process may mount a disk. Root may, but not in every container. */
export const mayMount = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const path = mkdtempSync(join(tmpdir(), 'mount-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', path]).status === 0;
  if (isMounted) spawnSync('umount', [path]);
  rmdirSync(path);
  return isMounted;
})();
