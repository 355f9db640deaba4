import type { LedgerCheckStore, LedgerMismatch } from '../../domain/ports/account-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { isHere } from './is-here.ts';

/**
 * SQL that is true if an account's balance is wrong. Ledger numbers have no gaps. So the last entry must have the
 * number in the account's counter, and the same balance as the account.
 */
const BALANCE_IS_WRONG = `NOT EXISTS (
    SELECT FROM ledger_entries l WHERE l.account_id = a.id AND l.seq = a.ledger_seq
      AND l.balance_after_minor = a.balance_minor OFFSET 0)
  AND NOT (a.ledger_seq = 0 AND a.balance_minor = 0)
  OR EXISTS (SELECT FROM ledger_entries l WHERE l.account_id = a.id AND l.seq > a.ledger_seq OFFSET 0)`;
/** SQL that is true if an entry is wrong. Its balance must be the balance of the previous entry plus its own amount. */
const ENTRY_IS_WRONG = `l.balance_after_minor - l.amount_minor IS DISTINCT FROM CASE l.seq WHEN 1 THEN 0 ELSE (
    SELECT b.balance_after_minor FROM ledger_entries b WHERE b.account_id = l.account_id AND b.seq = l.seq - 1 OFFSET 0)
  END`;
const CLAIM = statement(
  'ledger-check-claim',
  'SELECT account_id, entry_account_id, entry_seq FROM ledger_check FOR UPDATE SKIP LOCKED',
);
const ADVANCE = statement(
  'ledger-check-advance',
  'UPDATE ledger_check SET account_id = $1, entry_account_id = $2, entry_seq = $3',
);
/** The last row of the result says where the next page begins. */
const ACCOUNTS = statement(
  'ledger-check-accounts',
  `SELECT a.id AS account_id, 0::bigint AS seq, a.moving IS DISTINCT FROM 'moved' AND (${BALANCE_IS_WRONG}) AS is_wrong
   FROM (SELECT id, balance_minor, ledger_seq, moving FROM accounts WHERE id > $1 ORDER BY id LIMIT $2) a ORDER BY a.id`,
);
const ENTRIES = statement(
  'ledger-check-entries',
  `WITH page AS MATERIALIZED (
     SELECT account_id, seq, amount_minor, balance_after_minor,
       lag(seq) OVER w AS before_seq, lag(balance_after_minor) OVER w AS before, count(*) OVER () AS rows
     FROM (SELECT account_id, seq, amount_minor, balance_after_minor FROM ledger_entries
       WHERE (account_id, seq) > ($1, $2) ORDER BY account_id, seq LIMIT $3) p
     WINDOW w AS (PARTITION BY account_id ORDER BY seq)
   ), wrong AS (
     -- If the entry before is in the same page, compare with it. Otherwise look it up. A move may have copied only some
     -- of the entries of an account that is about to arrive.
     SELECT account_id, seq FROM page l WHERE CASE WHEN before_seq = seq - 1
       THEN before <> balance_after_minor - amount_minor ELSE ${ENTRY_IS_WRONG} END AND ${isHere('l.account_id')}
   ), last AS (SELECT account_id, seq, rows FROM page ORDER BY account_id DESC, seq DESC LIMIT 1)
   SELECT account_id, seq, true AS is_wrong, 0 AS rows FROM wrong
   UNION ALL SELECT account_id, seq, false, rows FROM last`,
);
const NOTE = statement(
  'ledger-check-note',
  `INSERT INTO ledger_mismatches (account_id, seq) SELECT * FROM unnest($1::uuid[], $2::bigint[])
   ON CONFLICT DO NOTHING RETURNING account_id, seq`,
);
const FORGET_RIGHT = statement(
  'ledger-check-forget-right',
  `DELETE FROM ledger_mismatches x WHERE NOT CASE x.seq
     WHEN 0 THEN EXISTS (SELECT FROM accounts a WHERE a.id = x.account_id AND (${BALANCE_IS_WRONG}))
     ELSE EXISTS (SELECT FROM ledger_entries l WHERE l.account_id = x.account_id AND l.seq = x.seq AND ${ENTRY_IS_WRONG})
   END`,
);
const COUNT = statement(
  'ledger-check-count',
  'SELECT count(DISTINCT account_id) AS count FROM ledger_mismatches',
);

interface CheckedRow {
  account_id: string;
  seq: number;
  is_wrong: boolean;
}
const FIRST = '00000000-0000-0000-0000-000000000000';
const mismatchOf = (row: CheckedRow): LedgerMismatch => ({ accountId: row.account_id, seq: row.seq });

/** Checks balances and ledgers. Each page is checked in one statement, so that it sees one snapshot. */
export class PgLedgerCheckStore implements LedgerCheckStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async checkNext(accounts: number, entries: number): Promise<readonly LedgerMismatch[]> {
    const [mark] = await this.#sql.query<{ account_id: string; entry_account_id: string; entry_seq: number }>(
      CLAIM,
      [],
    );
    if (!mark) return [];
    await this.#sql.execute(FORGET_RIGHT, []);
    const looked = await this.#sql.query<CheckedRow>(ACCOUNTS, [mark.account_id, accounts]);
    const from = [mark.entry_account_id, mark.entry_seq, entries];
    const walked = await this.#sql.query<CheckedRow & { rows: number }>(ENTRIES, from);
    const last = walked.find((row) => !row.is_wrong);
    // A page that is not full is the last one. The next check then starts at the beginning.
    const next = last && last.rows === entries ? last : { account_id: FIRST, seq: 0 };
    const nextAccount = looked.length === accounts ? (looked.at(-1)?.account_id ?? FIRST) : FIRST;
    await this.#sql.execute(ADVANCE, [nextAccount, next.account_id, next.seq]);
    const wrong = [...looked, ...walked].filter((row) => row.is_wrong);
    if (wrong.length === 0) return [];
    const columns = [wrong.map((row) => row.account_id), wrong.map((row) => row.seq)];
    return (await this.#sql.query<CheckedRow>(NOTE, columns)).map(mismatchOf);
  }

  async countMismatched(): Promise<number> {
    return (await this.#sql.query<{ count: number }>(COUNT, []))[0]?.count ?? 0;
  }
}
