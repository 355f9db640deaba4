import type { Knex } from 'knex';

/**
 * `send_limit_numbers` gets a row for nearly each message of a limit for one number. So it has neither a foreign key,
 * which looks up the limit for each row, nor a second tree: the limit is locked when a row is written, no limit is ever
 * deleted, and the rows of an hour that is over are found by the blocks of the table that have some.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE send_limit_numbers DROP CONSTRAINT send_limit_numbers_limit_id_fkey;
    DROP INDEX send_limit_numbers_hour;
    CREATE INDEX send_limit_numbers_hour ON send_limit_numbers USING brin (hour)
      WITH (pages_per_range = 16, autosummarize = on);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX send_limit_numbers_hour;
    CREATE INDEX send_limit_numbers_hour ON send_limit_numbers (hour);
    ALTER TABLE send_limit_numbers ADD CONSTRAINT send_limit_numbers_limit_id_fkey
      FOREIGN KEY (limit_id) REFERENCES send_limits ON DELETE CASCADE;
  `);
}
