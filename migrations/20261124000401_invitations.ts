import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Runs while the version before serves, and can be taken up again where it ended. */
export const config = { transaction: false };

/**
 * Invitations that are pending until they are accepted, and one email in several accounts: invited people share theirs
 * with nobody of their account, people whom an operator added with nobody else whom an operator added. Who is there
 * already has accepted. The version before cannot add people any more, since the index that it names is another one.
 */
export async function up(knex: Knex): Promise<void> {
  await soon(
    knex,
    `ALTER TABLE users ADD COLUMN IF NOT EXISTS invited_at timestamptz,
       ADD COLUMN IF NOT EXISTS accepted_at timestamptz DEFAULT now();
     UPDATE users SET accepted_at = created_at;
     UPDATE users u SET invited_at = created_at WHERE EXISTS (
       SELECT FROM audit_entries a WHERE a.action = 'member.invite' AND a.target = u.id::text);
     DROP INDEX IF EXISTS users_email;
     CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE removed_at IS NULL AND invited_at IS NULL;
     DROP INDEX IF EXISTS users_account_email;
     CREATE UNIQUE INDEX users_account_email ON users (account_id, lower(email)) WHERE removed_at IS NULL;
     DROP INDEX IF EXISTS users_sign_in;
     CREATE INDEX users_sign_in ON users (lower(email)) WHERE removed_at IS NULL`,
  );
}

/** Takes out who has not accepted, and of people with one email all but one: who was added by an operator, or first. */
export async function down(knex: Knex): Promise<void> {
  await soon(
    knex,
    `UPDATE users SET removed_at = now() WHERE removed_at IS NULL AND accepted_at IS NULL;
     UPDATE users u SET removed_at = now() WHERE removed_at IS NULL AND EXISTS (
       SELECT FROM users o WHERE o.removed_at IS NULL AND lower(o.email) = lower(u.email)
         AND (o.invited_at IS NOT NULL, o.id) < (u.invited_at IS NOT NULL, u.id));
     DROP INDEX IF EXISTS users_email, users_account_email, users_sign_in;
     CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE removed_at IS NULL;
     ALTER TABLE users DROP COLUMN IF EXISTS invited_at, DROP COLUMN IF EXISTS accepted_at`,
  );
}
