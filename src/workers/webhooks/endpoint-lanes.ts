/**
 * **Lane**: the attempts of one endpoint in this process. So many are on the wire at once, the others wait in order.
 * An endpoint is **slow** when it holds its places without answering, or lately failed to answer in time: its jobs
 * then wait in the backlog, where they are in nobody's way.
 */
import { Semaphore } from '../../runtime/semaphore.ts';

/** Attempts that one endpoint has on the wire at once, in one process. */
const IN_FLIGHT_PER_ENDPOINT = 10;
/** Attempts on the wire in one process beyond which a slow endpoint gets one at a time: sockets are finite. */
const IN_FLIGHT_UNDER_PRESSURE = 1_000;
/** Attempts that may wait in one lane, a second's work where answers come at once; what comes beyond belongs into the backlog. */
const MAX_WAITING = 4_000;
/** An attempt that fails after this long, or a full lane in which none ended for this long, makes its endpoint slow. */
const SLOW_MS = 1_000;
/** How long an endpoint is called slow after it last was. An answer in time ends it at once. */
const SLOW_MEMORY_MS = 60_000;
/** Lanes kept before those that say nothing any more are dropped. */
const MAX_IDLE_LANES = 1_000;

export class EndpointLanes {
  readonly #lanes = new Map<string, Lane>();
  #inFlight = 0;

  /** The lane of an endpoint; the same one as long as it has anything to remember. */
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

  /** Counts the attempts of all lanes; lanes call it. */
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

  /** True when another attempt would have to wait long, or behind many. */
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
