/**
 * A **lane** is the queue of attempts for one endpoint in this process. It runs a bounded number at the same time, and
 * the others wait in order. An endpoint is **slow** if none of its running attempts gets an answer, or if it recently
 * did not answer in time. Jobs of slow endpoints wait in the backlog, where they block no other endpoint.
 */
import { Semaphore } from '../../runtime/semaphore.ts';

/** Largest number of concurrent attempts to one endpoint in one process. */
const IN_FLIGHT_PER_ENDPOINT = 10;
/** If a process runs more attempts than this, a slow endpoint gets only one attempt at a time. This saves sockets. */
const IN_FLIGHT_UNDER_PRESSURE = 1_000;
/** Number of attempts that may wait in one lane: work for about a second. Further ones go to the backlog. */
const MAX_WAITING = 4_000;
/**
 * An endpoint becomes slow if an attempt fails after at least this time, in ms. It is also slow if its lane is full and
 * no attempt has ended for this time.
 */
const SLOW_MS = 1_000;
/** How long an endpoint stays slow, in ms. An answer in time ends this at once. */
const SLOW_MEMORY_MS = 60_000;
/** Number of lanes above which idle ones are removed. */
const MAX_IDLE_LANES = 1_000;

export class EndpointLanes {
  readonly #lanes = new Map<string, Lane>();
  #inFlight = 0;

  /** Returns the lane of an endpoint. */
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

  /** Changes the number of running attempts in all lanes. Only lanes call it. */
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
  /** When an attempt last ended, or when the first one started in an empty lane (performance.now, ms). */
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

  /** True if a further attempt would have to wait long. */
  get isFull(): boolean {
    return this.isSlow || this.#permits.waiting >= MAX_WAITING;
  }

  /** Starts an attempt if there is room. After each true, call `leave` once. */
  tryEnter(): boolean {
    if (!this.#permits.tryAcquire()) return false;
    if (this.#permits.held === 1) this.#movedAt = performance.now();
    this.#all.count(1);
    return true;
  }

  /** Waits for room for one attempt. Resolves with false if `signal` aborts. After each true, call `leave` once. */
  async enter(signal: AbortSignal): Promise<boolean> {
    if (this.tryEnter()) return true;
    if (!(await this.#permits.acquire(signal))) return false;
    this.#all.count(1);
    return true;
  }

  /** Ends an attempt and makes room for the next one. `attempt` is undefined if none was made. */
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
