import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

const INDEXES = { api_keys_created_by: 'api_keys (created_by)', api_keys_issued_by: 'api_keys (issued_by)' };

/**
 * A key knows who got its secret (`issued_by`; null: `created_by`, which a successor inherits from the key that it
 * replaces) and when it was rotated out (`rotated_at`). The audit log holds both facts about the keys that exist.
 * The indexes find what a key or a person made.
 */
export async function up(knex: Knex): Promise<void> {
  await soon(
    knex,
    'ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS issued_by text, ADD COLUMN IF NOT EXISTS rotated_at timestamptz',
  );
  await knex.raw(`
    UPDATE api_keys k SET issued_by = a.actor FROM audit_entries a
    WHERE a.action = 'apiKey.create' AND a.target = k.key_id AND a.actor <> k.created_by AND k.issued_by IS NULL`);
  await knex.raw(`
    UPDATE api_keys k SET rotated_at = a.at FROM audit_entries a
    WHERE a.action = 'apiKey.rotate' AND a.target = k.key_id AND k.rotated_at IS NULL`);
  for (const [name, on] of Object.entries(INDEXES)) {
    // An interrupted build leaves an index that nothing uses.
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    await knex.raw(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`);
  }
}

/** Drops who rotated keys and which were rotated out: the audit log still says it. */
export async function down(knex: Knex): Promise<void> {
  for (const name of Object.keys(INDEXES)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await soon(knex, 'ALTER TABLE api_keys DROP COLUMN IF EXISTS issued_by, DROP COLUMN IF EXISTS rotated_at');
}
