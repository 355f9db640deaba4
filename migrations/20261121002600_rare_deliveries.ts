import type { Knex } from 'knex';

/** Built while the version before serves, so outside any transaction. */
export const config = { transaction: false };

/** What nearly every message causes; an index of the other events has few entries. */
const COMMON = ['sms.sent', 'email.sent', 'push.sent', 'whatsapp.delivered', 'whatsapp.read'];

/** Deliveries of rare events. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_rare');
  await knex.raw(`CREATE INDEX CONCURRENTLY webhook_deliveries_rare ON webhook_deliveries (event, webhook_id, id)
    WHERE event NOT IN (${COMMON.map((event) => `'${event}'`).join(', ')})`);
}

/** Removes the index. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_rare');
}
