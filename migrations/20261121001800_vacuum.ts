import type { Knex } from 'knex';

/** Tables that grow with every message, for good or for as long as something is kept. */
const GROWING = [
  'messages',
  'recipients',
  'ledger_entries',
  'events',
  'webhook_deliveries',
  'webhook_attempts',
  'provider_sids',
  'idempotency_records',
];
const SETTINGS: Readonly<Record<string, number>> = {
  autovacuum_vacuum_scale_factor: 0.02,
  autovacuum_vacuum_threshold: 5_000,
  autovacuum_vacuum_insert_scale_factor: 0.02,
  autovacuum_vacuum_insert_threshold: 20_000,
  autovacuum_analyze_scale_factor: 0.02,
};

/**
 * By the share of rows alone (10 and 20 %), vacuum and statistics of a table with a hundred million rows would come
 * every few weeks and take hours. At 2 % they come often and are short; what is only inserted is vacuumed too, so
 * that scans of indexes need not look at the rows.
 */
export async function up(knex: Knex): Promise<void> {
  const settings = Object.entries(SETTINGS).map(([name, value]) => `${name} = ${value}`);
  for (const table of GROWING) await knex.raw(`ALTER TABLE ${table} SET (${settings.join(', ')})`);
}

/** Back to what the retention step set, and to the server's own for the others. */
export async function down(knex: Knex): Promise<void> {
  const before = new Set(['autovacuum_vacuum_scale_factor', 'autovacuum_vacuum_threshold']);
  for (const table of GROWING) {
    const isOfRetention = !['ledger_entries', 'idempotency_records'].includes(table);
    const reset = Object.keys(SETTINGS).filter((name) => !isOfRetention || !before.has(name));
    await knex.raw(`ALTER TABLE ${table} RESET (${reset.join(', ')})`);
  }
}
