import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Indexes are built while the version before serves, so outside any transaction; it can be taken up again. */
export const config = { transaction: false };

const DOUBLED = '23505';
const RECIPIENT_MOVE = `OLD.status = 'pending' AND NEW.status IN ('sent', 'failed')
  OR OLD.status = 'sent' AND NEW.status IN ('delivered', 'failed')`;

/** What lets something exist once, and what removes all but the first of it where an earlier version doubled it. */
const ONCE = {
  // `events_fire_once` knows a recipient's events. An event of a whole message has no position, and a message has one.
  events_once_a_message: {
    index: 'events (message_id) WHERE position IS NULL AND message_id IS NOT NULL',
    removeDoubled: `DELETE FROM events e USING events first WHERE e.position IS NULL AND first.position IS NULL
      AND first.message_id = e.message_id AND first.seq < e.seq`,
  },
  webhook_deliveries_once: {
    index: 'webhook_deliveries (account_id, event_seq, webhook_id) WITH (fillfactor = 100)',
    removeDoubled: `DELETE FROM webhook_deliveries d USING webhook_deliveries first WHERE first.account_id = d.account_id
      AND first.event_seq = d.event_seq AND first.webhook_id = d.webhook_id AND first.id < d.id`,
  },
} as const;

/**
 * What the database refuses, whoever writes: a refund of more than a recipient cost, a status that goes back, a second
 * event of a push message, a second first delivery of an event to an endpoint, and any change of the audit log.
 *
 * It does not refuse a second charge of a message: an index for that costs every message 31 bytes, and a trigger 7 to 10 µs
 * of the 90 µs that PostgreSQL takes to accept one.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Retention may have removed the message of a refund that was deferred, whose amount was compared then.
    CREATE OR REPLACE FUNCTION check_refund() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
      BEGIN
        IF EXISTS (SELECT FROM messages WHERE id = NEW.message_id) AND NOT EXISTS (
          SELECT FROM recipients WHERE message_id = NEW.message_id AND position = NEW.position
            AND account_id = NEW.account_id AND status = 'failed' AND cost_minor >= NEW.amount_minor) THEN
          RAISE EXCEPTION 'recipient % of message % is refunded at most its cost, to its account, when it failed',
            NEW.position, NEW.message_id USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
      END $$;
    CREATE OR REPLACE FUNCTION refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'recipient % of message % cannot go from % to %: a status goes only forward', OLD.position,
          OLD.message_id, OLD.status, NEW.status USING ERRCODE = 'integrity_constraint_violation';
      END $$;
    CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
      END $$`);
  await soon(
    knex,
    `CREATE OR REPLACE TRIGGER refunded_at_most BEFORE INSERT ON ledger_entries FOR EACH ROW
       WHEN (NEW.kind = 'refund') EXECUTE FUNCTION check_refund()`,
  );
  await soon(
    knex,
    `CREATE OR REPLACE TRIGGER refunded_at_most BEFORE INSERT OR UPDATE ON deferred_refunds FOR EACH ROW
       EXECUTE FUNCTION check_refund()`,
  );
  // Before the update, for both parts: nothing after it fires for a row that moves to the other part.
  await soon(
    knex,
    `DROP TRIGGER IF EXISTS only_forward ON recipients;
     CREATE TRIGGER only_forward BEFORE UPDATE OF status ON recipients FOR EACH ROW
       WHEN (OLD.status <> NEW.status AND NOT (${RECIPIENT_MOVE})) EXECUTE FUNCTION refuse_move()`,
  );
  await soon(
    knex,
    `CREATE TABLE IF NOT EXISTS audit_signed_head (
       only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
       -- Names this log, so that a head kept outside the database is not held against another one.
       log_id uuid NOT NULL DEFAULT gen_random_uuid(),
       sealed text
     );
     INSERT INTO audit_signed_head DEFAULT VALUES ON CONFLICT DO NOTHING;
     CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW
       EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER never_emptied BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT
       EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER only_forward BEFORE UPDATE ON audit_chain FOR EACH ROW
       WHEN (NEW.seq <> OLD.seq + 1) EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER never_deleted BEFORE DELETE ON audit_chain FOR EACH ROW
       EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER never_emptied BEFORE TRUNCATE ON audit_chain FOR EACH STATEMENT
       EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER never_unsigned BEFORE UPDATE ON audit_signed_head FOR EACH ROW
       WHEN (NEW.log_id <> OLD.log_id OR NEW.sealed IS NULL) EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER never_deleted BEFORE DELETE ON audit_signed_head FOR EACH ROW
       EXECUTE FUNCTION refuse_audit_change();
     CREATE OR REPLACE TRIGGER never_emptied BEFORE TRUNCATE ON audit_signed_head FOR EACH STATEMENT
       EXECUTE FUNCTION refuse_audit_change()`,
  );
  // How far the check of the ledger has come, and the accounts whose money it found wrong.
  await knex.raw(`
    CREATE TABLE IF NOT EXISTS ledger_check (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      account_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
      entry_account_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
      entry_seq bigint NOT NULL DEFAULT 0
    );
    INSERT INTO ledger_check DEFAULT VALUES ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS ledger_mismatches (
      account_id uuid NOT NULL,
      -- 0 where the balance is not what the last entry says, else the number of the entry that does not fit.
      seq bigint NOT NULL,
      found_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (account_id, seq)
    )`);
  for (const [name, { index, removeDoubled }] of Object.entries(ONCE)) {
    await createOnce(knex, name, index, removeDoubled);
  }
  // The other index begins with the same columns.
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_event');
}

/** Lets all of it happen again; the index that was replaced comes back. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_event');
  await knex.raw(
    'CREATE INDEX CONCURRENTLY webhook_deliveries_event ON webhook_deliveries (account_id, event_seq)',
  );
  for (const name of Object.keys(ONCE)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await soon(
    knex,
    `DROP TRIGGER IF EXISTS refunded_at_most ON ledger_entries;
     DROP TRIGGER IF EXISTS refunded_at_most ON deferred_refunds`,
  );
  await soon(knex, 'DROP TRIGGER IF EXISTS only_forward ON recipients');
  await soon(
    knex,
    `DROP TRIGGER IF EXISTS append_only ON audit_entries;
     DROP TRIGGER IF EXISTS never_emptied ON audit_entries;
     DROP TRIGGER IF EXISTS only_forward ON audit_chain;
     DROP TRIGGER IF EXISTS never_deleted ON audit_chain;
     DROP TRIGGER IF EXISTS never_emptied ON audit_chain;
     DROP TABLE IF EXISTS audit_signed_head, ledger_check, ledger_mismatches;
     DROP FUNCTION IF EXISTS check_refund, refuse_move, refuse_audit_change`,
  );
}

/** Builds a unique index; what an earlier version doubled is removed first where there is any. */
async function createOnce(knex: Knex, name: string, index: string, removeDoubled: string): Promise<void> {
  const { rows } = await knex.raw('SELECT FROM pg_index WHERE indexrelid = to_regclass(?) AND indisvalid', [
    name,
  ]);
  if (rows.length > 0) return;
  for (let isCleaned = false; ; isCleaned = true) {
    // One that was not finished stays behind, of no use.
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    try {
      await knex.raw(`CREATE UNIQUE INDEX CONCURRENTLY ${name} ON ${index}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== DOUBLED || isCleaned) throw error;
      await knex.raw(removeDoubled);
    }
  }
}
