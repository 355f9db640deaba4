import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

const COLUMNS = `message_id, account_id, sent_at, delivered_at, failed_at, read_at, cost_minor, position, address, status,
  provider, sid, error_code, error_message, claimed`;
/** As the vacuum step has them for all that grows. */
const VACUUM = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 20000,
  autovacuum_analyze_scale_factor = 0.02`;

/**
 * Recipients in two parts. Those that may still change keep pages with room for their next version, where an update
 * touches no index; what is delivered or failed will hardly change again, and moves to pages that are full.
 *
 * `settled` tells the parts apart, and a row goes where it says by the update that sets it. The table as it was
 * becomes the open part: what is in it stays, also what a process of the version before still settles in it. Each
 * part has the key and the index of its own: a key of the whole would need `settled` in it.
 */
export async function up(knex: Knex): Promise<void> {
  if (await isDivided(knex)) return;
  await soon(knex, 'ALTER TABLE recipients ADD COLUMN IF NOT EXISTS settled boolean NOT NULL DEFAULT false');
  // What a part of the table is held to is known before it becomes one, so that nobody waits while all rows are read.
  await soon(
    knex,
    `ALTER TABLE recipients DROP CONSTRAINT IF EXISTS recipients_open,
       ADD CONSTRAINT recipients_open CHECK (NOT settled) NOT VALID`,
  );
  await knex.raw('ALTER TABLE recipients VALIDATE CONSTRAINT recipients_open');
  await soon(
    knex,
    `LOCK TABLE messages, recipients IN ACCESS EXCLUSIVE MODE;
     ALTER TABLE recipients RENAME TO recipients_open;
     ALTER TABLE recipients_open SET (fillfactor = 40);
     CREATE TABLE recipients (LIKE recipients_open INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
       FOREIGN KEY (message_id) REFERENCES messages ON DELETE CASCADE) PARTITION BY LIST (settled);
     ALTER TABLE recipients DROP CONSTRAINT recipients_open;
     ALTER TABLE recipients ATTACH PARTITION recipients_open FOR VALUES IN (false);
     ALTER TABLE recipients_open DROP CONSTRAINT recipients_open;
     CREATE TABLE recipients_settled PARTITION OF recipients (PRIMARY KEY (message_id, position))
       FOR VALUES IN (true) WITH (${VACUUM});
     CREATE INDEX recipients_settled_to
       ON recipients_settled (hashtextextended(address, uuid_hash_extended(account_id, 0)));
     -- One that fails leaves the open part, and so is inserted here; the trigger there is for those that stay.
     CREATE TRIGGER recipient_failed AFTER INSERT ON recipients_settled FOR EACH ROW
       WHEN (NEW.failed_at IS NOT NULL) EXECUTE FUNCTION note_failed_message();`,
  );
}

/** Brings all recipients back into one table. */
export async function down(knex: Knex): Promise<void> {
  if (await isDivided(knex)) {
    await soon(
      knex,
      `LOCK TABLE messages, recipients IN ACCESS EXCLUSIVE MODE;
       ALTER TABLE recipients DETACH PARTITION recipients_open;
       INSERT INTO recipients_open (${COLUMNS}) SELECT ${COLUMNS} FROM recipients_settled;
       DROP TABLE recipients;
       ALTER TABLE recipients_open RENAME TO recipients;
       ALTER TABLE recipients SET (fillfactor = 60);`,
    );
  }
  await soon(
    knex,
    `ALTER TABLE recipients DROP CONSTRAINT IF EXISTS recipients_open, DROP COLUMN IF EXISTS settled`,
  );
}

async function isDivided(knex: Knex): Promise<boolean> {
  const { rows } = await knex.raw(`SELECT to_regclass('recipients_open') IS NOT NULL AS divided`);
  return rows[0].divided;
}
