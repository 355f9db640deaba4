/** Bits for each text. With `HASHES` hashes, one look-up in a hundred finds a text that was never added. */
const BITS_PER_TEXT = 10;
const HASHES = 7;
const WORD = 32;

/**
 * A set of texts that may say yes for a text that it does not have, about once in a hundred. It never says no for one
 * that it has. It takes 10 to 20 bits a text, however long the texts are. Texts cannot be removed.
 */
export class BloomFilter {
  readonly capacity: number;
  readonly #words: Uint32Array;
  readonly #mask: number;
  #count = 0;

  /** Above `capacity` texts it says yes more often. */
  constructor(capacity: number) {
    this.capacity = capacity;
    const bits = 2 ** Math.ceil(Math.log2(Math.max(WORD, capacity * BITS_PER_TEXT)));
    this.#words = new Uint32Array(bits / WORD);
    this.#mask = bits - 1;
  }

  /** Number of calls of `add`. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  add(text: string): void {
    this.#count += 1;
    const [first, step] = hashesOf(text);
    for (let at = 0, bit = first; at < HASHES; at++, bit += step) {
      const place = bit & this.#mask;
      this.#words[place >>> 5] = (this.#words[place >>> 5] ?? 0) | (1 << (place & 31));
    }
  }

  mayHave(text: string): boolean {
    const [first, step] = hashesOf(text);
    for (let at = 0, bit = first; at < HASHES; at++, bit += step) {
      const place = bit & this.#mask;
      if (((this.#words[place >>> 5] ?? 0) & (1 << (place & 31))) === 0) return false;
    }
    return true;
  }
}

/** Returns two hashes of 32 bits (FNV-1a with two offsets). The second is odd, so that it reaches every bit. */
function hashesOf(text: string): readonly [number, number] {
  let first = 0x811c9dc5;
  let second = 0x01000193;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second ^ code, 0x85ebca6b);
  }
  // The last characters have changed the high bits only a little.
  first ^= first >>> 15;
  second ^= second >>> 13;
  return [first >>> 0, (second | 1) >>> 0];
}
