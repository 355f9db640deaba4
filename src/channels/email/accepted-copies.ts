/** Number of mails whose accepted copies are kept in memory. Above it, the oldest are dropped. */
const MAX_KEPT = 10_000;

/**
 * Remembers for each mail (by Message-ID) which of its copies (cc, bcc) a server has accepted although it deferred the
 * recipient. When the mail is retried, these copies are not sent again, not even through another server.
 */
export class AcceptedCopies {
  readonly #kept = new Map<string, ReadonlySet<string>>();

  /** Returns the accepted copies of a mail. */
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

  /** Forgets a mail. Call it when the recipient has a final outcome. */
  forget(messageId: string): void {
    this.#kept.delete(messageId);
  }
}
