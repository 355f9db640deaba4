import type { Channel, PreparedMessage } from './message.ts';

/** A message that its account cannot pay, with the balance at that point. */
interface UnaffordableMessage {
  readonly prepared: PreparedMessage;
  readonly balanceMinor: number;
}

/**
 * Goes through a batch in the order of arrival, with the accounts' balances in minor units. A message that its
 * account can pay is accepted. Any other is refused and does not affect the rest (R99).
 */
export function decideBatch(
  batch: readonly PreparedMessage[],
  balances: ReadonlyMap<string, number>,
): { readonly affordable: PreparedMessage[]; readonly refused: UnaffordableMessage[] } {
  const remaining = new Map(balances);
  const affordable: PreparedMessage[] = [];
  const refused: UnaffordableMessage[] = [];
  for (const prepared of batch) {
    const balanceMinor = remaining.get(prepared.accountId);
    if (balanceMinor === undefined) throw new Error(`account ${prepared.accountId} is not locked`);
    if (prepared.costMinor > balanceMinor) {
      refused.push({ prepared, balanceMinor });
      continue;
    }
    remaining.set(prepared.accountId, balanceMinor - prepared.costMinor);
    affordable.push(prepared);
  }
  return { affordable, refused };
}

/** The sums that a batch adds to one account. */
export interface AccountShare {
  readonly accountId: string;
  costMinor: number;
  /** Number of ledger entries; a message at no cost has none. */
  entries: number;
  /** Number of messages by channel. */
  readonly messages: Record<Channel, number>;
  /** The latest `createdAt` among its messages. All of them are accepted at this time or later. */
  askedAt: Date;
}

/** A message with its positions among the messages of its account in the batch. Positions count from 1. */
export interface PlacedMessage {
  readonly prepared: PreparedMessage;
  readonly share: AccountShare;
  /** Position among the messages of its channel. */
  readonly place: number;
  /**
   * Position among the ledger entries, and the sum of the charges up to this one. Absent for a message at no cost.
   */
  readonly charge: { readonly place: number; readonly totalMinor: number } | undefined;
}

/**
 * Numbers the messages of a batch in the order of arrival, independent of what their accounts have stored before.
 */
export function placeBatch(batch: readonly PreparedMessage[]): {
  readonly placed: PlacedMessage[];
  readonly shares: AccountShare[];
} {
  const shares = new Map<string, AccountShare>();
  const placed = batch.map((prepared): PlacedMessage => {
    const { accountId, channel, costMinor, createdAt } = prepared;
    let share = shares.get(accountId);
    if (!share) {
      const messages = { sms: 0, email: 0, push: 0, whatsapp: 0 };
      share = { accountId, costMinor: 0, entries: 0, messages, askedAt: createdAt };
      shares.set(accountId, share);
    }
    share.costMinor += costMinor;
    share.messages[channel] += 1;
    if (createdAt > share.askedAt) share.askedAt = createdAt;
    if (costMinor > 0) share.entries += 1;
    return {
      prepared,
      share,
      place: share.messages[channel],
      charge: costMinor > 0 ? { place: share.entries, totalMinor: share.costMinor } : undefined,
    };
  });
  return { placed, shares: [...shares.values()] };
}
