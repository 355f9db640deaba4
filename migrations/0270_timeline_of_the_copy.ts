import type { Knex } from 'knex';

/** The row that identifies the copy of the data also has the timeline of PostgreSQL on which it was used last (R230). */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE data_copy
      ADD timeline text,
      DROP CONSTRAINT data_copy_held_reason_check,
      ADD CONSTRAINT data_copy_held_reason_check
        CHECK (held_reason IN ('asked', 'restored', 'copied', 'recovered'));
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE data_copy SET held_reason = 'copied' WHERE held_reason = 'recovered';
    ALTER TABLE data_copy
      DROP timeline,
      DROP CONSTRAINT data_copy_held_reason_check,
      ADD CONSTRAINT data_copy_held_reason_check CHECK (held_reason IN ('asked', 'restored', 'copied'));
  `);
}
