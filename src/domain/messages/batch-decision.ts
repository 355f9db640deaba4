import type { PreparedMessage } from './message.ts';

export interface AccountState {
  readonly balanceMinor: number;
  /** Last sequence number given, per channel. */
  readonly seq: Readonly<Record<PreparedMessage['channel'], number>>;
  readonly ledgerSeq: number;
}

/** What an accepted message gets from its account. */
export interface AcceptDecision {
  readonly kind: 'accept';
  readonly prepared: PreparedMessage;
  readonly seq: number;
  /** Present when the message costs something: one ledger entry. */
  readonly ledger: { readonly seq: number; readonly balanceAfterMinor: number } | null;
}
interface RefuseDecision {
  readonly kind: 'refuse';
  readonly prepared: PreparedMessage;
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
  const decisions = batch.map((prepared): AcceptDecision | RefuseDecision => {
    const state = after.get(prepared.accountId) ?? accounts.get(prepared.accountId);
    if (!state) throw new Error(`account ${prepared.accountId} is not locked`);
    if (prepared.costMinor > state.balanceMinor) {
      return { kind: 'refuse', prepared, balanceMinor: state.balanceMinor };
    }
    const seq = state.seq[prepared.channel] + 1;
    const balanceMinor = state.balanceMinor - prepared.costMinor;
    const ledgerSeq = state.ledgerSeq + (prepared.costMinor > 0 ? 1 : 0);
    after.set(prepared.accountId, {
      balanceMinor,
      seq: { ...state.seq, [prepared.channel]: seq },
      ledgerSeq,
    });
    return {
      kind: 'accept',
      prepared,
      seq,
      ledger: prepared.costMinor > 0 ? { seq: ledgerSeq, balanceAfterMinor: balanceMinor } : null,
    };
  });
  return { decisions, after };
}
