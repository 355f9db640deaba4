import type { Knex } from 'knex';

/**
 * Messages that wait for a person's decision because they look like SMS pumping (R393), and the counts by which they
 * are found (R392).
 */
const TABLES = `
  CREATE TABLE held_reviews (
    message_id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    held_at timestamptz NOT NULL,
    decided_at timestamptz,
    -- What the message costs if it is released.
    cost_minor bigint NOT NULL CHECK (cost_minor >= 0),
    block text NOT NULL,
    decision text CHECK (decision IN ('released', 'rejected', 'expired', 'canceled')),
    -- Cost and route of each recipient, in the order of their positions.
    costs bigint[] NOT NULL,
    routes text[] NOT NULL,
    CHECK ((decided_at IS NULL) = (decision IS NULL))
  );
  CREATE INDEX held_reviews_open ON held_reviews (account_id, block, message_id) WHERE decided_at IS NULL;
  CREATE INDEX held_reviews_held ON held_reviews (held_at) WHERE decided_at IS NULL;
  CREATE INDEX held_reviews_decided ON held_reviews (decided_at) WHERE decided_at IS NOT NULL;

  -- The numbers of a block that an account has lately written to for the first time. Only blocks that get several such
  -- numbers have rows.
  CREATE TABLE pumping_numbers (
    account_id uuid NOT NULL,
    seen_at timestamptz NOT NULL,
    block text NOT NULL,
    ending text NOT NULL,
    PRIMARY KEY (account_id, block, ending)
  );
  CREATE INDEX pumping_numbers_seen ON pumping_numbers (seen_at);

  -- Blocks that a person has released lately. They are not held again before trusted_until.
  CREATE TABLE trusted_blocks (
    account_id uuid NOT NULL,
    trusted_until timestamptz NOT NULL,
    block text NOT NULL,
    PRIMARY KEY (account_id, block)
  );
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
}

/** The version before knows no review: what is held then would be pending for ever. */
const REFUSE_WHILE_HELD = `
  LOCK TABLE held_reviews IN ACCESS EXCLUSIVE MODE;
  DO $$
    DECLARE held bigint := (SELECT count(*) FROM held_reviews WHERE decided_at IS NULL);
    BEGIN
      IF held > 0 THEN
        RAISE EXCEPTION '% messages are held for review. Release or reject them before the downgrade.', held;
      END IF;
    END $$;`;

export async function down(knex: Knex): Promise<void> {
  await knex.raw(REFUSE_WHILE_HELD);
  await knex.raw('DROP TABLE trusted_blocks; DROP TABLE pumping_numbers; DROP TABLE held_reviews');
}
