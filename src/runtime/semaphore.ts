import { WaitQueue } from './wait-queue.ts';

/**
 * Lets at most `limit` callers hold a permit at the same time. The others wait in order of arrival and may give up. A
 * released permit goes to the caller that has waited longest, not to a new caller.
 */
export class Semaphore {
  readonly #limit: () => number;
  readonly #queue = new WaitQueue();
  #held = 0;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  /**
   * Pass a function as `limit` if the limit can change. New callers see a raised limit at once. Callers that already
   * wait see it at the next `release`.
   */
  constructor(limit: number | (() => number)) {
    this.#limit = typeof limit === 'number' ? () => limit : limit;
  }

  /** Number of permits that are held. */
  get held(): number {
    return this.#held;
  }

  /** Number of callers that wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True if a caller would have to wait. */
  get isFull(): boolean {
    return this.#held >= this.#limit();
  }

  /** Takes a permit if one is free. After each true, the caller must call `release` once. */
  tryAcquire(): boolean {
    if (this.#isClosed || this.isFull) return false;
    this.#held += 1;
    return true;
  }

  /**
   * Waits for a permit. Resolves with true when the caller holds one. After each true, the caller must call `release`
   * once. Resolves with false, without a permit, in four cases: `signal` aborts, `timeoutMs` have passed,
   * `rejectWaiters` was called, or the semaphore is closed. Never rejects.
   */
  async acquire(signal?: AbortSignal, timeoutMs?: number): Promise<boolean> {
    if (signal?.aborted || this.#isClosed) return false;
    if (this.tryAcquire()) return true;
    if (!(await this.#queue.wait(signal, timeoutMs))) return false;
    if (!signal?.aborted && !this.#isClosed) return true;
    // After this caller was woken, the signal may have aborted, or the semaphore may have been closed. A lease's signal
    // computes `aborted` when it is read, and its event may come later. So check it here.
    this.release();
    return false;
  }

  /** Gives a permit back. */
  release(): void {
    this.#held -= 1;
    while (!this.isFull && this.#queue.wakeFirst()) this.#held += 1;
    if (this.#held === 0) this.#onIdle?.();
  }

  /** Makes all waiting calls resolve with false. Later callers may wait again. */
  rejectWaiters(): void {
    this.#queue.rejectAll();
  }

  /**
   * Closes the semaphore: no more permits, and all waiting calls end. Resolves when no permit is held, or after
   * `graceMs`.
   */
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

  /** Runs `work` while it holds a permit. Returns the result of `work`. Rejects if the semaphore is closed. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (!(await this.acquire())) throw new Error('the semaphore is closed');
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
