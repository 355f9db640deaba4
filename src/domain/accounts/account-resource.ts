import { fromMinor } from '../money/money.ts';
import type { Account } from './account.ts';

/** An account as every answer about it shows it (R103). */
export function accountResource(account: Account) {
  return {
    id: account.id,
    email: account.email,
    balance: fromMinor(account.balanceMinor, account.currency),
    currency: account.currency,
  };
}
