/**
 * The 8-bit reference that tells a handset which parts belong together. A message some of whose parts may
 * have left keeps its reference for the next try, so that the handset joins old and new parts into one
 * message instead of showing two torn ones.
 */
const MAX_KEPT = 1_000;

export class LongMessageReferences {
  readonly #kept = new Map<string, number>();
  #last: number;

  constructor(random: () => number) {
    this.#last = Math.floor(random() * 256);
  }

  /** The reference (0 to 255) for the message known as `key`. */
  take(key: string): number {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    this.#last = (this.#last + 1) % 256;
    return this.#last;
  }

  /** Remembers the reference of a half-sent message; the oldest is forgotten beyond a thousand. */
  keep(key: string, reference: number): void {
    this.#kept.delete(key);
    this.#kept.set(key, reference);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }

  forget(key: string): void {
    this.#kept.delete(key);
  }
}
