import { chmodSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;

/**
 * A lock file that decides which process owns the PostgreSQL of a DATA_DIR. At most one OwnerLock holds the lock, also
 * within one process. The operating system releases it when the holder dies, so the lock is never stale.
 *
 * Node has no flock(). An exclusive transaction on an empty SQLite file does the same on every system (fcntl,
 * LockFileEx).
 */
export class OwnerLock {
  readonly #file: DatabaseSync;
  #held = false;

  /** Opens or creates the lock file without taking the lock. Throws if the file cannot be written. */
  constructor(path: string) {
    try {
      this.#file = new DatabaseSync(path, { timeout: 0 });
      // Another user who can read the file could hold a shared lock and block every owner. Change the mode only if
      // needed: root without the capability FOWNER may not change a file of the server's user.
      if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
    } catch (cause) {
      throw new Error(
        `Cannot use the lock file ${path} (${(cause as Error).message}): run as the user who owns that ` +
          'directory, or choose another DATA_DIR.',
        { cause },
      );
    }
  }

  /** Takes the lock if it is free. Does not wait. True if this object holds the lock afterwards. */
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
