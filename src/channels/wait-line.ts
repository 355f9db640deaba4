/** Those who wait for one thing, first come first served. */
export class WaitLine {
  readonly #waiting = new Set<(woken: boolean) => void>();

  /** True once woken; false when dismissed, when `signal` aborts or when `timeoutMs` have passed. Never rejects. */
  wait(signal?: AbortSignal, timeoutMs?: number): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (woken: boolean) => {
        this.#waiting.delete(settle);
        signal?.removeEventListener('abort', giveUp);
        clearTimeout(timer);
        resolve(woken);
      };
      const giveUp = () => settle(false);
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      signal?.addEventListener('abort', giveUp);
      this.#waiting.add(settle);
    });
  }

  /** Wakes the first in the line; false when nobody waits. */
  wakeFirst(): boolean {
    for (const settle of this.#waiting) {
      settle(true);
      return true;
    }
    return false;
  }

  wakeAll(): void {
    for (const settle of [...this.#waiting]) settle(true);
  }

  /** Sends everybody away: their waits end with false. */
  dismissAll(): void {
    for (const settle of [...this.#waiting]) settle(false);
  }
}
