import type { Knex } from 'knex';

/**
 * Refunds of recipients that failed although an earlier hand-over may have left: they are due when no delivery report can
 * come any more. A refund that is settled has no row.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE IF NOT EXISTS deferred_refunds (
      message_id uuid NOT NULL,
      position smallint NOT NULL,
      account_id uuid NOT NULL REFERENCES accounts,
      amount_minor bigint NOT NULL CHECK (amount_minor > 0),
      due_at timestamptz NOT NULL,
      PRIMARY KEY (message_id, position)
    );
    CREATE INDEX IF NOT EXISTS deferred_refunds_due ON deferred_refunds (due_at);
  `);
}

/** Refunds that are not settled yet are lost: run it when there are none. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS deferred_refunds');
}
