/** What the stores of an account's rows share: who sees a row, and how many there are. */
import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** The conditions that keep a query within a visibility, for the builder's `where`. */
export function whereVisible({ accountId, environment }: Visibility): {
  account_id: string;
  environment?: Environment;
} {
  return environment === undefined ? { account_id: accountId } : { account_id: accountId, environment };
}

const COUNT = statement(
  'list-counts-rows',
  'SELECT rows FROM list_counts WHERE account_id = $1 AND list = $2',
);

/** Number of an account's rows in an environment, in a table that triggers count by environment. */
export function ownRowsIn(
  sql: Sql,
  { accountId, environment }: AccountEnvironment,
  table: 'contacts' | 'devices',
) {
  return ownRows(sql, accountId, environment === 'sandbox' ? `${table}_sandbox` : table);
}

/** Number of an account's rows in a list that triggers count. */
export async function ownRows(
  sql: Sql,
  accountId: string,
  list: 'contacts' | 'contacts_sandbox' | 'devices' | 'devices_sandbox' | 'api_keys' | 'audit_entries',
): Promise<number> {
  const [row] = await sql.queryOnDisk<{ rows: number }>(COUNT, [accountId, list]);
  return row?.rows ?? 0;
}
