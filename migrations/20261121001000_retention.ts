import type { Knex } from 'knex';

/** Tables that a retention empties row by row, or that are rewritten as messages go their way. */
const GROWING = [
  'messages',
  'recipients',
  'provider_sids',
  'timeline_notes',
  'events',
  'webhook_deliveries',
  'webhook_attempts',
];

/**
 * How long an account keeps the text of its messages, and the messages; null is for ever.
 *
 * How far the removal has come stands in a table of its own, per channel: the account's row is what every send
 * locks. Numbers up to `erased_seq` have lost their text but for those in `retention_waiting`, which were still
 * under way when their time came; numbers up to `removed_seq` are gone, so the numbers that are kept stay dense.
 *
 * Autovacuum by the share of rows alone would wait for 20 % of tables that hold months; at 2 % its runs stay short.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts
      ADD COLUMN content_days integer CHECK (content_days > 0),
      ADD COLUMN message_days integer CHECK (message_days >= coalesce(content_days, 1));

    CREATE TABLE message_retention (
      account_id uuid NOT NULL REFERENCES accounts,
      channel text NOT NULL CHECK (channel IN ('sms', 'email', 'push', 'whatsapp')),
      erased_seq bigint NOT NULL DEFAULT 0,
      removed_seq bigint NOT NULL DEFAULT 0 CHECK (removed_seq <= erased_seq),
      PRIMARY KEY (account_id, channel)
    ) WITH (fillfactor = 50);

    CREATE TABLE retention_waiting (
      message_id uuid PRIMARY KEY REFERENCES messages ON DELETE CASCADE
    );
  `);
  for (const table of GROWING) {
    await knex.raw(
      `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000)`,
    );
  }
}

/** Removes what `up` added; what was erased or removed stays so. */
export async function down(knex: Knex): Promise<void> {
  for (const table of GROWING) {
    await knex.raw(
      `ALTER TABLE ${table} RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)`,
    );
  }
  await knex.raw(`
    DROP TABLE IF EXISTS retention_waiting, message_retention;
    ALTER TABLE accounts DROP COLUMN message_days, DROP COLUMN content_days;
  `);
}
