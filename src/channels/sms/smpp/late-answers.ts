import type { Submission } from '../../../domain/ports/provider.ts';

/** Number of messages whose late answers are kept in memory. Above it, the oldest are dropped. */
const MAX_KEPT = 10_000;

/**
 * Keeps the sids of messages that the carrier accepted only after the gateway had stopped waiting. Such a message must
 * not be sent again.
 */
export class LateAnswers {
  readonly #sids = new Map<string, string>();

  note(submission: Submission, sid: string): void {
    this.#sids.set(keyOf(submission), sid);
    const [oldest] = this.#sids.keys();
    if (oldest !== undefined && this.#sids.size > MAX_KEPT) this.#sids.delete(oldest);
  }

  sidOf(submission: Submission): string | undefined {
    return this.#sids.size === 0 ? undefined : this.#sids.get(keyOf(submission));
  }
}

function keyOf({ messageId, position }: Submission): string {
  return `${messageId}:${position}`;
}
