/** Reads clocks that advance while the process is stopped, in milliseconds. */
type ReadClocks = () => readonly number[];

/**
 * While a process is stopped, the monotonic clock advances; while the machine is suspended, only the wall clock does. A
 * wall clock that is set forward ends a lease early. That repeats jobs, but loses no message.
 */
const processClocks: ReadClocks = () => [performance.now(), Date.now()];

/** When a renewal was sent. */
export type SignOfLife = readonly number[];

/**
 * How long a process may work on its jobs: this long after the last renewal that PostgreSQL accepted. Afterwards
 * another process may have them, and handing one over would send it twice.
 */
export class Lease {
  readonly #ms: number;
  readonly #now: ReadClocks;
  readonly #claims = new Set<AbortController>();
  #renewedAt: SignOfLife;
  #hasEnded = false;

  /** Starts a lease of `ms`, by the clock that advances most. */
  constructor(ms: number, now: ReadClocks = processClocks) {
    this.#ms = ms;
    this.#now = now;
    this.#renewedAt = now();
  }

  get hasEnded(): boolean {
    if (this.#hasEnded) return true;
    const now = this.#now();
    if (now.some((time, clock) => time - (this.#renewedAt[clock] ?? time) > this.#ms)) this.end();
    return this.#hasEnded;
  }

  /** The time of a renewal, to pass to `renew` when PostgreSQL has accepted it. */
  sign(): SignOfLife {
    return this.#now();
  }

  /** Extends the lease. A renewal that arrives after the end changes nothing. */
  renew(sign: SignOfLife): void {
    if (this.hasEnded) return;
    // Results may arrive in another order.
    if ((sign[0] ?? 0) > (this.#renewedAt[0] ?? 0)) this.#renewedAt = sign;
  }

  /** Puts one job under the lease. */
  claim(): Claim {
    const controller = new AbortController();
    const isOver = () => this.hasEnded || isLost;
    let isLost = false;
    // `aborted` is computed on read: after a freeze, I/O callbacks may run before timers.
    const signal = Object.defineProperty(controller.signal, 'aborted', { get: isOver });
    if (this.#hasEnded) controller.abort();
    else this.#claims.add(controller);
    return {
      signal,
      lose: () => {
        isLost = true;
        controller.abort();
      },
      release: () => this.#claims.delete(controller),
    };
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const controller of this.#claims) controller.abort();
    this.#claims.clear();
  }
}

/** One job under a lease. */
export interface Claim {
  /** Aborts when the lease ends or the job is lost. */
  readonly signal: AbortSignal;
  /** PostgreSQL reported that another process has the job. */
  lose(): void;
  /** The work is done. */
  release(): void;
}
