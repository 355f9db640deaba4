/** What a cache needs of announced changes; the domain's port has the words. */
interface Announcements<Kind> {
  /** False while announcements may be missed. */
  readonly isListening: boolean;
  /** Calls back with the changed object's id, or with undefined when any of the kind may have changed. */
  subscribe(kind: Kind, onChange: (id: string | undefined) => void): void;
}

/** How long an entry may be used while announcements of changes cannot be heard (R9). */
const UNHEARD_TTL_MS = 1_000;

/**
 * Values by id, loaded on demand and dropped when a change of their kind is announced. A value whose load began
 * before a change is not kept. At most `capacity` values; the ones unused for longest go first.
 */
export class ChangeCache<Kind, Value> {
  readonly #load: (id: string) => Promise<Value>;
  readonly #changes: Announcements<Kind>;
  readonly #capacity: number;
  /** The ones unused for longest first; an arrival between two uses moves one back to the end. */
  readonly #entries = new Map<string, { value: Promise<Value>; loadedAt: number; movedAfter: number }>();
  #arrivals = 0;
  #generation = 0;

  constructor(
    kind: Kind,
    changes: Announcements<Kind>,
    load: (id: string) => Promise<Value>,
    capacity = 10_000,
  ) {
    this.#load = load;
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

  /** Loads the value, whatever is known of it. */
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
