import type { Knex } from 'knex';

/** The last migration before the baseline. Names of migrations from then begin with 14 digits. */
const LAST_BEFORE_BASELINE = '20261124002000_refused_by_the_database';
const BEFORE_BASELINE = '^[0-9]{14}_';

/**
 * The difference between the schema after that migration and the baseline. It is here and not in a migration: an empty
 * database would make these objects and drop them again. It fails, and changes nothing, where messages are not counted
 * yet.
 */
const TO_BASELINE = `
  DROP TABLE uncounted_blocks;
  DROP FUNCTION count_uncounted, id_at;
  ALTER TABLE usage_deltas ALTER COLUMN block SET NOT NULL, ALTER COLUMN places SET NOT NULL;
  DROP TRIGGER recipient_failed ON recipients_open;
  DROP INDEX devices_token;
  -- A space stood before the tokens of sandbox devices.
  UPDATE devices SET token = substr(token, 2) WHERE environment = 'sandbox';
  -- Event bodies left out the beginning of their envelope. One that is stored whole is read in any version.
  UPDATE events SET body = concat('{"event":"', type, '","channel":"', split_part(type, '.', 1), '","messageId":"',
    message_id, '","timestamp":"', to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '",', body)
  WHERE body NOT LIKE '{%';
  CREATE UNIQUE INDEX devices_token ON devices (account_id, environment, token);
  ALTER TABLE contacts VALIDATE CONSTRAINT contacts_environment;
  ALTER TABLE contact_imports VALIDATE CONSTRAINT contact_imports_environment;
  ALTER TABLE devices VALIDATE CONSTRAINT devices_environment;
  ALTER TABLE webhooks VALIDATE CONSTRAINT webhooks_environment;
`;
const UNCOUNTED = `SELECT EXISTS (SELECT FROM uncounted_blocks) OR EXISTS (
  SELECT FROM usage_deltas WHERE block IS NULL OR places IS NULL) AS uncounted`;

/**
 * Takes over a database that was made before the baseline: brings its schema to the baseline's and records the baseline
 * as done. Changes nothing in a database that is empty or has the baseline. Throws an error that says what to do where
 * the database is at an older migration. Call it under the lock of the migrations, with the statements that make the
 * functions that the baseline changed.
 */
export async function takeOver(knex: Knex, baseline: string, functions: readonly string[]): Promise<void> {
  const { rows } = await knex.raw(`SELECT to_regclass('schema_migrations') IS NOT NULL AS "isThere"`);
  if (!rows[0].isThere) return;
  const names: string[] = await knex('schema_migrations')
    .whereRaw('name ~ :old', { old: BEFORE_BASELINE })
    .pluck('name');
  if (names.length === 0) return;
  const newest = names.toSorted().at(-1);
  if (newest !== LAST_BEFORE_BASELINE) throw notTakenOver(`is at migration ${newest}`);
  await knex.transaction(async (tx) => {
    await tx.raw('LOCK TABLE usage_deltas, uncounted_blocks, devices, recipients IN ACCESS EXCLUSIVE MODE');
    const { rows: found } = await tx.raw(UNCOUNTED);
    if (found[0].uncounted) throw notTakenOver('has messages that its gateway has not counted yet');
    await tx.raw(TO_BASELINE);
    for (const made of functions) await tx.raw(made);
    await tx('schema_migrations').whereIn('name', names).delete();
    await tx('schema_migrations').insert({ name: baseline, batch: 1, migration_time: tx.fn.now() });
  });
}

function notTakenOver(fault: string): Error {
  return new Error(
    `The database ${fault}. Only one at ${LAST_BEFORE_BASELINE} can be taken over. Start the last commit that has this ` +
      'migration once, stop it after a minute, and then start this one; or use an empty database.',
  );
}
