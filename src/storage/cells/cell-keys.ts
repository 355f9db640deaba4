import type { Knex } from 'knex';

/** Returns the ids of all keys of this cell that have not ended. Keys of accounts that have left are not included. */
export async function activeKeys(knex: Knex): Promise<readonly string[]> {
  const { rows }: { rows: { key_id: string }[] } = await knex.raw(
    `SELECT key_id FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
     ORDER BY key_id`,
  );
  return rows.map((row) => row.key_id);
}
