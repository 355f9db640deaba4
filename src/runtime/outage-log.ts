/** The two levels that are logged; the domain's `Logger` satisfies it. */
interface OutageLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/**
 * Logs what fails again and again once when it begins, and once when it works again, with how often it failed and for
 * how long: neither silence nor a line each time.
 */
export class OutageLog {
  readonly #logger: OutageLogger;
  readonly #failing: string;
  readonly #works: string;
  readonly #fields: object;
  #count = 0;
  /** When the outage began (performance.now, ms). */
  #since = 0;

  /** `failing` and `works` are the two lines; `fields` stand on both. */
  constructor(logger: OutageLogger, failing: string, works: string, fields: object = {}) {
    this.#logger = logger;
    this.#failing = failing;
    this.#works = works;
    this.#fields = fields;
  }

  /** Notes a failure, or so many that have one cause. */
  failed(error: unknown, count = 1): void {
    const isFirst = this.#count === 0;
    this.#count += count;
    if (!isFirst) return;
    this.#since = performance.now();
    this.#logger.warn({ ...this.#fields, err: error }, this.#failing);
  }

  /** Notes that it works. */
  worked(): void {
    if (this.#count === 0) return;
    const count = this.#count;
    this.#count = 0;
    const durationMs = Math.round(performance.now() - this.#since);
    this.#logger.info({ ...this.#fields, count, durationMs }, this.#works);
  }
}
