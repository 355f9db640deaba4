import type { Timers } from '../ports/system.ts';

/** With more changes than this pending, the subscriber must refetch everything. */
const PENDING_MAX = 1_000;
/** Least time between two refetches. */
const REFETCH_EVERY_MS = 1_000;

/** Changes were dropped: the subscriber must refetch what it shows. */
export const REFETCH = Symbol('refetch');
/** A delivery to the subscriber, or the demand to refetch. */
export type Shown<T> = T | typeof REFETCH;

/** Objects of one delivery, and the pause after it. Changes during the pause are merged. */
export interface Pace {
  readonly most: number;
  readonly everyMs: number;
}

/**
 * The pending changes of one subscription: each object once, however often it changed, and at most `PENDING_MAX`. A
 * slow subscriber must refetch.
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

  /** Changed objects that were not delivered yet. */
  get waiting(): number {
    return this.#changed.size;
  }

  /** Notes changed objects. `ids` is undefined when it is unknown which ones changed. */
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
   * The ids of changed objects, at a pace, until closed. An id leaves the set only when the subscriber asks for the
   * next delivery, so repeated changes are delivered once.
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

  /** Waits for a change. Returns false once closed. */
  async #hasChanges(): Promise<boolean> {
    while (!this.#closed.signal.aborted && !this.#isRefetchDue && this.#changed.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#closed.signal.aborted;
  }
}
