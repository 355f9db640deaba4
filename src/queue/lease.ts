/** Returns the times of two clocks, in ms. The clocks also run while the process is stopped. */
type ReadClocks = () => readonly number[];

/**
 * Both clocks are needed. The monotonic clock runs while a process is stopped, but not while the machine is suspended.
 * The wall clock runs then, too, but somebody may set it. If it is set forward, a lease ends too early. The jobs are
 * then repeated, but no message is lost.
 */
const processClocks: ReadClocks = () => [performance.now(), Date.now()];

/** The time at which a renewal was sent, on each of the clocks. */
export type SignOfLife = readonly number[];

/**
 * The time in which this process may work on its jobs. It ends `ms` after this process sent the last renewal that
 * PostgreSQL accepted. After that, another process may have the jobs, and submitting a message would send it twice.
 */
export class Lease {
  readonly #ms: number;
  readonly #now: ReadClocks;
  readonly #claims = new Set<AbortController>();
  #renewedAt: SignOfLife;
  #hasEnded = false;

  /** Starts a lease of `ms`. It ends as soon as one of the clocks shows that the time has passed. */
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

  /** Returns the current time. Pass it to `renew` when PostgreSQL has accepted the renewal. */
  sign(): SignOfLife {
    return this.#now();
  }

  /** Extends the lease. Has no effect if the lease has ended. */
  renew(sign: SignOfLife): void {
    if (this.hasEnded) return;
    // Answers may arrive in another order than the renewals were sent. Only a later renewal extends the lease.
    if ((sign[0] ?? 0) > (this.#renewedAt[0] ?? 0)) this.#renewedAt = sign;
  }

  /** Returns the claim on one job. It ends with the lease. */
  claim(): Claim {
    const controller = new AbortController();
    const isOver = () => this.hasEnded || isLost;
    let isLost = false;
    // `aborted` is computed when it is read. After a pause of the whole process, I/O callbacks may run before the
    // timers that would abort it.
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

/** The right to work on one job, under a lease. */
export interface Claim {
  /** Aborts when the lease ends or the job is lost. */
  readonly signal: AbortSignal;
  /** Call this when PostgreSQL reports that another process has the job. */
  lose(): void;
  /** Call this when the work on the job is done. */
  release(): void;
}
