import type { Knex } from 'knex';

/**
 * Jobs that the process which caused them began with at once. They were rows of the queue that nobody was to see for a
 * while, at a third of what PostgreSQL took for accepting a message; now only those that their process cannot finish
 * come into the queue. `job` is what is put there.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE held_jobs (
      id uuid PRIMARY KEY,
      due_at timestamptz NOT NULL,
      queue text NOT NULL,
      job json NOT NULL
    )`);
}

/** Removes the table; refused while it holds a job, which an older version would not find. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DO $$ BEGIN
      LOCK TABLE held_jobs IN ACCESS EXCLUSIVE MODE;
      IF EXISTS (SELECT FROM held_jobs) THEN
        RAISE EXCEPTION 'held_jobs holds jobs: start the gateway and stop it once they are done';
      END IF;
      DROP TABLE held_jobs;
    END $$`);
}
