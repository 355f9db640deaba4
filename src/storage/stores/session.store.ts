import type {
  FoundSession,
  SessionRow,
  SessionStore,
  SignInFailureStore,
} from '../../domain/ports/people-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { checkedIdentity } from './single-sign-on.store.ts';
import { FACT_COLUMNS, type FactsRow, mapFacts, presentIn, USER_COLUMNS } from './user.store.ts';

const SESSION_COLUMNS = [
  'id',
  'token_hash',
  'created_at',
  'last_seen_at',
  'expires_at',
  'ends_at',
  'verified_at',
  'address',
  'user_agent',
  'country',
  'identity_id',
] as const;
interface SessionColumns {
  id: string;
  token_hash: Buffer;
  created_at: Date;
  last_seen_at: Date;
  expires_at: Date;
  ends_at: Date;
  verified_at: Date;
  address: string;
  user_agent: string;
  country: string | null;
  identity_id: string | null;
}

// Locks the person's row. Replacing a password ends all sessions. So this insert must run completely before it or after
// it.
const INSERT = statement(
  'session-insert',
  `INSERT INTO sessions (token_hash, user_id, id, created_at, last_seen_at, expires_at, ends_at, verified_at, address,
     user_agent, identity_id, country)
   SELECT $1::bytea, id, $4::uuid, $5::timestamptz, $6::timestamptz, $7::timestamptz, $8::timestamptz, $9::timestamptz,
     $10, $11, $12::uuid, $13
   FROM users WHERE id = $2 AND password_hash = $3 AND ${presentIn('users')} FOR SHARE
   RETURNING user_id`,
);
// Sessions and users have columns with the same names. So the columns of the session get a prefix.
const FIND_MANY = statement(
  'sessions-find-many',
  `SELECT ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')},
     ${SESSION_COLUMNS.map((column) => `s.${column} AS session_${column}`).join(', ')}, ${FACT_COLUMNS}
   FROM sessions s JOIN users u ON u.id = s.user_id AND ${presentIn('u')}
   WHERE s.token_hash = ANY($1::bytea[]) AND s.expires_at > $2 AND s.ends_at > $2
     AND (s.identity_id IS NULL OR EXISTS (
       SELECT FROM single_sign_on_identities i WHERE i.id = s.identity_id AND ${checkedIdentity('i', '$2')}))`,
);
const LIST_OF = statement(
  'sessions-of',
  `SELECT ${SESSION_COLUMNS.join(', ')} FROM sessions
   WHERE user_id = $1 AND expires_at > $2 AND ends_at > $2 ORDER BY created_at DESC, id LIMIT 200`,
);
const EXTEND = statement(
  'session-extend',
  `UPDATE sessions SET expires_at = $2, last_seen_at = $3 WHERE token_hash = $1 AND expires_at < $2`,
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
const FORGET_ELSEWHERE = statement(
  'sign-in-failure-forget-elsewhere',
  `DELETE FROM sign_in_failures WHERE attempt_id = $1 AND bucket <> $2`,
);
const FORGET_ATTEMPTS = statement(
  'sign-in-attempts-forget',
  `DELETE FROM sign_in_failures
   WHERE attempt_id IN (SELECT attempt_id FROM sign_in_failures WHERE bucket = $1)`,
);

/** Stores sessions. They are found by the hash of their token. */
export class PgSessionStore implements SessionStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(
    session: SessionRow & { tokenHash: Buffer; userId: string; passwordHash: string },
  ): Promise<boolean> {
    const { tokenHash, userId, passwordHash, id, createdAt, lastSeenAt, expiresAt, endsAt } = session;
    const { verifiedAt, address, userAgent, identityId, country } = session;
    const values = [
      tokenHash,
      userId,
      passwordHash,
      id,
      createdAt,
      lastSeenAt,
      expiresAt,
      endsAt,
      verifiedAt,
    ];
    return (await this.#sql.query(INSERT, [...values, address, userAgent, identityId, country])).length > 0;
  }

  async findMany(tokenHashes: readonly Buffer[], now: Date): Promise<readonly FoundSession[]> {
    type Row = FactsRow & {
      [Column in keyof SessionColumns as `session_${Column}`]: SessionColumns[Column];
    };
    const rows = await this.#sql.query<Row>(FIND_MANY, [tokenHashes, now]);
    return rows.map((row) => ({
      ...mapFacts(row),
      ...mapSession({
        id: row.session_id,
        token_hash: row.session_token_hash,
        created_at: row.session_created_at,
        last_seen_at: row.session_last_seen_at,
        expires_at: row.session_expires_at,
        ends_at: row.session_ends_at,
        verified_at: row.session_verified_at,
        address: row.session_address,
        user_agent: row.session_user_agent,
        country: row.session_country,
        identity_id: row.session_identity_id,
      }),
    }));
  }

  async listOf(userId: string, now: Date) {
    return (await this.#sql.query<SessionColumns>(LIST_OF, [userId, now])).map(mapSession);
  }

  async extend(tokenHash: Buffer, expiresAt: Date, seenAt: Date): Promise<void> {
    await this.#sql.query(EXTEND, [tokenHash, expiresAt, seenAt]);
  }

  async verified(tokenHash: Buffer, at: Date): Promise<void> {
    await this.#sql.table('sessions').where({ token_hash: tokenHash }).update({ verified_at: at });
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
    await this.#sql.table('sessions').where('expires_at', '<', now).orWhere('ends_at', '<', now).delete();
    await this.#sql.table('sign_in_failures').where('at', '<', failuresBefore).delete();
  }
}

function mapSession(row: SessionColumns) {
  return {
    id: row.id,
    tokenHash: row.token_hash,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    expiresAt: row.expires_at,
    endsAt: row.ends_at,
    verifiedAt: row.verified_at,
    address: row.address,
    userAgent: row.user_agent,
    country: row.country,
    identityId: row.identity_id,
  };
}

/** Stores failed sign-ins. All processes count them together. */
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

  async forgetElsewhere(attemptId: string, keptBucket: string): Promise<void> {
    await this.#sql.query(FORGET_ELSEWHERE, [attemptId, keptBucket]);
  }

  async forgetAttempts(bucket: string): Promise<void> {
    await this.#sql.query(FORGET_ATTEMPTS, [bucket]);
  }
}
