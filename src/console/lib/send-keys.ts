/** A second Enter so soon after the answer to the first means the first. */
const AGAIN_AFTER_MS = 1_000;

/**
 * The idempotency keys of a form, one for each content that it sends: what is tried again unchanged, since its answer
 * got lost, goes out once, and what was changed is a message of its own.
 */
export class SendKeys {
  readonly #keys = new Map<string, string>();

  /** The key of a content, given as any text that says all of it. */
  keyOf(content: string): string {
    const key = this.#keys.get(content) ?? newKey();
    this.#keys.set(content, key);
    return key;
  }

  /** Says that the content was sent: the next time it is meant to be sent once more. */
  sent(content: string): void {
    setTimeout(() => this.#keys.delete(content), AGAIN_AFTER_MS);
  }
}

/** Not `randomUUID`, which pages without HTTPS do not have. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
