/** After a refusal, the reduced limit holds for this time, in ms. `Retry-After` of the refusal is the same time. */
const REDUCED_MS = 1_000;
/** After a refusal, only this fraction of the limit holds. A longer queue would only make every request wait longer. */
const REDUCED_SHARE = 1 / 2;

/**
 * Limits the number of requests that wait for the database, and so their memory and waiting time (ADR-0013). A burst up
 * to the limit is admitted. After a refusal only half the limit holds, so that each request is answered sooner. A
 * request does not count while a slow client sends its body. This class refuses instead of waiting, so it is no
 * `Semaphore` (ADR-0022).
 */
export class LoadShedder {
  readonly #limit: number;
  readonly #now: () => number;
  #count = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** `limit` is a number of requests. `now` returns milliseconds. */
  constructor(limit: number, now: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
  }

  /**
   * Admits a request. Returns true if it is admitted: then call `release` once. Returns false if it must be refused.
   */
  tryAdmit(): boolean {
    if (this.#count >= this.#limit * REDUCED_SHARE) {
      const now = this.#now();
      if (this.#count >= this.#limit || now - this.#refusedAt < REDUCED_MS) {
        this.#refusedAt = now;
        return false;
      }
    }
    this.#count += 1;
    return true;
  }

  release(): void {
    this.#count -= 1;
  }

  /**
   * Waits for a promise that depends on the client, for example the rest of a body. Meanwhile the request does not
   * count against the limit.
   */
  async releaseWhile<T>(client: Promise<T>): Promise<T> {
    this.release();
    try {
      return await client;
    } finally {
      this.#count += 1;
    }
  }
}
