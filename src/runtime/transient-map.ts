/**
 * A Map for thousands of short-lived entries. When a plain Map grows, V8 makes a new table. The old table may stay in
 * the old generation of the heap for a while, and keeps all its values alive. Here the table refers only to small
 * cells, and `delete` empties the cell at once (ADR-0015).
 */
export class TransientMap<Key, Value> {
  readonly #cells = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#cells.size;
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value;
  }

  /** Replaces the value of an existing key without moving it. Adds a new key at the end. */
  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key);
    if (cell) cell.value = value;
    else this.#cells.set(key, { value });
  }

  /** Returns true if the key existed. */
  delete(key: Key): boolean {
    const cell = this.#cells.get(key);
    if (cell) cell.value = undefined;
    return this.#cells.delete(key);
  }

  /** Iterates in order of insertion. Entries that are added during the iteration are included. */
  *entries(): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#cells) yield [key, value as Value];
  }

  *values(): Generator<Value> {
    for (const { value } of this.#cells.values()) yield value as Value;
  }
}
