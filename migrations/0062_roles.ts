/** Adds the roles SUPPORT (of an account) and OPERATOR_READONLY. */
import type { Knex } from 'knex';

const replaceChecks = (role: string, operators: string) => `
  DO $$ DECLARE named text; BEGIN
    FOR named IN SELECT conname FROM pg_constraint
      WHERE conrelid = 'users'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%role%'
    LOOP EXECUTE format('ALTER TABLE users DROP CONSTRAINT %I', named); END LOOP;
  END $$;
  ALTER TABLE users ADD CONSTRAINT users_role_check CHECK (role IN (${role})),
    ADD CONSTRAINT users_check CHECK ((${operators}) = (account_id IS NULL));
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    replaceChecks(
      `'OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER', 'OPERATOR', 'OPERATOR_READONLY'`,
      `role IN ('OPERATOR', 'OPERATOR_READONLY')`,
    ),
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE users SET role = 'VIEWER' WHERE role = 'SUPPORT';
    UPDATE users SET removed_at = coalesce(removed_at, now()), role = 'OPERATOR' WHERE role = 'OPERATOR_READONLY';
    ${replaceChecks(`'OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER', 'OPERATOR'`, `role = 'OPERATOR'`)}
  `);
}
