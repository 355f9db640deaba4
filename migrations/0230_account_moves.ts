import type { Knex } from 'knex';

/**
 * Lets an account move to another cell (R503 to R508). `accounts.moving` is `closed` while its last changes are
 * copied, and `moved` when it lives elsewhere. `gateway.mover` is a setting of the session that moves an account.
 */
const TABLES = `
  ALTER TABLE accounts ADD COLUMN moving text;
  ALTER TABLE accounts ADD CONSTRAINT accounts_moving_check CHECK (moving IN ('closed', 'moved')) NOT VALID;
  CREATE TABLE account_moves (
    -- In the cell to which the account goes, its row is not there before its move ends.
    account_id uuid PRIMARY KEY,
    move_id uuid NOT NULL,
    step text NOT NULL CHECK (step IN ('copying', 'closed', 'frozen', 'arrived', 'moved', 'done')),
    started_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    -- The oldest transaction whose changes may not be copied. Null: nothing is copied.
    copied_before text,
    to_cell text,
    -- The address of the other cell's database, sealed: delivery reports of the account are given to it.
    to_database_sealed text
  );
  -- Jobs of an account that wait for the end of its move, in the form of job_leases.
  CREATE TABLE account_move_jobs (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    queue text NOT NULL,
    job json NOT NULL
  );
  CREATE INDEX account_move_jobs_account ON account_move_jobs (account_id);
`;

/**
 * Triggers call it for the rows of an account while its last changes are copied. Without arguments after the account's
 * id, the condition of the trigger has checked the row. With them, the row's column names a row of another table, which
 * has the account.
 */
const FENCE = `
  CREATE FUNCTION refuse_while_moving() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      changed CONSTANT jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
      is_own boolean := TG_NARGS = 1;
    BEGIN
      IF current_setting('gateway.mover', true) IS DISTINCT FROM 'on' THEN
        IF NOT is_own THEN
          EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE %I = %L AND account_id = %L)',
            TG_ARGV[2], TG_ARGV[3], changed->>TG_ARGV[1], TG_ARGV[0]) INTO is_own;
        END IF;
        IF is_own THEN
          RAISE EXCEPTION 'account % is being moved to another cell', TG_ARGV[0] USING ERRCODE = 'MG002';
        END IF;
      END IF;
      RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END $$;
  CREATE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF current_setting('gateway.mover', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'account % has moved to another cell', OLD.id USING ERRCODE = 'MG003';
      END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER stays_moved BEFORE UPDATE ON accounts FOR EACH ROW WHEN (OLD.moving = 'moved')
    EXECUTE FUNCTION refuse_moved();
`;

/** Text after the first BEGIN of a function that must not run for rows which a move copies. */
const unlessMoved = (result: string) =>
  ` IF current_setting('gateway.mover', true) = 'on' THEN RETURN ${result}; END IF;`;
/**
 * A move copies charges in other transactions than those of their messages, and copies the counts of deliveries, too.
 * Between its two copies a recipient may have gone from pending to delivered.
 */
const FUNCTIONS = [
  ['charge_once', 'NULL'],
  ['count_deliveries', 'NULL'],
  ['refuse_move', 'NEW'],
] as const;

async function replaceIn(knex: Knex, name: string, from: string, to: string): Promise<void> {
  const { rows } = await knex.raw('SELECT pg_get_functiondef(?::regproc) AS text', [name]);
  await knex.raw(rows[0].text.replace(from, to).replaceAll('?', '\\?'));
}

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLES);
  await knex.raw(FENCE);
  for (const [name, result] of FUNCTIONS)
    await replaceIn(knex, name, '\n    BEGIN', `\n    BEGIN${unlessMoved(result)}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const [name, result] of FUNCTIONS) await replaceIn(knex, name, unlessMoved(result), '');
  await knex.raw(`DROP TRIGGER stays_moved ON accounts;
    DROP FUNCTION refuse_moved();
    DROP FUNCTION refuse_while_moving();
    DROP TABLE account_move_jobs;
    DROP TABLE account_moves;
    ALTER TABLE accounts DROP COLUMN moving;`);
}
