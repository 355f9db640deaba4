import { chmodSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;

/**
 * Decides which process on one DATA_DIR owns its PostgreSQL. It has at most one holder, also within one process. The
 * operating system frees it when the holder dies, so it is never stale.
 *
 * Node has no flock(); an exclusive transaction on an empty SQLite file is a portable replacement (fcntl, LockFileEx).
 */
export class OwnerLock {
  readonly #file: DatabaseSync;
  #held = false;

  /** Opens or creates the lock file without taking the lock. Throws when it cannot be written. */
  constructor(path: string) {
    try {
      this.#file = new DatabaseSync(path, { timeout: 0 });
      // A stranger who can read the file could hold a shared lock and keep every owner out. Root without the capability
      // FOWNER cannot repeat this once the file belongs to the server's user.
      if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
    } catch (cause) {
      throw new Error(
        `Cannot use the lock file ${path} (${(cause as Error).message}): run as the user who owns that ` +
          'directory, or choose another DATA_DIR.',
        { cause },
      );
    }
  }

  /** Takes the lock if it is free, without waiting. True if this object holds it afterwards. */
  tryAcquire(): boolean {
    if (this.#held) return true;
    try {
      this.#file.exec('BEGIN EXCLUSIVE');
      this.#held = true;
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    }
    return this.#held;
  }

  /** Frees the lock. The object cannot be used again. */
  close(): void {
    this.#held = false;
    this.#file.close();
  }
}
