import type { Knex } from 'knex';

/** Runs without a transaction, because the index is built while gateways write. It can be repeated from its start. */
export const config = { transaction: false };

/**
 * The credits of an account, for the monthly statement (R460). Charges are not in the index, so accepting a message
 * does not write to it.
 */
const INDEX = `CREATE INDEX CONCURRENTLY ledger_credits ON ledger_entries (account_id, seq)
  INCLUDE (kind, amount_minor, created_at) WHERE kind <> 'charge'`;

export async function up(knex: Knex): Promise<void> {
  // A build that was interrupted leaves an index that is not valid.
  await down(knex);
  await knex.raw(INDEX);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS ledger_credits');
}
