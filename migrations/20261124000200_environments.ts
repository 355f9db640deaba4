import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/** Tables whose rows belong to the environment they were made in. */
const TABLES = ['contacts', 'devices', 'webhooks', 'contact_imports'];
/** Those of them whose rows triggers count for each account (migration list_counts). */
const COUNTED = ['contacts', 'devices'];

const INDEXES: Readonly<Record<string, string>> = {
  contacts_of: 'INDEX contacts_of ON contacts (account_id, environment, id)',
  contacts_phone_of:
    'UNIQUE INDEX contacts_phone_of ON contacts (account_id, environment, phone) WHERE phone IS NOT NULL',
  contacts_external_id_of:
    'UNIQUE INDEX contacts_external_id_of ON contacts (account_id, environment, external_id) WHERE external_id IS NOT NULL',
  devices_of: 'INDEX devices_of ON devices (account_id, environment, id)',
  devices_user_of: 'INDEX devices_user_of ON devices (account_id, environment, user_id)',
  events_sandbox: 'INDEX events_sandbox ON events (account_id, seq) WHERE is_sandbox',
};
const REPLACED: Readonly<Record<string, string>> = {
  contacts_account: 'INDEX contacts_account ON contacts (account_id, id DESC)',
  contacts_phone: 'UNIQUE INDEX contacts_phone ON contacts (account_id, phone) WHERE phone IS NOT NULL',
  contacts_external_id:
    'UNIQUE INDEX contacts_external_id ON contacts (account_id, external_id) WHERE external_id IS NOT NULL',
  devices_account: 'INDEX devices_account ON devices (account_id, id DESC)',
  devices_user: 'INDEX devices_user ON devices (account_id, user_id)',
};

/**
 * Contacts, devices, webhook endpoints, imports and events belong to an environment; all that exists is production's.
 * A delivery belongs to that of its event. An event says so in one byte: most of what is stored are events.
 *
 * `list_counts` counts the sandbox's rows as a list of its own, `contacts_sandbox` and `devices_sandbox`.
 * `devices_token` stays: the version before names it when it registers a device, and tokens of the sandbox are stored with
 * a mark of their own (device.store).
 */
export async function up(knex: Knex): Promise<void> {
  for (const table of TABLES) {
    // Not valid: every row there is has the default, so nobody needs to read them all under a lock.
    await soon(
      knex,
      `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS environment text NOT NULL DEFAULT 'production',
         DROP CONSTRAINT IF EXISTS ${table}_environment,
         ADD CONSTRAINT ${table}_environment CHECK (environment IN ('production', 'sandbox')) NOT VALID`,
    );
  }
  await soon(knex, 'ALTER TABLE events ADD COLUMN IF NOT EXISTS is_sandbox boolean NOT NULL DEFAULT false');
  await knex.raw(`
    CREATE OR REPLACE FUNCTION count_rows_by_environment() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO list_counts (account_id, list, rows)
        SELECT account_id, TG_TABLE_NAME || CASE environment WHEN 'sandbox' THEN '_sandbox' ELSE '' END,
          CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
        FROM changed GROUP BY account_id, environment ORDER BY account_id, environment
        ON CONFLICT (account_id, list) DO UPDATE SET rows = list_counts.rows + excluded.rows;
        RETURN NULL;
      END $$`);
  await countBy(knex, 'count_rows_by_environment');
  await rebuild(knex, INDEXES, REPLACED);
}

/** Makes what was kept in the sandbox go, since nothing would tell it from production; endpoints are deleted as people delete them. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM contacts WHERE environment = 'sandbox';
    DELETE FROM devices WHERE environment = 'sandbox';
    DELETE FROM contact_imports WHERE environment = 'sandbox';
    UPDATE webhooks SET deleted_at = now() WHERE environment = 'sandbox' AND deleted_at IS NULL;
    DELETE FROM list_counts WHERE list IN ('contacts_sandbox', 'devices_sandbox');
  `);
  await countBy(knex, 'count_rows');
  await knex.raw('DROP FUNCTION IF EXISTS count_rows_by_environment');
  await rebuild(knex, REPLACED, INDEXES);
  for (const table of TABLES) await soon(knex, `ALTER TABLE ${table} DROP COLUMN IF EXISTS environment`);
  await soon(knex, 'ALTER TABLE events DROP COLUMN IF EXISTS is_sandbox');
}

async function countBy(knex: Knex, counting: string): Promise<void> {
  for (const table of COUNTED) {
    await soon(
      knex,
      `CREATE OR REPLACE TRIGGER ${table}_added AFTER INSERT ON ${table} REFERENCING NEW TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION ${counting}();
       CREATE OR REPLACE TRIGGER ${table}_taken AFTER DELETE ON ${table} REFERENCING OLD TABLE AS changed
         FOR EACH STATEMENT EXECUTE FUNCTION ${counting}()`,
    );
  }
}

type Indexes = Readonly<Record<string, string>>;

async function rebuild(knex: Knex, wanted: Indexes, replaced: Indexes): Promise<void> {
  for (const [name, index] of Object.entries(wanted)) {
    // One that was not finished stays behind, of no use.
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    await knex.raw(`CREATE ${index.replace('INDEX', 'INDEX CONCURRENTLY')}`);
  }
  for (const name of Object.keys(replaced)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
}
