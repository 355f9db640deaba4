import { fromMinor } from '../money/money.ts';

/** An **account** owns keys, messages, webhooks and a balance. Its balance equals the sum of its ledger (R17). */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly currency: string;
  readonly balanceMinor: number;
  readonly retention: RetentionDays;
  /** Null when the RATE_LIMIT_* variables apply. */
  readonly plan: Plan | null;
  /** Whether its members must have a second factor (R250). */
  readonly requireSecondFactor: boolean;
  readonly createdAt: Date;
}

/** Request limits of each key of an account (R12). `perSecond` 0 means unlimited. */
export interface Plan {
  readonly name: string;
  readonly perMinute: number;
  readonly perSecond: number;
  readonly webhooksPerMinute: number;
  /** Requests of each session of a person; null when RATE_LIMIT_SESSION_PER_MINUTE applies. */
  readonly sessionPerMinute: number | null;
}

export const LEDGER_ENTRY_KINDS = ['opening', 'topup', 'charge', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];

export interface LedgerEntry {
  readonly accountId: string;
  /** Dense number within the account, from 1. */
  readonly seq: number;
  readonly kind: LedgerEntryKind;
  readonly amountMinor: number;
  readonly balanceAfterMinor: number;
  readonly messageId: string | null;
  readonly position: number | null;
  readonly reference: string | null;
  readonly actor: string | null;
  readonly createdAt: Date;
}

/** Days after acceptance at which the text of a message is erased, and the message deleted; null keeps it. */
export interface RetentionDays {
  readonly contentDays: number | null;
  readonly messageDays: number | null;
}

/** An account as every answer shows it (R60–R63, R103). */
export function accountResource(account: Account) {
  return {
    id: account.id,
    email: account.email,
    balance: fromMinor(account.balanceMinor, account.currency),
    currency: account.currency,
  };
}
