import type { Submission } from '../../../domain/ports/provider.ts';

/** Messages whose late answers are remembered. */
const MAX_KEPT = 10_000;

/**
 * Sids of messages that the carrier accepted after they had been given up. Such a message is not sent again. Beyond
 * ten thousand the oldest are forgotten.
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
