import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';

const PAUSE_MS = 100;

/**
 * Runs without a transaction, because it waits for transactions of running gateways. It can be repeated from its start.
 */
export const config = { transaction: false };

/** The open transactions, other than this one, that have written to `recipients` of this database. */
const WRITERS = `SELECT virtualtransaction AS id FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'recipients'::regclass AND mode = 'RowExclusiveLock' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()`;

/**
 * Adds the messages with a recipient that failed before migration 0125. A transaction that began before 0125 may still
 * commit a failure that the trigger did not list. So the backfill starts after the last of these transactions has
 * ended. Transactions of other databases on the server do not count.
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
