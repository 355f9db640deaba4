import type { Logger } from '../../domain/ports/logger.ts';
import type { UnitOfWork } from '../../domain/ports/stores.ts';

/** Rows of one round: a few milliseconds of reading. */
const ACCOUNTS = 1_000;
const ENTRIES = 10_000;

/**
 * One round of the check that balances are the sums of their ledgers (R17). A ledger adds up if each entry follows
 * the one before it, from 1 to the account's counter, and the last one has the account's balance. Logs each mismatch
 * once, when it is found.
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
