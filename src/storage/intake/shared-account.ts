import type { Message } from '../../domain/messages/message.ts';

/** An account counts as unshared after this many batches in a row without a message of another process. */
const OWN_AFTER = 8;

type Numbered = Pick<Message, 'accountId' | 'channel' | 'seq'>;

/**
 * Detects that another process also accepts messages of the account that this process works on. The sign is a gap
 * between the message numbers of two batches.
 */
export class SharedAccount {
  #last: Numbered | undefined;
  /** Number of further batches until the account counts as unshared. */
  #left = 0;

  is(accountId: string | undefined): boolean {
    return this.#left > 0 && this.#last?.accountId === accountId;
  }

  /**
   * Records the accepted messages of a batch, in order. Call it for every batch, because a gap in `seq` means that
   * another process writes. This object watches one account at a time. If a batch has several accounts, it continues
   * with the account of the last call, if the batch has messages of that account.
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
