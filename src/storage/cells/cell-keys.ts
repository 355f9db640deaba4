import type { Knex } from 'knex';

export interface CellKeys {
  /** Ids of all keys of this cell that have not ended. Keys of accounts that have left are not included. */
  readonly own: readonly string[];
  /** Those whose account is about to leave. Until the move ends, the move alone says where they are. */
  readonly moving: readonly string[];
}

/** Reads the keys of this cell. */
export async function activeKeys(knex: Knex): Promise<CellKeys> {
  const { rows }: { rows: { key_id: string; moving: string | null }[] } = await knex.raw(
    `SELECT k.key_id, a.moving FROM api_keys k JOIN accounts a ON a.id = k.account_id
     WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
       AND a.moving IS DISTINCT FROM 'moved' ORDER BY k.key_id`,
  );
  const ids = (isMoving: boolean) =>
    rows.filter((row) => (row.moving !== null) === isMoving).map((row) => row.key_id);
  return { own: ids(false), moving: ids(true) };
}
