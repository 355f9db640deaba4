import type { Knex } from 'knex';

/**
 * The gateway comes with one SMS price for all destinations. Marks this price as unconfirmed, unless an operator has
 * set it (R375). The audit log shows whether an operator has.
 */
const MARK = `
  ALTER TABLE prices ADD is_confirmed boolean NOT NULL DEFAULT true;
  UPDATE prices SET is_confirmed = false
  WHERE currency = 'UGX' AND channel = 'sms' AND prefix = '' AND amount_minor = 30
    AND NOT EXISTS (SELECT FROM audit_entries WHERE action = 'price.set' AND target = 'UGX sms *');
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(MARK);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE prices DROP is_confirmed');
}
