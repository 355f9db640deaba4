import type { Message } from '../../domain/messages/message.ts';

/** So many batches in a row without a stranger's message, and the account counts as this process's own again. */
const OWN_AFTER = 8;

type Numbered = Pick<Message, 'accountId' | 'channel' | 'seq'>;

/**
 * Whether another process accepts messages of the account that this one is busy with: there is a gap between the numbers
 * that the messages of two batches got.
 */
export class SharedAccount {
  #last: Numbered | undefined;
  /** Batches of the account until it is no longer taken for shared. */
  #left = 0;

  is(accountId: string | undefined): boolean {
    return this.#left > 0 && this.#last?.accountId === accountId;
  }

  /**
   * Takes note of the messages of a batch that were accepted, in their order: all of this process's batches, or what it
   * did itself would look like another's. Of several accounts the one known before is followed.
   */
  note(accepted: readonly Numbered[]): void {
    const before = this.#last;
    const first = accepted.find(({ accountId }) => accountId === before?.accountId) ?? accepted[0];
    const isLike = ({ accountId, channel }: Numbered) =>
      accountId === first?.accountId && channel === first.channel;
    const last = accepted.findLast(isLike);
    if (!first || !last) return;
    if (before?.accountId !== first.accountId) this.#left = 0;
    else if (before.channel === first.channel && before.seq + 1 !== first.seq) this.#left = OWN_AFTER;
    else if (this.#left > 0) this.#left -= 1;
    this.#last = last;
  }
}
