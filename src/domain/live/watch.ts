import type { Timers } from '../ports/system.ts';

/** Number of changed objects that may wait. Above it, they are dropped, and the subscriber must refetch everything. */
const PENDING_MAX = 1_000;
/** Shortest time between two refetches, in milliseconds. */
const REFETCH_EVERY_MS = 1_000;

/** Delivered if changes were dropped: the subscriber must refetch everything that it shows. */
export const REFETCH = Symbol('refetch');
/** What a subscription delivers: changes, or the request to refetch. */
export type Shown<T> = T | typeof REFETCH;

/**
 * How fast changes are delivered. `most` is the largest number of objects in one delivery. `everyMs` is the pause after
 * a delivery, in ms. Changes of one object during the pause are merged.
 */
export interface Pace {
  readonly most: number;
  readonly everyMs: number;
}

/**
 * The waiting changes of one subscription. Each object waits once, however often it changed. If more than `PENDING_MAX`
 * objects wait, the subscriber is too slow and must refetch.
 */
export class Watch {
  readonly #timers: Timers;
  readonly #onClose: (watch: Watch) => void;
  readonly #closed = new AbortController();
  readonly #changed = new Set<string>();
  #isRefetchDue = false;
  #wake: () => void = () => undefined;

  constructor(timers: Timers, onClose: (watch: Watch) => void) {
    this.#timers = timers;
    this.#onClose = onClose;
  }

  /** Number of changed objects that were not delivered yet. */
  get waiting(): number {
    return this.#changed.size;
  }

  /** Adds changed objects. `ids` is undefined if it is unknown which ones changed. */
  note(ids: readonly string[] | undefined): void {
    if (ids && !this.#isRefetchDue) for (const id of ids) this.#changed.add(id);
    if (!ids || this.#changed.size > PENDING_MAX) {
      this.#isRefetchDue = true;
      this.#changed.clear();
    }
    this.#wake();
  }

  close(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#changed.clear();
    this.#onClose(this);
    this.#wake();
  }

  /**
   * Delivers the ids of changed objects until the subscription is closed, not faster than `pace` allows. An id waits
   * until the subscriber asks for the next delivery, so repeated changes are delivered once.
   */
  async *changes({ most, everyMs }: Pace): AsyncGenerator<Shown<readonly string[]>> {
    try {
      while (await this.#hasChanges()) {
        if (this.#isRefetchDue) {
          this.#isRefetchDue = false;
          yield REFETCH;
          await this.#timers.sleep(REFETCH_EVERY_MS, this.#closed.signal);
        } else {
          const ids = [...this.#changed].slice(0, most);
          for (const id of ids) this.#changed.delete(id);
          yield ids;
          await this.#timers.sleep(everyMs, this.#closed.signal);
        }
      }
    } finally {
      this.close();
    }
  }

  /** Waits for a change. Returns false once the subscription is closed. */
  async #hasChanges(): Promise<boolean> {
    while (!this.#closed.signal.aborted && !this.#isRefetchDue && this.#changed.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#closed.signal.aborted;
  }
}
