/**
 * **Lane**: the attempts of one endpoint in this process. A bounded number runs at once, the others wait in order.
 * An endpoint is **slow** when all its attempts are unanswered, or when it recently failed to answer in time. Jobs
 * of slow endpoints wait in the backlog, where they block no other endpoint.
 */
import { Semaphore } from '../../runtime/semaphore.ts';

/** Concurrent attempts of one endpoint in one process. */
const IN_FLIGHT_PER_ENDPOINT = 10;
/** Above this number of attempts in a process, slow endpoints get one at a time, to save sockets. */
const IN_FLIGHT_UNDER_PRESSURE = 1_000;
/** Waiting attempts of one lane: about a second's work. Further ones go to the backlog. */
const MAX_WAITING = 4_000;
/**
 * An attempt that fails after this time, or a full lane in which none ended for this time, makes its endpoint slow.
 */
const SLOW_MS = 1_000;
/** How long an endpoint stays slow. An answer in time ends it. */
const SLOW_MEMORY_MS = 60_000;
/** Above this number of lanes, idle ones are dropped. */
const MAX_IDLE_LANES = 1_000;

export class EndpointLanes {
  readonly #lanes = new Map<string, Lane>();
  #inFlight = 0;

  /** The lane of an endpoint. */
  of(webhookId: string): Lane {
    let lane = this.#lanes.get(webhookId);
    if (lane === undefined) {
      if (this.#lanes.size >= MAX_IDLE_LANES) this.#dropIdle();
      lane = new Lane(this);
      this.#lanes.set(webhookId, lane);
    }
    return lane;
  }

  get isUnderPressure(): boolean {
    return this.#inFlight > IN_FLIGHT_UNDER_PRESSURE;
  }

  /** Adds to the attempts of all lanes. Only lanes call it. */
  count(change: 1 | -1): void {
    this.#inFlight += change;
  }

  #dropIdle(): void {
    for (const [id, lane] of this.#lanes) if (lane.isIdle) this.#lanes.delete(id);
  }
}

export class Lane {
  readonly #all: EndpointLanes;
  readonly #permits = new Semaphore(() => this.#limit);
  /** When a permit was last released or, in an empty lane, first taken (performance.now, ms). */
  #movedAt = 0;
  #slowUntil = 0;

  constructor(all: EndpointLanes) {
    this.#all = all;
  }

  get isIdle(): boolean {
    return this.#permits.held === 0 && this.#permits.waiting === 0 && performance.now() >= this.#slowUntil;
  }

  get isSlow(): boolean {
    const now = performance.now();
    return now < this.#slowUntil || (this.#permits.isFull && now - this.#movedAt > SLOW_MS);
  }

  /** Whether a further attempt would wait long. */
  get isFull(): boolean {
    return this.isSlow || this.#permits.waiting >= MAX_WAITING;
  }

  /** Takes a permit for one attempt if one is free. Each true needs one `leave`. */
  tryEnter(): boolean {
    if (!this.#permits.tryAcquire()) return false;
    if (this.#permits.held === 1) this.#movedAt = performance.now();
    this.#all.count(1);
    return true;
  }

  /** Waits for a permit for one attempt; resolves with false when `signal` aborts. Each true needs one `leave`. */
  async enter(signal: AbortSignal): Promise<boolean> {
    if (this.tryEnter()) return true;
    if (!(await this.#permits.acquire(signal))) return false;
    this.#all.count(1);
    return true;
  }

  /** Releases a permit after an attempt that took `durationMs`; undefined when none was made. */
  leave(attempt: { readonly ok: boolean; readonly durationMs: number } | undefined): void {
    const now = performance.now();
    this.#movedAt = now;
    if (attempt && attempt.durationMs < SLOW_MS) this.#slowUntil = 0;
    else if (attempt && !attempt.ok) this.#slowUntil = now + SLOW_MEMORY_MS;
    this.#all.count(-1);
    this.#permits.release();
  }

  get #limit(): number {
    return this.#all.isUnderPressure && performance.now() < this.#slowUntil ? 1 : IN_FLIGHT_PER_ENDPOINT;
  }
}
