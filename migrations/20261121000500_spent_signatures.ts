import type { Knex } from 'knex';

/**
 * Request signatures that were used, until their timestamp can no longer pass (decision 10). Logged, unlike the
 * rate limits: after a crash of the server a signature must still not pass twice.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE spent_signatures (
      retained_until timestamptz NOT NULL,
      key_id text COLLATE "C" NOT NULL,
      signature bytea NOT NULL,
      PRIMARY KEY (key_id, signature)
    );
    CREATE INDEX spent_signatures_retained ON spent_signatures (retained_until);
  `);
}

/** Removes the table. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE IF EXISTS spent_signatures');
}
