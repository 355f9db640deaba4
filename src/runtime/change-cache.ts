import { outsideReadScopes } from './read-scope.ts';

/** The announcements of changes that a cache needs. The domain's port `Changes` provides them. */
interface Announcements<Kind> {
  /** False while announcements may be lost. */
  readonly isListening: boolean;
  /**
   * Calls `onChange` with the id of a changed object. Calls it with undefined if any object of the kind may have
   * changed.
   */
  subscribe(kind: Kind, onChange: (id: string | undefined) => void): void;
}

/** How long an entry may be used while announcements may be lost, in ms (R9). */
const UNHEARD_TTL_MS = 1_000;

/**
 * A cache of values by id. Values are loaded on demand, and dropped when a change of their kind is announced. If a
 * change is announced while a value is loading, that value is not kept. The cache keeps at most `capacity` values and
 * drops the least recently used one first.
 */
export class ChangeCache<Kind, Value> {
  readonly #load: (id: string) => Promise<Value>;
  readonly #changes: Announcements<Kind>;
  readonly #capacity: number;
  /**
   * The entries, the least recently used one first. A read moves the entry to the end, but only once between two
   * insertions. This saves time, because most reads read the same entries again.
   */
  readonly #entries = new Map<string, { value: Promise<Value>; loadedAt: number; movedAfter: number }>();
  #arrivals = 0;
  #generation = 0;

  constructor(
    kind: Kind,
    changes: Announcements<Kind>,
    load: (id: string) => Promise<Value>,
    capacity = 10_000,
  ) {
    // The first caller loads the value for all others. So it must not be cancelled when that caller's request ends.
    this.#load = (id) => outsideReadScopes(() => load(id));
    this.#changes = changes;
    this.#capacity = capacity;
    changes.subscribe(kind, (id) => {
      this.#generation += 1;
      if (id === undefined) this.#entries.clear();
      else this.#entries.delete(id);
    });
  }

  get(id: string): Promise<Value> {
    const entry = this.#entries.get(id);
    if (entry && (this.#changes.isListening || performance.now() - entry.loadedAt < UNHEARD_TTL_MS)) {
      if (entry.movedAfter !== this.#arrivals) {
        entry.movedAfter = this.#arrivals;
        this.#entries.delete(id);
        this.#entries.set(id, entry);
      }
      return entry.value;
    }
    return this.renew(id);
  }

  /**
   * Returns the value that was loaded last, even while announcements may be lost. Undefined if there is none, or a
   * change of it was announced after that.
   */
  recall(id: string): Promise<Value> | undefined {
    return this.#entries.get(id)?.value;
  }

  forget(id: string): void {
    this.#entries.delete(id);
  }

  /** Loads the value again and replaces the cached one. */
  async renew(id: string): Promise<Value> {
    const generation = this.#generation;
    const loadedAt = performance.now();
    const value = await this.#load(id);
    if (generation === this.#generation) {
      this.#arrivals += 1;
      this.#entries.set(id, { value: Promise.resolve(value), loadedAt, movedAfter: this.#arrivals });
      if (this.#entries.size > this.#capacity) {
        for (const oldest of this.#entries.keys()) {
          this.#entries.delete(oldest);
          break;
        }
      }
    }
    return value;
  }
}
