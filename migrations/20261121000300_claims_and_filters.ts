import type { Knex } from 'knex';

/**
 * Cancellation, histories by time and recipient, and sweeps over scheduled messages (decisions 14, 18 and 20).
 *
 * No index may name `messages.status` or `recipients.status`, not even in its WHERE: every message changes status
 * twice, and only updates that touch no indexed column stay HOT, without a write to any index.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A worker may hand it over at any moment, or has: it cannot be canceled any more (decision 18).
    ALTER TABLE recipients ADD COLUMN claimed boolean NOT NULL DEFAULT true;

    -- Acceptance times never go back within an account, so the dense sequence is in the order of time too.
    ALTER TABLE accounts ADD COLUMN last_accepted_at timestamptz;

    CREATE INDEX recipients_address ON recipients (address);

    -- Only scheduled messages are in it; sweeps find them by when they were to leave.
    CREATE INDEX messages_scheduled ON messages (scheduled_for, id) WHERE scheduled_for IS NOT NULL;
    ALTER TABLE sweep_marks ADD COLUMN last_at timestamptz NOT NULL DEFAULT '1970-01-01T00:00:00Z';

    CREATE TRIGGER ledger_never_emptied BEFORE TRUNCATE ON ledger_entries
      FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
  `);
}

/** Removes what `up` added. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER IF EXISTS ledger_never_emptied ON ledger_entries;
    ALTER TABLE sweep_marks DROP COLUMN last_at;
    DROP INDEX messages_scheduled, recipients_address;
    ALTER TABLE accounts DROP COLUMN last_accepted_at;
    ALTER TABLE recipients DROP COLUMN claimed;
  `);
}
