import type { Account, LedgerEntry, Plan, RetentionDays } from '../accounts/account.ts';
import type { PriceRow } from '../money/tariff.ts';
import type { KeyRange } from '../paging.ts';
import type { UsageQuery, UsageRow } from '../usage/usage.ts';

export interface AccountStore {
  insert(account: Account): Promise<void>;
  find(id: string): Promise<Account | undefined>;
  /** `find`, for showing: resolves when what it read is on the disk. */
  findOnDisk(id: string): Promise<Account | undefined>;
  /** Accounts by id, newest first. `search` matches name and email. */
  list(search: string | undefined, range: KeyRange): Promise<readonly Account[]>;
  count(search: string | undefined): Promise<number>;
  /** Sets the retention of an account. Returns the former one; undefined if there is no such account. */
  setRetention(id: string, retention: RetentionDays): Promise<RetentionDays | undefined>;
  /** Sets whether the account's members must have a second factor. */
  setSecurityPolicy(id: string, requireSecondFactor: boolean): Promise<void>;
  /** Whether there is no account. */
  isEmpty(): Promise<boolean>;
  /**
   * Adds to balances and ledgers, one entry each, and returns the entries. Skips an entry whose refund or reference
   * exists.
   */
  credit(entries: readonly Omit<LedgerEntry, 'seq' | 'balanceAfterMinor'>[]): Promise<readonly LedgerEntry[]>;
  /** The entry that the account has under the reference. */
  findBooked(accountId: string, reference: string): Promise<LedgerEntry | undefined>;
}

export interface PriceStore {
  all(): Promise<readonly PriceRow[]>;
  /** Sets a price and returns the former minor units. */
  set(id: string, row: PriceRow, at: Date): Promise<number | undefined>;
  /** Returns false when any price change has used the reference before. */
  claimReference(reference: string, row: PriceRow, at: Date): Promise<boolean>;
  byReference(reference: string): Promise<PriceRow | undefined>;
}

/**
 * A balance that is not the sum of its ledger (`seq` 0), or an entry `seq` that does not follow the one before it.
 */
export interface LedgerMismatch {
  readonly accountId: string;
  readonly seq: number;
}

/** The periodic check that balances are the sums of their ledgers (R17). */
export interface LedgerCheckStore {
  /**
   * Compares the next `accounts` balances with their last entries, and each of the next `entries` ledger entries
   * with the one before it. Starts again after the last. Removes findings that are correct by now. Returns new
   * findings; none while another process checks.
   */
  checkNext(accounts: number, entries: number): Promise<readonly LedgerMismatch[]>;
  /** Accounts with a finding that is still wrong. */
  countMismatched(): Promise<number>;
}

export interface LedgerFilter {
  /** Inclusive bounds of the time. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

export interface LedgerStore {
  /** An account's ledger, newest entry first. */
  entries(accountId: string, filter: LedgerFilter, range: KeyRange): Promise<readonly LedgerEntry[]>;
  count(accountId: string, filter: LedgerFilter): Promise<number>;
}

export interface PlanStore {
  /** By name. */
  all(): Promise<readonly Plan[]>;
  /** Creates or changes the plan of that name. Returns the former plan, undefined if it is new. */
  set(id: string, plan: Plan, at: Date): Promise<Plan | undefined>;
  /** Assigns a plan to an existing account, or none with null. Returns false if there is no such plan. */
  assign(accountId: string, name: string | null): Promise<boolean>;
}

export interface UsageStore {
  /** Counts of the hours that begin before `to` and end after `from`, by time. */
  query(accountId: string, query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Adds the deltas of batches to the hourly counts. No delta is counted twice or missed meanwhile. */
  fold(): Promise<void>;
}
