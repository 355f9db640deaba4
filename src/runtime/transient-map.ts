/**
 * A Map for thousands of short-lived entries. A plain Map that grew or was compacted leaves its old table to the old
 * generation, and what the table refers to survives with it. Here the table refers to a cell, which `delete` empties
 * (ADR-0015).
 */
export class TransientMap<Key, Value> {
  readonly #cells = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#cells.size;
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value;
  }

  /** Replaces the value of a key in place; a new key goes to the end. */
  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key);
    if (cell) cell.value = value;
    else this.#cells.set(key, { value });
  }

  /** Returns whether the key was there. */
  delete(key: Key): boolean {
    const cell = this.#cells.get(key);
    if (cell) cell.value = undefined;
    return this.#cells.delete(key);
  }

  /** In order of insertion. Entries that are added meanwhile are included. */
  *entries(): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#cells) yield [key, value as Value];
  }

  *values(): Generator<Value> {
    for (const { value } of this.#cells.values()) yield value as Value;
  }
}
