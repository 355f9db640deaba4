import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/** Requests that a session may make in any 60 seconds; none where the gateway's default holds. */
export async function up(knex: Knex): Promise<void> {
  await soon(
    knex,
    'ALTER TABLE plans ADD COLUMN IF NOT EXISTS session_per_minute integer CHECK (session_per_minute > 0)',
  );
}

export async function down(knex: Knex): Promise<void> {
  await soon(knex, 'ALTER TABLE plans DROP COLUMN IF EXISTS session_per_minute');
}
