/** Mails whose accepted copies are remembered. */
const MAX_KEPT = 10_000;

/**
 * By Message-ID, the copies that a server accepted while it deferred the mail's recipient. They are not sent again,
 * also not through another server. Beyond ten thousand mails the oldest are forgotten.
 */
export class AcceptedCopies {
  readonly #kept = new Map<string, ReadonlySet<string>>();

  /** The accepted copies of a mail. */
  of(messageId: string): ReadonlySet<string> {
    return this.#kept.get(messageId) ?? new Set();
  }

  /** Adds accepted copies of a mail. */
  add(messageId: string, copies: readonly string[]): void {
    if (copies.length === 0) return;
    const all = new Set([...this.of(messageId), ...copies]);
    this.#kept.delete(messageId);
    this.#kept.set(messageId, all);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
  }

  /** For a mail whose recipient has an outcome. */
  forget(messageId: string): void {
    this.#kept.delete(messageId);
  }
}
