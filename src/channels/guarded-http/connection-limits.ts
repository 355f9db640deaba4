import { Semaphore } from '../../runtime/semaphore.ts';

/**
 * Limits the concurrent requests of one account to one origin. Accounts share origins (a push service, a workflow
 * host): with a common limit, one account's slow receiver would block the others. Requests wait here and not in
 * undici's queue, which keeps requests that have timed out and opens sockets for them.
 */
export class ConnectionLimits {
  readonly #limit: number;
  readonly #semaphores = new Map<string, Semaphore>();

  /** `limit` in concurrent requests. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Resolves with true once the request may be made; it needs one `release`. Resolves with false at `deadline`
   * (performance.now, ms).
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
    // Nobody waits while no permit is held.
    if (semaphore?.held === 0) this.#semaphores.delete(key);
  }
}

function keyOf(origin: string, accountId: string): string {
  return `${accountId} ${origin}`;
}
