import type { Knex } from 'knex';

/**
 * Erasures of one person's data (R490). `targets` has the person's addresses until the erasure is done. The key of
 * address hashes is sealed with the master key, so that the database alone does not tell whose hash one is (R492).
 */
const TABLES = `
  CREATE TABLE erasures (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL,
    retry_at timestamptz NOT NULL,
    done_at timestamptz,
    audit_seq bigint NOT NULL,
    done_audit_seq bigint,
    environment text CHECK (environment IN ('production', 'sandbox')),
    kind text NOT NULL CHECK (kind IN ('phone', 'email', 'user')),
    address_hash text NOT NULL,
    reason text NOT NULL,
    requested_by text NOT NULL,
    step text NOT NULL CHECK (step IN ('collect', 'collect_emails', 'answers', 'erase', 'done')),
    targets jsonb,
    mark jsonb,
    counts jsonb NOT NULL DEFAULT '{}',
    CHECK ((done_at IS NULL) = (targets IS NOT NULL)),
    CHECK ((done_at IS NULL) = (step <> 'done'))
  );
  CREATE INDEX erasures_newest ON erasures (account_id, id);
  CREATE INDEX erasures_open ON erasures (retry_at) WHERE done_at IS NULL;
  CREATE TABLE erasure_messages (
    erasure_id uuid NOT NULL REFERENCES erasures ON DELETE CASCADE,
    message_id uuid NOT NULL,
    PRIMARY KEY (erasure_id, message_id)
  );
  CREATE TABLE address_hash_key (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    sealed text NOT NULL
  );
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

/**
 * Throws if suppressions are stored under a hash. Without its key, nobody can tell whose suppression a hash is, so that
 * people who said STOP would get messages again.
 */
export async function refuseToForget(knex: Knex, more: '' | `AND ${string}` = ''): Promise<void> {
  const hashed = `address LIKE 'erased:%' ${more}`;
  const { rows } = await knex.raw(`SELECT count(*)::int AS count FROM suppressions WHERE ${hashed}`);
  const count: number = rows[0].count;
  if (count === 0) return;
  throw new Error(
    `${count} suppressions of erased people would be forgotten, and these people would get messages again. ` +
      `To accept that, run this first: DELETE FROM suppressions WHERE ${hashed.trim()}`,
  );
}

export async function down(knex: Knex): Promise<void> {
  await refuseToForget(knex);
  await knex.raw('DROP TABLE erasure_messages, erasures, address_hash_key');
}
