/** The part of the domain's `Logger` that is used here. */
interface OutageLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * Logs an outage in two lines. One is written when it begins, and one when it ends, with the number of failures and the
 * duration.
 */
export class OutageLog {
  readonly #logger: OutageLogger;
  readonly #failing: string;
  readonly #works: string;
  readonly #fields: object;
  #count = 0;
  /** When the outage began (performance.now, ms). */
  #since = 0;

  /** `failing` and `works` are the two messages. Both lines have the `fields`. */
  constructor(logger: OutageLogger, failing: string, works: string, fields: object = {}) {
    this.#logger = logger;
    this.#failing = failing;
    this.#works = works;
    this.#fields = fields;
  }

  /** Records a failure, or `count` failures with the same cause. */
  failed(error: unknown, count = 1): void {
    const isFirst = this.#count === 0;
    this.#count += count;
    if (!isFirst) return;
    this.#since = performance.now();
    this.#logger.warn({ ...this.#fields, err: error }, this.#failing);
  }

  /** Records a success, which ends the outage. */
  worked(): void {
    if (this.#count === 0) return;
    const count = this.#count;
    this.#count = 0;
    const durationMs = Math.round(performance.now() - this.#since);
    this.#logger.info({ ...this.#fields, count, durationMs }, this.#works);
  }
}
