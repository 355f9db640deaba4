/**
 * Runs pieces of work one after the other. After each piece it pauses, so that the work uses at most a share of the
 * time.
 */
export class TimeShare {
  readonly #pauses: number;
  #last: Promise<void> = Promise.resolve();

  /** `share` is a fraction of the time, such as 0.25. */
  constructor(share: number) {
    this.#pauses = 1 / share - 1;
  }

  /** Runs `work` after all earlier work and the pause that follows it. */
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
