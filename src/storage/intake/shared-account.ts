import type { Message } from '../../domain/messages/message.ts';

/** After this many batches without a message of another process, the account counts as unshared. */
const OWN_AFTER = 8;

type Numbered = Pick<Message, 'accountId' | 'channel' | 'seq'>;

/**
 * True if another process accepts messages of the account that this process is working on: the message numbers of two
 * batches have a gap.
 */
export class SharedAccount {
  #last: Numbered | undefined;
  /** Batches of the account until it counts as unshared. */
  #left = 0;

  is(accountId: string | undefined): boolean {
    return this.#left > 0 && this.#last?.accountId === accountId;
  }

  /**
   * Records the accepted messages of a batch, in order. Pass every batch: a gap in `seq` means that another process
   * writes. With several accounts, it keeps following the last one.
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
