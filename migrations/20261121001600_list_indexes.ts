import type { Knex } from 'knex';

/** Built while the version before serves, so outside any transaction. */
export const config = { transaction: false };

/**
 * Indexes of the lists, each for a filter that is documented. What is looked up by a recipient stands under a number
 * made of account and address: half as large as the address, and another account's messages to it are elsewhere.
 */
const INDEXES: Readonly<Record<string, string>> = {
  recipients_to: `recipients (hashtextextended(address, uuid_hash_extended(account_id, 0)))`,
  messages_sandbox: `messages (account_id, channel, seq) WHERE environment = 'sandbox'`,
  messages_push_to: `messages USING gin ((coalesce(payload -> 'userIds', '[]') || coalesce(payload -> 'deviceIds', '[]'))
    jsonb_path_ops) WHERE channel = 'push'`,
  webhook_deliveries_of: `webhook_deliveries (webhook_id, id)`,
  webhook_deliveries_retried: `webhook_deliveries (webhook_id, id) WHERE next_retry_at IS NOT NULL`,
  webhooks_of: `webhooks (account_id)`,
  audit_action: `audit_entries (account_id, action, id)`,
  audit_actor: `audit_entries (actor, id)`,
  audit_target: `audit_entries (target, id)`,
  audit_action_of_all: `audit_entries (action, id)`,
};
const REPLACED: Readonly<Record<string, string>> = {
  recipients_address: 'recipients (address)',
  webhook_deliveries_webhook: 'webhook_deliveries (webhook_id, id DESC)',
};

/**
 * Also counts what was there before the triggers of the step before: what a snapshot holds, less what they have
 * counted until then, so that nobody must wait meanwhile.
 */
export async function up(knex: Knex): Promise<void> {
  for (const [name, on] of Object.entries(INDEXES)) {
    // One that was not finished stays behind, of no use.
    await knex.raw(`DROP INDEX IF EXISTS ${name}`);
    await knex.raw(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`);
  }
  for (const name of Object.keys(REPLACED)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await knex.raw(`
    INSERT INTO failed_messages (account_id, channel, seq)
    SELECT m.account_id, m.channel, m.seq FROM messages m
    WHERE m.id IN (SELECT message_id FROM recipients WHERE failed_at IS NOT NULL)
      AND NOT EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.status <> 'failed')
    ON CONFLICT DO NOTHING`);
  await knex.raw(`
    INSERT INTO failed_deliveries (webhook_id, delivery_id)
    SELECT webhook_id, id FROM webhook_deliveries WHERE status = 'failed' ON CONFLICT DO NOTHING`);
  await knex.raw(`
    INSERT INTO delivery_deltas (webhook_id, hour, event, status, deliveries)
    SELECT webhook_id, hour, event, status, sum(deliveries) FROM (
      SELECT webhook_id, uuid_hour(id) AS hour, event, status, count(*) AS deliveries
      FROM webhook_deliveries GROUP BY 1, 2, 3, 4
      UNION ALL SELECT webhook_id, hour, event, status, -deliveries FROM delivery_hours
      UNION ALL SELECT webhook_id, hour, event, status, -deliveries FROM delivery_deltas
    ) counted GROUP BY 1, 2, 3, 4 HAVING sum(deliveries) <> 0`);
}

/** Back to the indexes as they were. */
export async function down(knex: Knex): Promise<void> {
  for (const [name, on] of Object.entries(REPLACED)) {
    await knex.raw(`DROP INDEX IF EXISTS ${name}`);
    await knex.raw(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`);
  }
  for (const name of Object.keys(INDEXES)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
}
