import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';

const PAUSE_MS = 100;

/** Without a transaction: it waits for transactions of the gateways that run, and it can be repeated. */
export const config = { transaction: false };

/**
 * Adds the messages of which a recipient failed before 0125. A transaction that is older than 0125 may still commit a
 * failure that the trigger did not list. So the backfill starts after the last of these.
 */
export async function up(knex: Knex): Promise<void> {
  const { rows } = await knex.raw('SELECT pg_current_xact_id()::text AS xid');
  const isOver = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) > ?::text::xid8 AS is_over';
  while (!(await knex.raw(isOver, [rows[0].xid])).rows[0].is_over) await sleep(PAUSE_MS);
  await knex.raw(`INSERT INTO messages_with_failures (account_id, channel, seq)
    SELECT DISTINCT m.account_id, m.channel, m.seq FROM recipients r JOIN messages m ON m.id = r.message_id
    WHERE r.status = 'failed' ON CONFLICT DO NOTHING`);
}

/** 0125 drops the table. */
export async function down(): Promise<void> {}
