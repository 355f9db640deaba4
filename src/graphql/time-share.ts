/** Work of many, in turn, that takes no more than a share of the time: after each piece nothing runs for a while. */
export class TimeShare {
  readonly #pauses: number;
  #last: Promise<void> = Promise.resolve();

  /** `share` of the time, such as 0.25. */
  constructor(share: number) {
    this.#pauses = 1 / share - 1;
  }

  /** Does `work` when it is its turn. */
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
