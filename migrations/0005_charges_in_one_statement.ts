import type { Knex } from 'knex';
import { chargeOnce } from './0003_one_charge.ts';

/**
 * A transaction adds its charges in one statement. Two statements of one transaction could otherwise charge a message
 * twice. The setting ends with the transaction. The cost cannot be measured beside that of the statement.
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
