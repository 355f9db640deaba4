import type { Knex } from 'knex';
import { chargeOnce } from './0003_one_charge.ts';

/**
 * A transaction may add charges in one statement only. Two statements of one transaction could otherwise charge a
 * message twice. The setting that records the first statement ends with the transaction. The check's cost is too small
 * to measure.
 */
const IN_ONE_STATEMENT = `
      IF EXISTS (SELECT FROM added WHERE kind = 'charge') THEN
        IF current_setting('gateway.charged_by', true) = own::text THEN
          RAISE EXCEPTION 'a transaction charges its messages in one statement'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        PERFORM set_config('gateway.charged_by', own::text, true);
      END IF;`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(chargeOnce(IN_ONE_STATEMENT));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(chargeOnce());
}
