import type { Timers } from '../ports/system.ts';

/** More changed objects than this are not kept for one watcher: it reads everything anew instead. */
const PENDING_MAX = 1_000;
/** How long what is read anew is left alone. */
const REFETCH_EVERY_MS = 1_000;

/** Says that changes went by unseen: what is shown must be read anew. */
export const REFETCH = Symbol('refetch');
/** What a watcher is shown, or that it must read anew. */
export type Shown<T> = T | typeof REFETCH;

/** How much is shown at once, and how long after it the next: what changes meanwhile is shown once. */
export interface Pace {
  readonly most: number;
  readonly everyMs: number;
}

/**
 * What changed since a watcher last looked: each object once, however often it changed, and no more than so many.
 * Whoever looks rarely is told to read anew.
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

  /** Changed objects that wait to be shown. */
  get waiting(): number {
    return this.#changed.size;
  }

  /** Notes that objects changed; which ones is not known when `ids` is undefined. */
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
   * The ids of what changed, at a pace, until it is closed. Nothing is taken off before the one who watches asks for
   * it, so what changes twice meanwhile is there once.
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

  /** Waits for a change; false once it is closed. */
  async #hasChanges(): Promise<boolean> {
    while (!this.#closed.signal.aborted && !this.#isRefetchDue && this.#changed.size === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#closed.signal.aborted;
  }
}
