import { chmodSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;

/**
 * Says which of the processes on one DATA_DIR owns its PostgreSQL. At most one holder at a time, also within
 * one process; the operating system frees it when the holder dies, however it dies, so it is never stale.
 *
 * Node has no flock(); an exclusive transaction on an empty SQLite file is a portable one (fcntl, LockFileEx).
 */
export class OwnerLock {
  readonly #file: DatabaseSync;
  #held = false;

  /** Opens (and creates) the lock file without taking the lock. Throws when the file cannot be written. */
  constructor(path: string) {
    try {
      this.#file = new DatabaseSync(path, { timeout: 0 });
      // A stranger who can read the file could hold a shared lock on it, and so keep every owner out.
      // Root without the capability FOWNER may not do it again once the file is the server's user's.
      if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
    } catch (cause) {
      throw new Error(
        `Cannot use the lock file ${path} (${(cause as Error).message}): run as the user who owns that ` +
          'directory, or choose another DATA_DIR.',
        { cause },
      );
    }
  }

  /** Takes the lock if it is free; true when it is held by this object afterwards. Never waits. */
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

  /** Frees the lock for good; the object cannot be used again. */
  close(): void {
    this.#held = false;
    this.#file.close();
  }
}
