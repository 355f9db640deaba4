import { fromMinor } from '../money/money.ts';

/** An **account** owns keys, messages, webhooks and a balance; its balance always equals its ledger's sum (R17). */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly currency: string;
  readonly balanceMinor: number;
  readonly retention: RetentionDays;
  /** Null where the RATE_LIMIT_* variables hold. */
  readonly plan: Plan | null;
  readonly createdAt: Date;
}

/** How many requests each key of an account may make (R12). `perSecond` 0 is no such rule. */
export interface Plan {
  readonly name: string;
  readonly perMinute: number;
  readonly perSecond: number;
  readonly webhooksPerMinute: number;
  /** Requests of each session of a person; null where RATE_LIMIT_SESSION_PER_MINUTE holds. */
  readonly sessionPerMinute: number | null;
}

export interface LedgerEntry {
  readonly accountId: string;
  /** Dense number within the account, from 1. */
  readonly seq: number;
  readonly kind: 'opening' | 'topup' | 'charge' | 'refund';
  readonly amountMinor: number;
  readonly balanceAfterMinor: number;
  readonly messageId: string | null;
  readonly position: number | null;
  readonly reference: string | null;
  readonly actor: string | null;
  readonly createdAt: Date;
}

/** For how many days, counted from its acceptance, a message's text is kept, and the message; null is for ever. */
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
