import type { LedgerEntry } from '../accounts/account.ts';
import type { KeyRange } from '../paging.ts';

export interface LedgerFilter {
  /** Made at or after, and at or before. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

export interface LedgerStore {
  /** An account's ledger, the newest entry first. */
  entries(accountId: string, filter: LedgerFilter, range: KeyRange): Promise<readonly LedgerEntry[]>;
  count(accountId: string, filter: LedgerFilter): Promise<number>;
}
