/** An Enter within this time after an answer is the second half of a double press, in ms. */
const AGAIN_AFTER_MS = 1_000;

/**
 * The idempotency keys of a form, one for each content. Sending the same content again after a lost answer sends it
 * once; changed content is another message.
 */
export class SendKeys {
  readonly #keys = new Map<string, string>();

  /** The key for a content, given as a text that identifies it. */
  keyOf(content: string): string {
    const key = this.#keys.get(content) ?? newKey();
    this.#keys.set(content, key);
    return key;
  }

  /** Records that the content was sent: after a moment, sending it again is intended and gets another key. */
  sent(content: string): void {
    setTimeout(() => this.#keys.delete(content), AGAIN_AFTER_MS);
  }
}

/** Not `randomUUID`: it does not exist on pages without HTTPS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
