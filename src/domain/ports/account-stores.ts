import type { Account, AccountOrder, LedgerEntry, Plan, RetentionDays } from '../accounts/account.ts';
import type { Month, StatementSums } from '../accounts/statement.ts';
import type { PriceRow } from '../money/tariff.ts';
import type { KeyRange, TwoWayRange } from '../paging.ts';
import type { UsageQuery, UsageRow } from '../usage/usage.ts';

export interface AccountStore {
  insert(account: Account): Promise<void>;
  find(id: string): Promise<Account | undefined>;
  /** Returns the id of the account whose id has these last 17 characters. */
  idOfTail(tail: string): Promise<string | undefined>;
  /**
   * Like `find`, but resolves only when the values that it read are on the disk. Use it for a balance that people see.
   */
  findOnDisk(id: string): Promise<Account | undefined>;
  /** Like `findOnDisk`, for several accounts, in no particular order. Ids that name no account are left out. */
  findMany(ids: readonly string[]): Promise<readonly Account[]>;
  /** Lists accounts in an order (R525). `search` matches a part of the name or the email address. */
  list(search: string | undefined, range: KeyRange, order?: AccountOrder): Promise<readonly Account[]>;
  count(search: string | undefined): Promise<number>;
  /** Sets the retention of an account. Returns the retention before. Undefined if there is no such account. */
  setRetention(id: string, retention: RetentionDays): Promise<RetentionDays | undefined>;
  /** Sets whether the account's members must have a second factor. */
  setSecurityPolicy(id: string, requireSecondFactor: boolean): Promise<void>;
  /** True if there is no account yet. */
  isEmpty(): Promise<boolean>;
  /**
   * Adds to balances, with one ledger entry each, and returns the new entries. An entry is skipped if the same refund
   * or the same reference was booked before.
   */
  credit(entries: readonly Omit<LedgerEntry, 'seq' | 'balanceAfterMinor'>[]): Promise<readonly LedgerEntry[]>;
  /** Returns the account's ledger entry with this reference. */
  findBooked(accountId: string, reference: string): Promise<LedgerEntry | undefined>;
}

export interface PriceStore {
  all(): Promise<readonly PriceRow[]>;
  /** Sets a price. Returns the price before, in minor units. Undefined if there was none. */
  set(id: string, row: PriceRow, at: Date): Promise<number | undefined>;
  /** Returns the prices of a currency, and locks them until the transaction ends. Other changes of prices wait. */
  lock(currency: string): Promise<readonly PriceRow[]>;
  remove(row: Pick<PriceRow, 'currency' | 'channel' | 'prefix'>): Promise<void>;
  /** Claims a reference for a price change. Returns false if an earlier price change used it. */
  claimReference(reference: string, row: PriceRow, at: Date): Promise<boolean>;
  byReference(reference: string): Promise<PriceRow | undefined>;
}

/**
 * A fault in an account's money. If `seq` is 0, the balance is not the sum of the ledger. Otherwise the ledger entry
 * `seq` does not follow from the entry before it.
 */
export interface LedgerMismatch {
  readonly accountId: string;
  readonly seq: number;
}

/** The periodic check that balances are the sums of their ledgers (R17). */
export interface LedgerCheckStore {
  /**
   * Checks the next `accounts` balances against their last ledger entries, and the next `entries` ledger entries
   * against the entry before each. After the last one, the next call starts again. Deletes findings that are correct by
   * now. Returns the new findings. Returns none while another process checks.
   */
  checkNext(accounts: number, entries: number): Promise<readonly LedgerMismatch[]>;
  /** Returns the number of accounts with a finding that is still wrong. */
  countMismatched(): Promise<number>;
}

export interface LedgerFilter {
  /** Bounds of the entry's time, both included. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

export interface LedgerStore {
  /** Returns an account's ledger entries, newest first. */
  entries(accountId: string, filter: LedgerFilter, range: TwoWayRange): Promise<readonly LedgerEntry[]>;
  count(accountId: string, filter: LedgerFilter): Promise<number>;
  /** Returns the sums of an account's month, all of one snapshot. */
  monthly(accountId: string, month: Month): Promise<StatementSums>;
}

export interface PlanStore {
  /** Returns all plans, by name. */
  all(): Promise<readonly Plan[]>;
  /** Creates the plan of that name or changes it. Returns the plan before. Undefined if it is new. */
  set(id: string, plan: Plan, at: Date): Promise<Plan | undefined>;
  /**
   * Assigns a plan to an existing account. A null `name` removes the account's plan. Returns false if there is no plan
   * of that name.
   */
  assign(accountId: string, name: string | null): Promise<boolean>;
}

export interface UsageStore {
  /** Returns hourly counts in order of time: all hours that begin before `to` and end after `from`. */
  query(accountId: string, query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Returns the account's currency, which never changes. A replica may serve it, unlike the rest of the account. */
  currencyOf(accountId: string): Promise<string>;
  /**
   * Batches of messages record changes (deltas). Adds the deltas that are not counted yet to the hourly counts. While
   * it does so, queries count each change exactly once.
   */
  fold(): Promise<void>;
}
