import type { Logger } from '../../domain/ports/logger.ts';
import type { UnitOfWork } from '../../domain/ports/stores.ts';

/** What a round looks at: a few milliseconds of reading. */
const ACCOUNTS = 1_000;
const ENTRIES = 10_000;

/**
 * One round of the check that a balance is the sum of its ledger. A ledger whose entries each follow the one before them, from
 * 1 to the number that the account counts, and whose last one has the account's balance, adds up to it. Each mismatch is
 * logged once, when it is found.
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
