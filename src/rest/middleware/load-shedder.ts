/** For so long after the last refusal less is let in, in ms: as long as those who were refused are asked to wait. */
const AFTER_REFUSAL_MS = 1_000;
/** The part of the bound that holds then: what stands in a longer queue only waits longer. */
const AFTER_REFUSAL = 1 / 2;

/**
 * Bounds what waits for the database on behalf of requests: their number, and with it the memory that they take and
 * the time that they wait. Many may come together; where more come than can be answered, each is answered sooner for
 * there being fewer. Who sends a body slowly, or reads an answer so, takes no place.
 */
export class UnderWay {
  readonly #most: number;
  readonly #now: () => number;
  #count = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** `most` come together at the most; `now` tells the time in ms. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
  }

  /** Takes a place, which is given back with `leave`; false, and to be refused, where none is left. */
  tryEnter(): boolean {
    if (this.#count >= this.#most * AFTER_REFUSAL) {
      const now = this.#now();
      if (this.#count >= this.#most || now - this.#refusedAt < AFTER_REFUSAL_MS) {
        this.#refusedAt = now;
        return false;
      }
    }
    this.#count += 1;
    return true;
  }

  leave(): void {
    this.#count -= 1;
  }

  /** Waits for the client on behalf of a request under way, which has no place meanwhile. */
  async aside<T>(client: Promise<T>): Promise<T> {
    this.leave();
    try {
      return await client;
    } finally {
      this.#count += 1;
    }
  }
}
