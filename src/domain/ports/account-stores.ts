import type { Account, LedgerEntry, Plan, RetentionDays } from '../accounts/account.ts';
import type { PriceRow } from '../money/tariff.ts';
import type { KeyRange } from '../paging.ts';
import type { UsageQuery, UsageRow } from '../usage/usage.ts';

export interface AccountStore {
  insert(account: Account): Promise<void>;
  find(id: string): Promise<Account | undefined>;
  /** Accounts by id, the newest first; `search` looks into name and email. */
  list(search: string | undefined, range: KeyRange): Promise<readonly Account[]>;
  count(search: string | undefined): Promise<number>;
  /** Says how long an account keeps its messages; returns what it said before, undefined for no account. */
  setRetention(id: string, retention: RetentionDays): Promise<RetentionDays | undefined>;
  /** True when no account exists yet. */
  isEmpty(): Promise<boolean>;
  /**
   * Adds to balances and ledgers, one entry each, and returns the entries. An entry whose refund or reference
   * exists already is left out, and its account unchanged.
   */
  credit(entries: readonly Omit<LedgerEntry, 'seq' | 'balanceAfterMinor'>[]): Promise<readonly LedgerEntry[]>;
  /** What was booked on the account under the reference. */
  findBooked(accountId: string, reference: string): Promise<LedgerEntry | undefined>;
}

export interface PriceStore {
  all(): Promise<readonly PriceRow[]>;
  /** Sets a price; returns the minor units it had before. */
  set(id: string, row: PriceRow, at: Date): Promise<number | undefined>;
  /** False when the reference was used before, for whatever price. */
  claimReference(reference: string, row: PriceRow, at: Date): Promise<boolean>;
  byReference(reference: string): Promise<PriceRow | undefined>;
}

/** An account whose balance is not what its ledger says (`seq` 0), or whose entry `seq` does not follow the one before it. */
export interface LedgerMismatch {
  readonly accountId: string;
  readonly seq: number;
}

/** The periodic check that balances are the sums of their ledgers. */
export interface LedgerCheckStore {
  /**
   * Compares the next `accounts` balances with their last entries, and the next `entries` entries of all ledgers each with
   * the one before it; after the last ones it begins anew. What was found and is right by now is forgotten. Returns what
   * was found for the first time: nothing while another process checks.
   */
  checkNext(accounts: number, entries: number): Promise<readonly LedgerMismatch[]>;
  /** Accounts of which something that was found is still wrong. */
  countMismatched(): Promise<number>;
}

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

export interface PlanStore {
  /** By name. */
  all(): Promise<readonly Plan[]>;
  /** Creates the plan of that name or changes it; returns what it was before, undefined for a new one. */
  set(id: string, plan: Plan, at: Date): Promise<Plan | undefined>;
  /** Puts an account on a plan, null for none; false when there is no plan of that name. The account is there. */
  assign(accountId: string, name: string | null): Promise<boolean>;
}

export interface UsageStore {
  /** Counts of the hours that begin before `to` and end after `from`, by time. */
  query(accountId: string, query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Folds what batches have added into the hours' counts. Nothing is counted twice or missed while it runs. */
  fold(): Promise<void>;
}
