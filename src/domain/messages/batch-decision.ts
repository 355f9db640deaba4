import { type Breach, breachOf, countIn, type OpenLimit } from '../limits/send-limits.ts';
import type { Channel, PreparedMessage } from './message.ts';

/** Why a message is refused. The messages before it in the batch have left too little of the balance, or of a limit. */
export type Shortage = { readonly balanceMinor: number } | { readonly breach: Breach };
interface RefusedMessage {
  readonly prepared: PreparedMessage;
  readonly shortage: Shortage;
}

/**
 * Splits a batch into messages that are accepted and messages that are refused. It goes through the batch in the order
 * of arrival and subtracts each cost from the account's balance, in minor units. A refused message does not affect the
 * others (R99). `limits` are the send limits by id. Their counts grow with the accepted messages (R371).
 *
 * Each 402 is decided here, and `PgIntake.accept` throws it. Intake first tries to write a batch as a whole. It calls
 * this function if the write fails, for example because a balance does not cover the batch.
 */
export function decideBatch(
  batch: readonly PreparedMessage[],
  balances: ReadonlyMap<string, number>,
  limits: ReadonlyMap<string, OpenLimit> = new Map(),
): { readonly affordable: PreparedMessage[]; readonly refused: RefusedMessage[] } {
  const remaining = new Map(balances);
  const affordable: PreparedMessage[] = [];
  const refused: RefusedMessage[] = [];
  for (const prepared of batch) {
    const balanceMinor = remaining.get(prepared.accountId);
    if (balanceMinor === undefined) throw new Error(`account ${prepared.accountId} is not locked`);
    const rows = prepared.limits.flatMap(({ id }) => limits.get(id) ?? []);
    const breach = breachOf(prepared, rows);
    if (breach || prepared.costMinor > balanceMinor) {
      refused.push({ prepared, shortage: breach ? { breach } : { balanceMinor } });
      continue;
    }
    countIn(prepared, rows);
    remaining.set(prepared.accountId, balanceMinor - prepared.costMinor);
    affordable.push(prepared);
  }
  return { affordable, refused };
}

/** What a batch adds to one account. */
export interface AccountShare {
  readonly accountId: string;
  costMinor: number;
  /** Number of ledger entries. A message without cost has none. */
  entries: number;
  /** Number of messages by channel. */
  readonly messages: Record<Channel, number>;
  /** The latest `createdAt` of the account's messages in the batch. They are accepted at this time or later. */
  askedAt: Date;
}

/** A message with its positions in the batch. Positions count from 1, and only messages of the same account count. */
export interface PlacedMessage {
  readonly prepared: PreparedMessage;
  readonly share: AccountShare;
  /** Position among the messages of the same account and channel. */
  readonly place: number;
  /**
   * Position among the ledger entries of the account, and the sum of the charges up to this one. Undefined for a
   * message without cost.
   */
  readonly charge: { readonly place: number; readonly totalMinor: number } | undefined;
}

/**
 * Gives each message of a batch its positions, in the order of arrival. They count from the start of the batch, so they
 * do not depend on what the accounts have stored before.
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
