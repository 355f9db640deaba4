import type { Logger } from '../../domain/ports/logger.ts';
import type { UnitOfWork } from '../../domain/ports/stores.ts';

/** Numbers of rows that one round checks. Reading them takes a few milliseconds. */
const ACCOUNTS = 1_000;
const ENTRIES = 10_000;

/**
 * Checks a part of all ledgers: each balance must be the sum of its ledger (R17). Two things prove that. Each entry
 * follows the one before it, from number 1 to the account's counter. And the last entry has the account's balance. Each
 * mismatch is logged once, when it is found.
 */
export async function checkLedgers(uow: UnitOfWork, logger: Pick<Logger, 'error'>): Promise<void> {
  const found = await uow.run((tx) => tx.ledgerCheck.checkNext(ACCOUNTS, ENTRIES));
  for (const { accountId, seq } of found) {
    const what =
      seq === 0
        ? 'the balance of an account is not the sum of its ledger'
        : 'an entry of a ledger does not follow the one before it';
    logger.error({ accountId, ...(seq > 0 && { ledgerSeq: seq }) }, what);
  }
}
