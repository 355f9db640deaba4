/** For this long after a refusal a lower limit holds. It is the `Retry-After` of that refusal. */
const REDUCED_MS = 1_000;
/** The share of the limit that holds then. A longer queue would only make every request wait longer. */
const REDUCED_SHARE = 1 / 2;

/**
 * Limits the requests that wait for the database, and so their memory and their waiting time (ADR-0013). A burst up
 * to the limit is admitted. After a refusal half the limit holds, so that each request is answered sooner. A slow
 * client holds no place while it sends its body or reads its answer. Nobody waits here, so it is no `Semaphore`
 * (ADR-0022).
 */
export class LoadShedder {
  readonly #limit: number;
  readonly #now: () => number;
  #count = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** `limit` in requests; `now` in ms. */
  constructor(limit: number, now: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Admits a request, which needs one `release`. False: refuse the request. */
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

  /** Waits for the client, without the request's place meanwhile. */
  async releaseWhile<T>(client: Promise<T>): Promise<T> {
    this.release();
    try {
      return await client;
    } finally {
      this.#count += 1;
    }
  }
}
