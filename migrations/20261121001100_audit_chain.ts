import type { Knex } from 'knex';

/**
 * Chains the audit log: each entry holds the hash of itself and of the one before it, so that one that is changed,
 * moved or taken out no longer fits (src/domain/audit/audit-chain.ts). The row of `audit_chain` is its end; who
 * appends locks it. Entries from before have no number and are not in the chain.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE audit_entries ADD COLUMN seq bigint UNIQUE, ADD COLUMN hash bytea CHECK (length(hash) = 32);
    CREATE TABLE audit_chain (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      seq bigint NOT NULL,
      hash bytea NOT NULL CHECK (length(hash) = 32)
    );
    INSERT INTO audit_chain (seq, hash) VALUES (0, decode(repeat('00', 32), 'hex'));
  `);
}

/** Takes the chain back; the entries stay. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE IF EXISTS audit_chain;
    ALTER TABLE audit_entries DROP COLUMN IF EXISTS seq, DROP COLUMN IF EXISTS hash;
  `);
}
