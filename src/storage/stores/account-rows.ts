/** Parts that the stores of an account's rows share: the condition for visible rows, and the number of rows. */
import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** Returns the conditions for the rows that a caller may see, for `where` of the query builder. */
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

/** Returns the number of an account's rows in an environment. Triggers keep these counts for each environment. */
export function ownRowsIn(
  sql: Sql,
  { accountId, environment }: AccountEnvironment,
  table: 'contacts' | 'devices',
) {
  return ownRows(sql, accountId, environment === 'sandbox' ? `${table}_sandbox` : table);
}

/** Returns the number of an account's rows in a list. Triggers keep these counts. */
export async function ownRows(
  sql: Sql,
  accountId: string,
  list: 'contacts' | 'contacts_sandbox' | 'devices' | 'devices_sandbox' | 'api_keys' | 'audit_entries',
): Promise<number> {
  const [row] = await sql.queryOnDisk<{ rows: number }>(COUNT, [accountId, list]);
  return row?.rows ?? 0;
}
