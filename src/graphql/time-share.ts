/** Runs work in order, using at most a share of the time: after each piece it pauses. */
export class TimeShare {
  readonly #pauses: number;
  #last: Promise<void> = Promise.resolve();

  /** `share` of the time, such as 0.25. */
  constructor(share: number) {
    this.#pauses = 1 / share - 1;
  }

  /** Runs `work` in its turn. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      const startedAt = performance.now();
      try {
        return { result: await work(), tookMs: performance.now() - startedAt };
      } catch (error) {
        return { error, tookMs: performance.now() - startedAt };
      }
    });
    this.#last = done.then(
      ({ tookMs }) => new Promise((resolve) => setTimeout(resolve, tookMs * this.#pauses)),
    );
    return done.then((outcome) => {
      if ('error' in outcome) throw outcome.error;
      return outcome.result;
    });
  }
}
