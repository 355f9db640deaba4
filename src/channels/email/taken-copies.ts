/** Mails whose taken copies are remembered. */
const MAX_KEPT = 10_000;

/**
 * By Message-ID, the copies that a server took while the mail's recipient was put off: they have the mail, whichever
 * server gets it next. The oldest are forgotten beyond ten thousand mails.
 */
export class TakenCopies {
  readonly #kept = new Map<string, ReadonlySet<string>>();

  /** Those of a mail; none where nothing is known of it. */
  of(messageId: string): ReadonlySet<string> {
    return this.#kept.get(messageId) ?? new Set();
  }

  /** Adds copies to those of a mail. */
  add(messageId: string, copies: readonly string[]): void {
    if (copies.length === 0) return;
    const all = new Set([...this.of(messageId), ...copies]);
    this.#kept.delete(messageId);
    this.#kept.set(messageId, all);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
  }

  /** The mail's recipient is decided. */
  forget(messageId: string): void {
    this.#kept.delete(messageId);
  }
}
