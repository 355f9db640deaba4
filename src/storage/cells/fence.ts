import type pg from 'pg';
import { MOVED_TABLES, type MovedTable } from './account-tables.ts';

/** How long a fence waits for the lock of a table before it lets the writers behind it pass, in ms. */
const LOCK_MS = 200;
/** The last tries wait longer: after a second PostgreSQL ends a vacuum that holds the lock. */
const PATIENT_LOCK_MS = 1_500;
const TRIES = 20;
const LOCK_NOT_AVAILABLE = '55P03';

const triggerOf = (accountId: string) => `moving_${accountId.replaceAll('-', '')}`;
const fenced = MOVED_TABLES.filter(({ fence }) => fence !== false);

/**
 * Makes PostgreSQL refuse every change of the account's rows by others, with the code MG002. It locks one table at a
 * time for a moment, so no transaction can wait for it and it for that transaction. Waits until each transaction that
 * has changed such a table has ended. So after it, no change of the account is under way (R503). `only` names tables.
 */
export async function raiseFence(
  client: pg.Client,
  accountId: string,
  only?: readonly string[],
): Promise<void> {
  for (const table of fenced)
    if (only?.includes(table.name) ?? true)
      await alone(client, table.name, await triggersFor(client, table, accountId));
}

export async function dropFence(client: pg.Client, accountId: string): Promise<void> {
  const name = triggerOf(accountId);
  for (const table of fenced) {
    const { rows } = await client.query(
      'SELECT 1 FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname IN ($2, $3)',
      [table.name, name, `${name}_gone`],
    );
    if (rows.length === 0) continue;
    await alone(client, table.name, [
      `DROP TRIGGER IF EXISTS ${name} ON ${table.name}`,
      `DROP TRIGGER IF EXISTS ${name}_gone ON ${table.name}`,
    ]);
  }
}

/** The id is a UUID that PostgreSQL has read, so it can stand in the text of a statement. */
async function triggersFor(
  client: pg.Client,
  { name: table, owner = 'account', fence }: MovedTable,
  accountId: string,
): Promise<string[]> {
  const name = triggerOf(accountId);
  const except = typeof fence === 'object' ? fence.except : [];
  let update = 'UPDATE';
  if (except.length > 0) {
    const { rows } = await client.query<{ name: string }>(
      `SELECT quote_ident(attname) AS name FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($2)`,
      [table, except],
    );
    update = `UPDATE OF ${rows.map((row) => row.name).join(', ')}`;
  }
  const drop = [
    `DROP TRIGGER IF EXISTS ${name} ON ${table}`,
    `DROP TRIGGER IF EXISTS ${name}_gone ON ${table}`,
  ];
  if (owner === 'account' || table === 'accounts') {
    const column = table === 'accounts' ? 'id' : 'account_id';
    const call = `EXECUTE FUNCTION refuse_while_moving('${accountId}')`;
    return [
      ...drop,
      `CREATE TRIGGER ${name} BEFORE INSERT OR ${update} ON ${table} FOR EACH ROW
         WHEN (NEW.${column} = '${accountId}') ${call}`,
      `CREATE TRIGGER ${name}_gone BEFORE DELETE ON ${table} FOR EACH ROW
         WHEN (OLD.${column} = '${accountId}') ${call}`,
    ];
  }
  const { column, parent, key } = owner;
  return [
    ...drop,
    `CREATE TRIGGER ${name} BEFORE INSERT OR ${update} OR DELETE ON ${table} FOR EACH ROW
       EXECUTE FUNCTION refuse_while_moving('${accountId}', '${column}', '${parent}', '${key}')`,
  ];
}

/** Runs statements on one table in a transaction of their own. Tries again if the lock is not free at once. */
async function alone(client: pg.Client, table: string, statements: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const timeout = attempt > TRIES / 2 ? PATIENT_LOCK_MS : LOCK_MS;
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${timeout}; ${statements.join('; ')}; COMMIT`);
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      const isBusy = (error as { code?: string }).code === LOCK_NOT_AVAILABLE;
      if (!isBusy) throw error;
      if (attempt === TRIES)
        throw new Error(`The table ${table} is locked by others for too long. Try again.`, { cause: error });
    }
  }
}
