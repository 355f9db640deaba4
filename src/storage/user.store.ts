import type { User } from '../domain/accounts/user.ts';
import type { AccountRole, Role } from '../domain/caller.ts';
import type { UserStore } from '../domain/ports/people-stores.ts';
import { isUuid } from '../domain/uuid.ts';
import { type Sql, statement } from './sql.ts';

export interface UserRow {
  id: string;
  account_id: string | null;
  email: string;
  role: Role;
  must_change_password: boolean;
  created_at: Date;
}

export const USER_COLUMNS = [
  'id',
  'account_id',
  'email',
  'role',
  'must_change_password',
  'created_at',
] as const;

/** The person that a row of `USER_COLUMNS` holds. */
export function mapUser(row: UserRow): User {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    role: row.role,
    mustChangePassword: row.must_change_password,
    createdAt: row.created_at,
  };
}

const LOCK_MEMBERS = statement(
  'users-lock',
  `SELECT ${USER_COLUMNS.join(', ')} FROM users WHERE account_id = $1 AND removed_at IS NULL
   ORDER BY id FOR UPDATE`,
);

/** People and their password hashes. */
export class PgUserStore implements UserStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(user: User, passwordHash: string): Promise<boolean> {
    const inserted: unknown[] = await this.#sql
      .table('users')
      .insert({
        id: user.id,
        account_id: user.accountId,
        email: user.email,
        password_hash: passwordHash,
        role: user.role,
        must_change_password: user.mustChangePassword,
        created_at: user.createdAt,
      })
      // Named by its columns, since it is an index and no constraint.
      .onConflict(this.#sql.raw('(lower(email)) WHERE removed_at IS NULL'))
      .ignore()
      .returning('id');
    return inserted.length > 0;
  }

  async findByEmail(email: string) {
    const row: (UserRow & { password_hash: string }) | undefined = await this.#present()
      .whereRaw('lower(email) = lower(?)', [email])
      .first(...USER_COLUMNS, 'password_hash');
    return row && { user: mapUser(row), passwordHash: row.password_hash };
  }

  async find(id: string) {
    if (!isUuid(id)) return undefined;
    const row: (UserRow & { password_hash: string }) | undefined = await this.#present()
      .where({ id })
      .first(...USER_COLUMNS, 'password_hash');
    return row && { user: mapUser(row), passwordHash: row.password_hash };
  }

  async members(accountId: string): Promise<readonly User[]> {
    const rows: UserRow[] = await this.#present()
      .where({ account_id: accountId })
      .orderBy(['email', 'id'])
      .select(...USER_COLUMNS);
    return rows.map(mapUser);
  }

  async lockMembers(accountId: string): Promise<readonly User[]> {
    const rows = await this.#sql.query<UserRow>(LOCK_MEMBERS, [accountId]);
    return rows.map(mapUser);
  }

  async setRole(id: string, role: AccountRole): Promise<void> {
    await this.#sql.table('users').where({ id }).update({ role });
  }

  async setPassword(id: string, passwordHash: string, mustChangePassword: boolean, knownHash?: string) {
    const query = this.#sql.table('users').where({ id });
    if (knownHash !== undefined) query.where({ password_hash: knownHash });
    const changed: number = await query.update({
      password_hash: passwordHash,
      must_change_password: mustChangePassword,
    });
    return changed > 0;
  }

  async remove(id: string, at: Date): Promise<void> {
    await this.#sql.table('users').where({ id }).update({ removed_at: at });
  }

  #present() {
    return this.#sql.table<UserRow & { password_hash: string }>('users').whereNull('removed_at');
  }
}
