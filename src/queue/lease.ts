/** The time in milliseconds by clocks that pass while the process stands still. */
type ReadClocks = () => readonly number[];

/**
 * A process that is stopped still ages by the monotonic clock; a machine that is suspended, by the wall clock only. A wall
 * clock that is set forward ends a lease early: that costs a repeat of jobs, and no message.
 */
const processClocks: ReadClocks = () => [performance.now(), Date.now()];

/** A sign of life: when it was given. */
export type SignOfLife = readonly number[];

/**
 * How long a process may treat the jobs that it holds as its own: this long after the last sign of life that PostgreSQL
 * accepted. After that another process may have them, and nothing of them may be handed over any more.
 */
export class Lease {
  readonly #ms: number;
  readonly #now: ReadClocks;
  readonly #claims = new Set<AbortController>();
  #renewedAt: SignOfLife;
  #hasEnded = false;

  /** `ms` from now on, by the clock that says the most. */
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

  /** A sign of life, to be told to `renew` when PostgreSQL has accepted it. */
  sign(): SignOfLife {
    return this.#now();
  }

  /** A sign of life was accepted; one that came after the end changes nothing. */
  renew(sign: SignOfLife): void {
    if (this.hasEnded) return;
    // Answers may come in another order.
    if ((sign[0] ?? 0) > (this.#renewedAt[0] ?? 0)) this.#renewedAt = sign;
  }

  /** Takes one job under the lease. */
  claim(): Claim {
    const controller = new AbortController();
    const isOver = () => this.hasEnded || isLost;
    let isLost = false;
    // `aborted` is computed on read: after a freeze, answers from the network may be handled before any timer.
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

/** One job's part of a lease. */
export interface Claim {
  /** Aborts when the lease ends or the job is lost. */
  readonly signal: AbortSignal;
  /** PostgreSQL says that the job is not this process's any more. */
  lose(): void;
  /** The job's work is over. */
  release(): void;
}
