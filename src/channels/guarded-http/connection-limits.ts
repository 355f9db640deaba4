import { Semaphore } from '../../runtime/semaphore.ts';

/**
 * Limits the concurrent requests of one account to one origin. Many accounts use the same origins, such as a push
 * service. With a common limit for all accounts, one account's slow receiver would block the other accounts. Requests
 * wait here and not in undici's queue, because undici would open sockets for requests that have already timed out.
 */
export class ConnectionLimits {
  readonly #limit: number;
  readonly #semaphores = new Map<string, Semaphore>();

  /** `limit` is the largest number of concurrent requests. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Resolves with true when the request may be sent. After each true, call `release` once. Resolves with false at
   * `deadline` (performance.now, ms).
   */
  async acquire(origin: string, accountId: string, deadline: number): Promise<boolean> {
    const key = keyOf(origin, accountId);
    let semaphore = this.#semaphores.get(key);
    if (semaphore === undefined) {
      semaphore = new Semaphore(this.#limit);
      this.#semaphores.set(key, semaphore);
    }
    return semaphore.acquire(undefined, Math.max(1, Math.ceil(deadline - performance.now())));
  }

  release(origin: string, accountId: string): void {
    const key = keyOf(origin, accountId);
    const semaphore = this.#semaphores.get(key);
    semaphore?.release();
    // If no permit is held, no request waits either. So the semaphore can be dropped.
    if (semaphore?.held === 0) this.#semaphores.delete(key);
  }
}

function keyOf(origin: string, accountId: string): string {
  return `${accountId} ${origin}`;
}
