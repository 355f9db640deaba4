import type { User } from '../domain/accounts/user.ts';
import type { Role } from '../domain/caller.ts';
import type { UserStore } from '../domain/ports/stores.ts';
import type { Sql } from './sql.ts';

interface UserRow {
  id: string;
  account_id: string | null;
  email: string;
  password_hash: string;
  role: Role;
  must_change_password: boolean;
  created_at: Date;
}

/** People and their password hashes. */
export class PgUserStore implements UserStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(user: User, passwordHash: string): Promise<void> {
    await this.#sql.table('users').insert({
      id: user.id,
      account_id: user.accountId,
      email: user.email,
      password_hash: passwordHash,
      role: user.role,
      must_change_password: user.mustChangePassword,
      created_at: user.createdAt,
    });
  }

  async findByEmail(email: string) {
    const row = await this.#sql
      .table<UserRow>('users')
      .whereRaw('lower(email) = lower(?)', [email])
      .first('id', 'account_id', 'email', 'password_hash', 'role', 'must_change_password', 'created_at');
    if (!row) return undefined;
    const user: User = {
      id: row.id,
      accountId: row.account_id,
      email: row.email,
      role: row.role,
      mustChangePassword: row.must_change_password,
      createdAt: row.created_at,
    };
    return { user, passwordHash: row.password_hash as string };
  }
}
