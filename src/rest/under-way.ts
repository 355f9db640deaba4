/**
 * Bounds what waits for the database on behalf of requests: their number, and with it the memory that they take and
 * the time that they wait. Who sends a body slowly, or reads an answer so, takes no place.
 */
export class UnderWay {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether as many as may be are under way: what comes now is to be refused. */
  get isFull(): boolean {
    return this.#count >= this.#most;
  }

  /** Takes a place; who does gives it back with `leave`. */
  enter(): void {
    this.#count += 1;
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
      this.enter();
    }
  }
}
