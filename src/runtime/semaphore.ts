/** At most `places` holders at once. The others wait in the order in which they came, and may give up. */
export class Semaphore {
  #free: number;
  readonly #line = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Resolves with true once the caller holds a place, which `release` must give back. Resolves with false, without a
   * place, when `signal` is aborted first.
   */
  async acquire(signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const enter = () => {
        signal?.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        this.#line.delete(enter);
        resolve(false);
      };
      this.#line.add(enter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives a place back: to the first that waits, if any. */
  release(): void {
    for (const enter of this.#line) {
      this.#line.delete(enter);
      enter();
      return;
    }
    this.#free += 1;
  }

  /** Runs `work` while holding a place. Settles as `work` does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire();
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
