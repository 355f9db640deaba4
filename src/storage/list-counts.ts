import { type Sql, statement } from './sql.ts';

const COUNT = statement(
  'list-counts-rows',
  'SELECT rows FROM list_counts WHERE account_id = $1 AND list = $2',
);

/** How many rows an account has in a table that triggers count. */
export async function ownRows(
  sql: Sql,
  accountId: string,
  table: 'contacts' | 'devices' | 'api_keys' | 'audit_entries',
): Promise<number> {
  const [row] = await sql.query<{ rows: number }>(COUNT, [accountId, table]);
  return row?.rows ?? 0;
}
