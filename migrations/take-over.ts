import type { Knex } from 'knex';
import { AUDIT_HEAD, COUNTS, RECIPIENTS, REFERENCES, REFUSE_BATCH } from './0001_baseline.ts';

/** The last migration before the baseline. Names of migrations before the baseline begin with 14 digits. */
const LAST_BEFORE_BASELINE = '20261124002000_refused_by_the_database';
const BEFORE_BASELINE = '^[0-9]{14}_';

const COLUMNS = `message_id, account_id, sent_at, delivered_at, failed_at, read_at, cost_minor, position, attempts, claimed,
  address, status, provider, sid, error_code, error_message`;
const COUNTED_STATUSES = ['pending', 'sent', 'delivered', 'failed'];
const blocks = (change: (status: string) => string) =>
  COUNTED_STATUSES.map((status) => `ALTER TABLE message_blocks ${change(status)};`).join(' ');

/** Changes the schema that LAST_BEFORE_BASELINE left into the schema of the baseline. */
const TO_BASELINE = `
  DROP TABLE uncounted_blocks, failed_deliveries;
  DROP FUNCTION count_uncounted, id_at, count_blocks, count_days, count_rows, count_rows_by_environment, count_deliveries,
    refuse_deletion, refuse_move, note_failed_message, refuse_audit_change, delete_rows_of_messages,
    delete_webhook_deliveries_of_events, delete_webhook_attempts_of_webhook_deliveries CASCADE;
  ALTER TABLE usage_deltas ALTER COLUMN block SET NOT NULL, ALTER COLUMN places SET NOT NULL;
  ALTER TABLE usage_deltas RENAME COLUMN places TO bitmap;
  ${blocks((status) => `RENAME COLUMN ${status}_places TO ${status}_bitmap`)}
  ${blocks((status) => `ALTER COLUMN ${status}_bitmap DROP DEFAULT`)}
  CREATE TABLE old_recipients AS SELECT ${COLUMNS} FROM recipients;
  CREATE TABLE old_failed_messages AS SELECT account_id, seq, channel FROM failed_messages;
  DROP TABLE recipients, failed_messages;
  ${RECIPIENTS}
  INSERT INTO recipients (${COLUMNS}) SELECT * FROM old_recipients;
  INSERT INTO failed_messages (account_id, seq, channel) SELECT * FROM old_failed_messages;
  DROP TABLE old_recipients, old_failed_messages;
  ALTER TABLE webhook_deliveries ADD has_failed boolean GENERATED ALWAYS AS (CASE status WHEN 'failed' THEN true END) STORED;
  CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (webhook_id, id) WHERE has_failed;
  ${AUDIT_HEAD}
  ALTER TABLE audit_head DISABLE TRIGGER USER;
  UPDATE audit_head SET log_id = h.log_id, seq = c.seq, hash = c.hash, sealed = h.sealed FROM audit_chain c, audit_signed_head h;
  ALTER TABLE audit_head ENABLE TRIGGER USER;
  DROP TABLE audit_chain, audit_signed_head;
  ${REFUSE_BATCH} ${REFERENCES} ${COUNTS}
  ALTER TABLE provider_sids DROP COLUMN account_id;
  UPDATE api_keys SET issued_by = created_by WHERE issued_by IS NULL;
  ALTER TABLE api_keys ALTER COLUMN issued_by SET NOT NULL;
  ALTER TABLE held_jobs RENAME TO job_leases;
  ALTER INDEX held_jobs_pkey RENAME TO job_leases_pkey;
  ALTER INDEX held_jobs_due_at RENAME TO job_leases_due_at;
  DROP INDEX devices_token; -- The tokens of sandbox devices began with a space.
  UPDATE devices SET token = substr(token, 2) WHERE environment = 'sandbox';
  CREATE UNIQUE INDEX devices_token ON devices (account_id, environment, token);
  -- Event bodies were stored without the beginning of their envelope. Add it, so that the bodies are read unchanged.
  UPDATE events SET body = concat('{"event":"', type, '","channel":"', split_part(type, '.', 1), '","messageId":"',
    message_id, '","timestamp":"', to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '",', body)
  WHERE body NOT LIKE '{%';
  ${['contacts', 'contact_imports', 'devices', 'webhooks']
    .map((table) => `ALTER TABLE ${table} VALIDATE CONSTRAINT ${table}_environment;`)
    .join(' ')}
`;
const UNCOUNTED = `SELECT EXISTS (SELECT FROM uncounted_blocks) OR EXISTS (
  SELECT FROM usage_deltas WHERE block IS NULL OR places IS NULL) AS uncounted`;

/**
 * Takes over a database that is older than the baseline: changes its schema to the baseline's and records the baseline
 * as done. Changes nothing if the database is empty or has the baseline. Throws an error that says what to do if the
 * database is at an older migration than LAST_BEFORE_BASELINE. Hold the lock of the migrations while you call it.
 */
export async function takeOver(knex: Knex): Promise<void> {
  const { rows } = await knex.raw(`SELECT to_regclass('schema_migrations') IS NOT NULL AS "isThere"`);
  if (!rows[0].isThere) return;
  const names: string[] = await knex('schema_migrations')
    .whereRaw('name ~ :old', { old: BEFORE_BASELINE })
    .pluck('name');
  if (names.length === 0) return;
  const newest = names.toSorted().at(-1);
  if (newest !== LAST_BEFORE_BASELINE) throw notTakenOver(`is at migration ${newest}`);
  await knex.transaction(async (tx) => {
    await tx.raw('LOCK TABLE usage_deltas, uncounted_blocks, recipients IN ACCESS EXCLUSIVE MODE');
    const { rows: found } = await tx.raw(UNCOUNTED);
    if (found[0].uncounted) throw notTakenOver('has messages that its gateway has not counted yet');
    await tx.raw(TO_BASELINE);
    await tx('schema_migrations').whereIn('name', names).delete();
    await tx('schema_migrations').insert({ name: '0001_baseline', batch: 1, migration_time: tx.fn.now() });
  });
}

function notTakenOver(fault: string): Error {
  return new Error(
    `The database ${fault}. Only one at ${LAST_BEFORE_BASELINE} can be taken over. Start the last commit that has this ` +
      'migration once, stop it after a minute, and then start this one; or use an empty database.',
  );
}
