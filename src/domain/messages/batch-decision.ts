import type { Channel, PreparedMessage } from './message.ts';

/** A message that its account cannot pay, and the balance it was refused at. */
interface Refusal {
  readonly prepared: PreparedMessage;
  readonly balanceMinor: number;
}

/**
 * Goes through a batch in the order of arrival with the accounts' balances, in minor units: each message that its
 * account can still pay is taken, each other is refused and leaves the rest alone (R99).
 */
export function decideBatch(
  batch: readonly PreparedMessage[],
  balances: ReadonlyMap<string, number>,
): { readonly affordable: PreparedMessage[]; readonly refused: Refusal[] } {
  const left = new Map(balances);
  const affordable: PreparedMessage[] = [];
  const refused: Refusal[] = [];
  for (const prepared of batch) {
    const balanceMinor = left.get(prepared.accountId);
    if (balanceMinor === undefined) throw new Error(`account ${prepared.accountId} is not locked`);
    if (prepared.costMinor > balanceMinor) {
      refused.push({ prepared, balanceMinor });
      continue;
    }
    left.set(prepared.accountId, balanceMinor - prepared.costMinor);
    affordable.push(prepared);
  }
  return { affordable, refused };
}

/** What a batch adds to an account. */
export interface AccountShare {
  readonly accountId: string;
  costMinor: number;
  /** Ledger entries: what costs nothing has none. */
  entries: number;
  /** Messages, by channel. */
  readonly messages: Record<Channel, number>;
  /** When the newest of its messages was asked for: all of them are accepted then, or later. */
  askedAt: Date;
}

/** A message with its place among those of its account in a batch; places count from 1. */
export interface PlacedMessage {
  readonly prepared: PreparedMessage;
  readonly share: AccountShare;
  /** Among those of its channel. */
  readonly place: number;
  /** Among the ledger entries, and what the batch has charged up to and with it; absent where it costs nothing. */
  readonly charge: { readonly place: number; readonly totalMinor: number } | undefined;
}

/** Gives each message its place, in the order of arrival, whatever its account has seen before. */
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
