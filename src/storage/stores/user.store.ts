import { ONE_TIME_HOURS, type PersonFacts, type User } from '../../domain/accounts/user.ts';
import type { Role } from '../../domain/caller.ts';
import type { UserStore } from '../../domain/ports/people-stores.ts';
import { isUuid } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';

export interface UserRow {
  id: string;
  account_id: string | null;
  email: string;
  role: Role;
  must_change_password: boolean;
  password_set_at: Date;
  created_at: Date;
  invited_at: Date | null;
  accepted_at: Date | null;
  email_proved_at: Date | null;
  removed_at: Date | null;
}

export const USER_COLUMNS = [
  'id',
  'account_id',
  'email',
  'role',
  'must_change_password',
  'password_set_at',
  'created_at',
  'invited_at',
  'accepted_at',
  'email_proved_at',
  'removed_at',
] as const;

/** Columns that `mapFacts` needs in addition to the person's own columns. The people are in the table `u`. */
export const FACT_COLUMNS = `
  EXISTS (SELECT FROM second_factors f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL) AS has_factor,
  coalesce((SELECT require_second_factor FROM accounts WHERE accounts.id = u.account_id), false) AS account_requires_factor,
  EXISTS (SELECT FROM single_sign_on_identities i WHERE i.user_id = u.id) AS has_identity`;

export interface FactsRow extends UserRow {
  has_factor: boolean;
  account_requires_factor: boolean;
  has_identity: boolean;
}

export function mapFacts(row: FactsRow): PersonFacts {
  return {
    user: mapUser(row),
    hasFactor: row.has_factor,
    accountRequiresFactor: row.account_requires_factor,
    hasIdentity: row.has_identity,
  };
}

/**
 * Returns the SQL condition for people in `table` who are not removed. A person counts if they have accepted their
 * invitation, or if the invitation has not expired.
 */
export function presentIn(table: string): string {
  return `${table}.removed_at IS NULL AND (${table}.accepted_at IS NOT NULL
    OR ${table}.invited_at > now() - interval '${ONE_TIME_HOURS} hours')`;
}

/** Returns the person in a row of `USER_COLUMNS`. */
export function mapUser(row: UserRow): User {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    role: row.role,
    mustChangePassword: row.must_change_password,
    passwordSetAt: row.password_set_at,
    createdAt: row.created_at,
    invitedAt: row.invited_at,
    acceptedAt: row.accepted_at,
    emailProvedAt: row.email_proved_at,
    removedAt: row.removed_at,
  };
}

const IDS_IN_ACCOUNT = statement(
  'users-ids-in-account',
  'SELECT id FROM users WHERE account_id = $2 AND lower(email) = lower($1)',
);
/** Two queries, because the index on emails holds present people only. Those without an account are few. */
const IDS_IN_ALL = statement(
  'users-ids-in-all',
  `SELECT id FROM users WHERE lower(email) = lower($1) AND removed_at IS NULL
   UNION SELECT id FROM users WHERE account_id IS NULL AND lower(email) = lower($1)`,
);
const LOCK_MEMBERS = statement(
  'users-lock',
  `SELECT ${USER_COLUMNS.join(', ')} FROM users WHERE account_id = $1 AND ${presentIn('users')}
   ORDER BY id FOR UPDATE`,
);
/** Finds one hash for each different cost and salt. These two are the part of a hash before the last `$`. */
const SALTS = statement(
  'users-salts',
  `SELECT (array_agg(password_hash ORDER BY id))[1] AS hash FROM users
   WHERE lower(email) = lower($1) AND ${presentIn('users')}
   GROUP BY regexp_replace(password_hash, '\\$[^$]*$', '') ORDER BY min(created_at), 1 LIMIT 3`,
);
const BY_PASSWORD = statement(
  'users-by-password',
  `SELECT ${USER_COLUMNS.join(', ')}, password_hash FROM users
   WHERE lower(email) = lower($1) AND password_hash = ANY($2::text[]) AND ${presentIn('users')}
     AND ($3::uuid[] IS NULL OR id = ANY($3)) AND id <> ALL($4::uuid[])
   ORDER BY invited_at IS NOT NULL, accepted_at NULLS LAST, invited_at, id LIMIT 1`,
);
const OPERATORS = statement(
  'users-operators',
  `SELECT ${USER_COLUMNS.join(', ')} FROM users WHERE account_id IS NULL AND ${presentIn('users')}
     AND NOT EXISTS (SELECT FROM single_sign_on_identities i
       WHERE i.user_id = users.id AND i.manages_role AND i.ended_at IS NOT NULL)
   ORDER BY email, id`,
);
const FORGET_EXPIRED = statement(
  'users-forget-expired',
  `UPDATE users SET removed_at = now() WHERE account_id = $1 AND removed_at IS NULL AND NOT (${presentIn('users')})`,
);

