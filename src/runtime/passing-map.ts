/**
 * A map for what comes and goes by the thousand. A plain one keeps each table that it has grown out of, the next one with it,
 * until the old heap is collected; what stood in it grows old with it, and all that it refers to. Here that is an empty cell.
 */
export class PassingMap<Key, Value> {
  readonly #cells = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#cells.size;
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value;
  }

  /** In place of what the key had, if anything, at the same place in the order. */
  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key);
    if (cell) cell.value = value;
    else this.#cells.set(key, { value });
  }

  /** Whether the key was there. */
  delete(key: Key): boolean {
    const cell = this.#cells.get(key);
    if (cell) cell.value = undefined;
    return this.#cells.delete(key);
  }

  /** In the order in which the keys came; what is added meanwhile comes, too. */
  *entries(): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#cells) yield [key, value as Value];
  }

  *values(): Generator<Value> {
    for (const { value } of this.#cells.values()) yield value as Value;
  }
}
