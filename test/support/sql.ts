import pg from 'pg';
import type { TestDatabase } from './database.ts';

export interface TestSql extends AsyncDisposable {
  /** Runs one statement and returns its rows. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever columns it asked for
  query(text: string, values?: readonly unknown[]): Promise<any[]>;
  close(): Promise<void>;
}

/** Opens a connection to the gateway's database that does not go through the gateway. */
export async function openSql(database: TestDatabase): Promise<TestSql> {
  const client = new pg.Client({ ...database.connection });
  await client.connect();
  const close = () => client.end();
  return {
    query: async (text, values = []) => (await client.query(text, [...values])).rows,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Checks the balance and the ledger of an account (R17). Throws an error for the first fault. */
export async function checkLedger(sql: TestSql, accountId: string): Promise<void> {
  const [account] = await sql.query(
    'SELECT balance_minor::int AS balance, ledger_seq::int AS seq FROM accounts WHERE id = $1',
    [accountId],
  );
  const entries = await sql.query(
    `SELECT seq::int AS seq, amount_minor::int AS amount, balance_after_minor::int AS after, kind, message_id, position
     FROM ledger_entries WHERE account_id = $1 ORDER BY ledger_entries.seq`,
    [accountId],
  );
  let sum = 0;
  entries.forEach((entry, index) => {
    sum += entry.amount;
    if (entry.seq !== index + 1) throw new Error(`entry ${index + 1} has the number ${entry.seq}`);
    if (entry.after !== sum)
      throw new Error(`after entry ${entry.seq} the balance is said to be ${entry.after}, not ${sum}`);
    if (sum < 0) throw new Error(`after entry ${entry.seq} the balance is ${sum}`);
  });
  if (account.balance !== sum) throw new Error(`the balance is ${account.balance}, the ledger's sum ${sum}`);
  if (account.seq !== entries.length) throw new Error(`${entries.length} entries, counted as ${account.seq}`);
  const refunded = entries
    .filter((entry) => entry.kind === 'refund')
    .map((entry) => `${entry.message_id} ${entry.position}`);
  if (new Set(refunded).size !== refunded.length) throw new Error('something was refunded twice');
}
