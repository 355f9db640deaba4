/** How long a sent content keeps its idempotency key, in ms, so that a double press of Enter sends once. */
const AGAIN_AFTER_MS = 1_000;

/**
 * The idempotency keys of a form, one for each content. A retry of the same content after a lost response uses the same
 * key, so the gateway sends it once. Changed content gets a new key.
 */
export class SendKeys {
  readonly #keys = new Map<string, string>();

  /** Returns the key for a content. `content` is a text that identifies it. */
  keyOf(content: string): string {
    const key = this.#keys.get(content) ?? newKey();
    this.#keys.set(content, key);
    return key;
  }

  /** Records that the content was sent. After `AGAIN_AFTER_MS`, sending it again is intended and gets a new key. */
  sent(content: string): void {
    setTimeout(() => this.#keys.delete(content), AGAIN_AFTER_MS);
  }
}

/** `crypto.randomUUID` does not exist on pages without HTTPS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
