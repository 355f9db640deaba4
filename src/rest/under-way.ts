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

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
    }
  }
}
