import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';

const PAUSE_MS = 100;

/** Without a transaction: it waits for transactions of the gateways that run, and it can be repeated. */
export const config = { transaction: false };

/** The other transactions that have written to `recipients` of this database and are not over. */
const WRITERS = `SELECT virtualtransaction AS id FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'recipients'::regclass AND mode = 'RowExclusiveLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()`;

/**
 * Adds the messages of which a recipient failed before 0125. A transaction that is older than 0125 may still commit a
 * failure that the trigger did not list. So the backfill starts after the last of these. Transactions of other databases
 * of the server do not count.
 */
export async function up(knex: Knex): Promise<void> {
  const older = (await knex.raw(WRITERS)).rows.map(({ id }: { id: string }) => id);
  const left = `${WRITERS} AND virtualtransaction = ANY (?::text[])`;
  while ((await knex.raw(left, [older])).rows.length > 0) await sleep(PAUSE_MS);
  await knex.raw(`INSERT INTO messages_with_failures (account_id, channel, seq)
    SELECT DISTINCT m.account_id, m.channel, m.seq FROM recipients r JOIN messages m ON m.id = r.message_id
    WHERE r.status = 'failed' ON CONFLICT DO NOTHING`);
}

/** 0125 drops the table. */
export async function down(): Promise<void> {}
