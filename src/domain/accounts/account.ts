import { fromMinor } from '../money/money.ts';

/** An **account** owns keys, messages, webhooks and a balance. Its balance is the sum of its ledger (R17). */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly currency: string;
  readonly balanceMinor: number;
  readonly retention: RetentionDays;
  /** The plan of the account. Null if the limits of the RATE_LIMIT_* variables apply. */
  readonly plan: Plan | null;
  /** True if the account's members must have a second factor (R250). */
  readonly requireSecondFactor: boolean;
  readonly status: AccountStatus;
  readonly createdAt: Date;
}

/**
 * Whether the account works in this cell: `active`, `moving` (its changes are refused while it is copied to another
 * cell), or `moved` (another cell has it).
 */
export type AccountStatus = 'active' | 'moving' | 'moved';

/**
 * Orders of the list of accounts (R525): by id, the newest first, or by balance, the lowest first. Balances of different
 * currencies cannot be compared, so `balance` orders by currency first.
 */
export const ACCOUNT_ORDERS = ['newest', 'balance'] as const;
export type AccountOrder = (typeof ACCOUNT_ORDERS)[number];

/**
 * Limits on the number of requests of each API key and session of an account (R12). A `perSecond` of 0 means unlimited.
 */
export interface Plan {
  readonly name: string;
  readonly perMinute: number;
  readonly perSecond: number;
  readonly webhooksPerMinute: number;
  /**
   * Largest number of requests per minute of each session of a person. Null if RATE_LIMIT_SESSION_PER_MINUTE applies.
   */
  readonly sessionPerMinute: number | null;
}

export const LEDGER_ENTRY_KINDS = ['opening', 'topup', 'charge', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];

export interface LedgerEntry {
  readonly accountId: string;
  /** Number of the entry within the account, from 1, without gaps. */
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

/**
 * Days after acceptance at which the text of a message is erased (`contentDays`) and the message is deleted
 * (`messageDays`). Null keeps it.
 */
export interface RetentionDays {
  readonly contentDays: number | null;
  readonly messageDays: number | null;
}

/** Builds the account resource, the form of an account in every response (R60–R63, R103). */
export function accountResource(account: Account) {
  return {
    id: account.id,
    email: account.email,
    balance: fromMinor(account.balanceMinor, account.currency),
    currency: account.currency,
  };
}
