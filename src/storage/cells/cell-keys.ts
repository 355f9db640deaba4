import type { Knex } from 'knex';

/** Returns the ids of all keys of this cell that have not ended. Keys of accounts that have left are not included. */
export async function activeKeys(knex: Knex): Promise<readonly string[]> {
  const { rows }: { rows: { key_id: string }[] } = await knex.raw(
    `SELECT k.key_id FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
       AND a.moving IS DISTINCT FROM 'moved' ORDER BY k.key_id`,
  );
  return rows.map((row) => row.key_id);
}
