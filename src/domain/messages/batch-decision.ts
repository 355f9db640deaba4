import type { PreparedMessage } from './message.ts';

/** What a batch needs to know of an account, and what it leaves behind. */
export interface AccountState {
  readonly balanceMinor: number;
  /** Last sequence number given, per channel. */
  readonly seq: Readonly<Record<PreparedMessage['channel'], number>>;
  readonly ledgerSeq: number;
  /** When its newest message of any channel was accepted. */
  readonly lastAcceptedAt: Date | null;
}

/** What an accepted message gets from its account. */
export interface AcceptDecision {
  readonly kind: 'accept';
  /** As it was handed in. */
  readonly asked: PreparedMessage;
  /** Its `createdAt` is never before that of the account's messages with smaller numbers. */
  readonly prepared: PreparedMessage;
  readonly seq: number;
  /** Present when the message costs something: one ledger entry. */
  readonly ledger: { readonly seq: number; readonly balanceAfterMinor: number } | null;
}
interface RefuseDecision {
  readonly kind: 'refuse';
  readonly asked: PreparedMessage;
  readonly balanceMinor: number;
}

/**
 * Decides a batch, message by message in the order of arrival, against the locked accounts' state: each that
 * its account can still pay is accepted, each other is refused and leaves the rest alone (contract, rule 4).
 */
export function decideBatch(
  batch: readonly PreparedMessage[],
  accounts: ReadonlyMap<string, AccountState>,
): { decisions: (AcceptDecision | RefuseDecision)[]; after: Map<string, AccountState> } {
  const after = new Map<string, AccountState>();
  const decisions = batch.map((asked): AcceptDecision | RefuseDecision => {
    const state = after.get(asked.accountId) ?? accounts.get(asked.accountId);
    if (!state) throw new Error(`account ${asked.accountId} is not locked`);
    if (asked.costMinor > state.balanceMinor) {
      return { kind: 'refuse', asked, balanceMinor: state.balanceMinor };
    }
    const last = state.lastAcceptedAt;
    const prepared = last && last > asked.createdAt ? { ...asked, createdAt: last } : asked;
    const seq = state.seq[prepared.channel] + 1;
    const balanceMinor = state.balanceMinor - prepared.costMinor;
    const ledgerSeq = state.ledgerSeq + (prepared.costMinor > 0 ? 1 : 0);
    after.set(prepared.accountId, {
      balanceMinor,
      seq: { ...state.seq, [prepared.channel]: seq },
      ledgerSeq,
      lastAcceptedAt: prepared.createdAt,
    });
    return {
      kind: 'accept',
      asked,
      prepared,
      seq,
      ledger: prepared.costMinor > 0 ? { seq: ledgerSeq, balanceAfterMinor: balanceMinor } : null,
    };
  });
  return { decisions, after };
}
