/**
 * How long a process may take for its own what it holds: so long after the last sign of life that PostgreSQL took. A
 * process that slept for longer, or was cut off, has lost it to another, and must not begin with any of it.
 */
export class Lease {
  /**
   * Aborts when the lease ends. Whoever looks is told at once: what wakes a process that slept may be the answer that
   * lets the next message out, before any timer.
   */
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #now: () => number;
  #renewedAt: number;
  #hasEnded = false;

  /** `ms` from now on, by a clock in milliseconds that only goes forward, also while the process is stopped. */
  constructor(ms: number, now: () => number = () => performance.now()) {
    this.#ms = ms;
    this.#now = now;
    this.#renewedAt = now();
    this.signal = Object.defineProperty(this.#controller.signal, 'aborted', { get: () => this.hasEnded });
  }

  get hasEnded(): boolean {
    if (!this.#hasEnded && this.#now() - this.#renewedAt > this.#ms) this.end();
    return this.#hasEnded;
  }

  /** A sign of life that was given at `at` has been taken; one that came too late changes nothing. */
  renew(at: number): void {
    if (!this.hasEnded) this.#renewedAt = Math.max(this.#renewedAt, at);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#controller.abort();
  }
}