/** Stores people, and the hashes of their passwords. */
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
        password_set_at: user.passwordSetAt,
        created_at: user.createdAt,
        invited_at: user.invitedAt,
        accepted_at: user.acceptedAt,
        email_proved_at: user.emailProvedAt,
      })
      .onConflict()
      .ignore()
      .returning('id');
    return inserted.length > 0;
  }

  async withEmail(email: string): Promise<readonly User[]> {
    const rows: UserRow[] = await this.#present()
      .whereRaw('lower(email) = lower(?)', [email])
      .orderBy('id')
      .select(...USER_COLUMNS);
    return rows.map(mapUser);
  }

  async idsOfEmail(email: string, accountId: string | undefined): Promise<readonly string[]> {
    const rows =
      accountId === undefined
        ? await this.#sql.query<{ id: string }>(IDS_IN_ALL, [email])
        : await this.#sql.query<{ id: string }>(IDS_IN_ACCOUNT, [email, accountId]);
    return rows.map(({ id }) => id);
  }

  async saltsOf(email: string): Promise<readonly string[]> {
    const rows = await this.#sql.query<{ hash: string }>(SALTS, [email]);
    return rows.map(({ hash }) => hash);
  }

  async findByPassword(
    email: string,
    hashes: readonly string[],
    { among, except = [] }: { readonly among?: readonly string[]; readonly except?: readonly string[] },
  ) {
    const values = [email, hashes, among ?? null, except];
    const [row] = await this.#sql.query<UserRow & { password_hash: string }>(BY_PASSWORD, values);
    return row && { user: mapUser(row), passwordHash: row.password_hash };
  }

  async find(id: string) {
    if (!isUuid(id)) return undefined;
    const row: (UserRow & { password_hash: string }) | undefined = await this.#present()
      .where({ id })
      .first(...USER_COLUMNS, 'password_hash');
    return row && { user: mapUser(row), passwordHash: row.password_hash };
  }

  async findMany(ids: readonly string[], accountId: string | undefined): Promise<readonly User[]> {
    const rows: UserRow[] = await this.#sql
      .table<UserRow>('users')
      .whereIn('id', [...ids])
      .where(accountId === undefined ? {} : { account_id: accountId })
      .select(...USER_COLUMNS);
    return rows.map(mapUser);
  }

  async roleOf(id: string): Promise<Role | 'removed' | undefined> {
    const row: { role: Role; removed_at: Date | null } | undefined = await this.#sql
      .table<{ id: string; role: Role; removed_at: Date | null }>('users')
      .where({ id })
      .first('role', 'removed_at');
    return row?.removed_at ? 'removed' : row?.role;
  }

  async operators(): Promise<readonly User[]> {
    const rows = await this.#sql.query<UserRow>(OPERATORS, []);
    return rows.map(mapUser);
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

  async setRole(id: string, role: Role): Promise<void> {
    await this.#sql.table('users').where({ id }).update({ role });
  }

  async accept(id: string, at: Date): Promise<void> {
    await this.#sql.table('users').where({ id }).update({ accepted_at: at });
  }

  async proveEmail(id: string, at: Date): Promise<void> {
    await this.#sql.table('users').where({ id }).whereNull('email_proved_at').update({ email_proved_at: at });
  }

  async forgetExpired(accountId: string): Promise<void> {
    await this.#sql.execute(FORGET_EXPIRED, [accountId]);
  }

  async setPassword(
    id: string,
    { hash, isOneTime, at }: { hash: string; isOneTime: boolean; at: Date },
    knownHash?: string,
  ) {
    const query = this.#sql.table('users').where({ id });
    if (knownHash !== undefined) query.where({ password_hash: knownHash });
    const changed: number = await query.update({
      password_hash: hash,
      must_change_password: isOneTime,
      password_set_at: at,
    });
    return changed > 0;
  }

  async remove(id: string, at: Date): Promise<void> {
    await this.#sql.table('users').where({ id }).update({ removed_at: at });
  }

  #present() {
    return this.#sql.table<UserRow & { password_hash: string }>('users').whereRaw(presentIn('users'));
  }
}
