import { TransientMap } from './transient-map.ts';

/** A queue of callers that wait for the same thing. The first one to come is woken first. Each wait can end early. */
export class WaitQueue {
  readonly #waiters = new TransientMap<number, (woken: boolean) => void>();
  #arrivals = 0;

  /** Number of callers that wait. */
  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves with true when the caller is woken. Resolves with false when `signal` aborts, when `timeoutMs` have
   * passed, or on `rejectAll`. Never rejects.
   */
  wait(signal?: AbortSignal, timeoutMs?: number): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const arrival = this.#arrivals++;
      const settle = (woken: boolean) => {
        this.#waiters.delete(arrival);
        signal?.removeEventListener('abort', giveUp);
        clearTimeout(timer);
        resolve(woken);
      };
      const giveUp = () => settle(false);
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      signal?.addEventListener('abort', giveUp);
      this.#waiters.set(arrival, settle);
    });
  }

  /** Wakes the caller that has waited longest. Returns false if nobody waits. */
  wakeFirst(): boolean {
    if (this.#waiters.size === 0) return false;
    for (const settle of this.#waiters.values()) {
      settle(true);
      return true;
    }
    return false;
  }

  wakeAll(): void {
    this.#settleAll(true);
  }

  /** Makes all waiting calls resolve with false. */
  rejectAll(): void {
    this.#settleAll(false);
  }

  #settleAll(woken: boolean): void {
    for (const settle of [...this.#waiters.values()]) settle(woken);
  }
}
