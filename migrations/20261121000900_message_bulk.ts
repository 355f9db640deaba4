import type { Knex } from 'knex';

/**
 * What only the hand-over of a message reads: an email's texts and attachments, up to 10 MB. It stands in a column of
 * its own, outside the row and not compressed, so that no list, lock or sweep that reads messages ever touches it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE messages ADD COLUMN bulk jsonb;
    ALTER TABLE messages ALTER COLUMN bulk SET STORAGE EXTERNAL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE messages DROP COLUMN bulk');
}
