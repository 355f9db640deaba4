import type { SessionStore, SignInFailureStore } from '../../domain/ports/people-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { mapUser, presentIn, USER_COLUMNS, type UserRow } from './user.store.ts';

// Locks the person's row: replacing a password ends all sessions, and this insert must be before or after it.
const INSERT = statement(
  'session-insert',
  `INSERT INTO sessions (token_hash, user_id, created_at, expires_at)
   SELECT $1::bytea, id, $4::timestamptz, $5::timestamptz FROM users
   WHERE id = $2 AND password_hash = $3 AND ${presentIn('users')} FOR SHARE
   RETURNING user_id`,
);
const FIND = statement(
  'session-find',
  `SELECT ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')}, s.expires_at
   FROM sessions s JOIN users u ON u.id = s.user_id AND ${presentIn('u')}
   WHERE s.token_hash = $1 AND s.expires_at > $2`,
);
const FIND_MANY = statement(
  'sessions-find-many',
  `SELECT ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')}, s.token_hash
   FROM sessions s JOIN users u ON u.id = s.user_id AND ${presentIn('u')}
   WHERE s.token_hash = ANY($1::bytea[]) AND s.expires_at > $2`,
);
const EXTEND = statement(
  'session-extend',
  `UPDATE sessions SET expires_at = $2 WHERE token_hash = $1 AND expires_at < $2`,
);
const LOCK_BUCKETS = statement(
  'sign-in-lock',
  `SELECT pg_advisory_xact_lock(hashtextextended(bucket, 0)) FROM unnest($1::text[]) AS bucket`,
);
const FAILURES = statement(
  'sign-in-failures',
  `SELECT bucket, at FROM sign_in_failures WHERE bucket = ANY($1::text[]) AND at > $2 ORDER BY at`,
);
const ADD_FAILURE = statement(
  'sign-in-failure-add',
  `INSERT INTO sign_in_failures (attempt_id, bucket, at) SELECT $1, bucket, $3 FROM unnest($2::text[]) AS bucket`,
);
const FORGET_FAILURES = statement(
  'sign-in-failure-forget',
  `DELETE FROM sign_in_failures WHERE bucket = $2 OR attempt_id = $1`,
);
const FORGET_ATTEMPTS = statement(
  'sign-in-attempts-forget',
  `DELETE FROM sign_in_failures
   WHERE attempt_id IN (SELECT attempt_id FROM sign_in_failures WHERE bucket = $1)`,
);

/** Sessions, by the hash of their token. */
export class PgSessionStore implements SessionStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(session: {
    tokenHash: Buffer;
    userId: string;
    passwordHash: string;
    createdAt: Date;
    expiresAt: Date;
  }): Promise<boolean> {
    const { tokenHash, userId, passwordHash, createdAt, expiresAt } = session;
    const values = [tokenHash, userId, passwordHash, createdAt, expiresAt];
    return (await this.#sql.query(INSERT, values)).length > 0;
  }

  async find(tokenHash: Buffer, now: Date) {
    const [row] = await this.#sql.query<UserRow & { expires_at: Date }>(FIND, [tokenHash, now]);
    return row && { user: mapUser(row), expiresAt: row.expires_at };
  }

  async findMany(tokenHashes: readonly Buffer[], now: Date) {
    const rows = await this.#sql.query<UserRow & { token_hash: Buffer }>(FIND_MANY, [tokenHashes, now]);
    return rows.map((row) => ({ tokenHash: row.token_hash, user: mapUser(row) }));
  }

  async extend(tokenHash: Buffer, expiresAt: Date): Promise<void> {
    await this.#sql.query(EXTEND, [tokenHash, expiresAt]);
  }

  async remove(tokenHash: Buffer): Promise<void> {
    await this.#sql.table('sessions').where({ token_hash: tokenHash }).delete();
  }

  async removeOf(userId: string, keptHash?: Buffer): Promise<void> {
    const query = this.#sql.table('sessions').where({ user_id: userId });
    if (keptHash !== undefined) query.whereNot({ token_hash: keptHash });
    await query.delete();
  }

  async forgetOld(now: Date, failuresBefore: Date): Promise<void> {
    await this.#sql.table('sessions').where('expires_at', '<', now).delete();
    await this.#sql.table('sign_in_failures').where('at', '<', failuresBefore).delete();
  }
}

/** Failed sign-ins, shared by all processes. */
export class PgSignInFailureStore implements SignInFailureStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async lock(buckets: readonly string[], since: Date): Promise<ReadonlyMap<string, readonly Date[]>> {
    await this.#sql.query(LOCK_BUCKETS, [buckets]);
    const rows = await this.#sql.query<{ bucket: string; at: Date }>(FAILURES, [buckets, since]);
    const byBucket = Map.groupBy(rows, (row) => row.bucket);
    return new Map([...byBucket].map(([bucket, own]) => [bucket, own.map((row) => row.at)]));
  }

  async add(attemptId: string, buckets: readonly string[], at: Date): Promise<void> {
    await this.#sql.query(ADD_FAILURE, [attemptId, buckets, at]);
  }

  async forget(attemptId: string, bucket?: string): Promise<void> {
    await this.#sql.query(FORGET_FAILURES, [attemptId, bucket ?? null]);
  }

  async forgetAttempts(bucket: string): Promise<void> {
    await this.#sql.query(FORGET_ATTEMPTS, [bucket]);
  }
}
