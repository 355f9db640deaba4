import { WaitQueue } from './wait-queue.ts';

/**
 * At most `limit` callers hold a permit at once. The others wait in order of arrival, and may give up. A released
 * permit goes straight to the caller that has waited longest, so that no newcomer overtakes it.
 */
export class Semaphore {
  readonly #limit: () => number;
  readonly #queue = new WaitQueue();
  #held = 0;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  /** `limit` may be a function when it changes. A raised limit takes effect with the next `release`. */
  constructor(limit: number | (() => number)) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
  }

  /** Permits that are held. */
  get held(): number {
    return this.#held;
  }

  /** How many callers wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True when a caller would have to wait. */
  get isFull(): boolean {
    return this.#held >= this.#limit();
  }

  /** Takes a permit if one is free. Each true needs one `release`. */
  tryAcquire(): boolean {
    if (this.#isClosed || this.isFull) return false;
    this.#held += 1;
    return true;
  }

  /**
   * Resolves with true once the caller holds a permit; each true needs one `release`. Resolves with false, without a
   * permit, when `signal` is aborted, after `timeoutMs`, on `rejectWaiters`, and once the semaphore is closed. Never
   * rejects.
   */
  async acquire(signal?: AbortSignal, timeoutMs?: number): Promise<boolean> {
    if (signal?.aborted || this.#isClosed) return false;
    if (this.tryAcquire()) return true;
    if (!(await this.#queue.wait(signal, timeoutMs))) return false;
    if (!signal?.aborted && !this.#isClosed) return true;
    // The signal aborted, or the semaphore closed, after this caller was woken. A lease's signal aborts when it is
    // read.
    this.release();
    return false;
  }

  /** Gives a permit back. */
  release(): void {
    this.#held -= 1;
    while (!this.isFull && this.#queue.wakeFirst()) this.#held += 1;
    if (this.#held === 0) this.#onIdle?.();
  }

  /** Ends all waits with false. Later callers may wait again. */
  rejectWaiters(): void {
    this.#queue.rejectAll();
  }

  /** Gives no more permits and ends all waits. Resolves when no permit is held, or after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.rejectWaiters();
    if (this.#held === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      timer = setTimeout(resolve, graceMs);
    });
    clearTimeout(timer);
  }

  /** Runs `work` while it holds a permit. Settles as `work` does; rejects when the semaphore is closed. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (!(await this.acquire())) throw new Error('the semaphore is closed');
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
