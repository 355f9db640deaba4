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
