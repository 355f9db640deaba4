import type { SecondFactor } from '../../domain/people/second-factor.ts';
import type { PasskeyCredential } from '../../domain/ports/passkeys.ts';
import type { SecondFactorStore } from '../../domain/ports/people-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { mapUser, presentIn, USER_COLUMNS, type UserRow } from './user.store.ts';

interface FactorRow {
  id: string;
  user_id: string;
  kind: SecondFactor['kind'];
  name: string;
  secret_sealed: string | null;
  last_step: string;
  created_at: Date;
  confirmed_at: Date | null;
  last_used_at: Date | null;
}

const COLUMNS = 'id, user_id, kind, name, secret_sealed, last_step, created_at, confirmed_at, last_used_at';
const LIST = statement('factors', `SELECT ${COLUMNS} FROM second_factors WHERE user_id = $1 ORDER BY id`);
// Locks the person's row first. Otherwise a person without factors would have no row to lock, and two requests could
// each add a first factor.
const LOCK = statement(
  'factors-lock',
  `WITH person AS MATERIALIZED (SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE)
   SELECT ${COLUMNS} FROM second_factors WHERE user_id = (SELECT id FROM person) ORDER BY id FOR UPDATE`,
);
const USE_RECOVERY_CODE = statement(
  'recovery-code-use',
  `UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND code_hash = $2 AND used_at IS NULL RETURNING 1`,
);
const ADD_RECOVERY_CODES = statement(
  'recovery-codes-add',
  `INSERT INTO recovery_codes (user_id, code_hash) SELECT $1, hash FROM unnest($2::bytea[]) AS hash`,
);
const COUNT_RECOVERY_CODES = statement(
  'recovery-codes-count',
  `SELECT count(*)::int AS count FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL`,
);
const FIND_CHALLENGE = statement(
  'challenge-find',
  `SELECT ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')}, u.password_hash
   FROM sign_in_challenges c JOIN users u ON u.id = c.user_id AND u.password_hash = c.password_hash
     AND ${presentIn('u')}
   WHERE c.token_hash = $1 AND c.expires_at > $2`,
);

const INSERT_PASSKEY = statement(
  'passkey-insert',
  `INSERT INTO second_factors (id, user_id, kind, name, credential_id, public_key, last_step, created_at, confirmed_at)
   VALUES ($1, $2, 'passkey', $3, $4, $5, $6, $7, $7) ON CONFLICT (credential_id) DO NOTHING RETURNING 1`,
);
const FIND_PASSKEY = statement(
  'passkey-find',
  `SELECT ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')}, u.password_hash, f.id AS factor_id,
     f.credential_id, f.public_key, f.last_step
   FROM second_factors f JOIN users u ON u.id = f.user_id AND ${presentIn('u')} WHERE f.credential_id = $1`,
);
const COUNT_PASSKEY = statement(
  'passkey-count',
  `UPDATE second_factors SET last_step = $3, last_used_at = $4 WHERE id = $1 AND last_step = $2 RETURNING 1`,
);
const TAKE_PASSKEY_CHALLENGE = statement(
  'passkey-challenge-take',
  `DELETE FROM passkey_challenges
   WHERE challenge_hash = $1 AND user_id IS NOT DISTINCT FROM $2::uuid AND expires_at > $3 RETURNING 1`,
);

/** Stores second factors, recovery codes, and sign-ins that wait for a second factor. */
export class PgSecondFactorStore implements SecondFactorStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async list(userId: string): Promise<readonly SecondFactor[]> {
    return (await this.#sql.query<FactorRow>(LIST, [userId])).map(mapFactor);
  }

  async lock(userId: string) {
    const rows = await this.#sql.query<FactorRow>(LOCK, [userId]);
    return rows.map((row) => ({
      factor: mapFactor(row),
      secretSealed: row.secret_sealed,
      lastStep: Number(row.last_step),
    }));
  }

  async insert({ id, userId, kind, name, createdAt }: SecondFactor, secretSealed: string): Promise<void> {
    await this.#sql
      .table('second_factors')
      .insert({ id, user_id: userId, kind, name, secret_sealed: secretSealed, created_at: createdAt });
  }

  async insertPasskey(
    { id, userId, name, createdAt }: SecondFactor,
    credential: PasskeyCredential,
  ): Promise<boolean> {
    const { id: credentialId, publicKey, counter } = credential;
    const values = [id, userId, name, credentialId, publicKey, counter, createdAt];
    return (await this.#sql.query(INSERT_PASSKEY, values)).length > 0;
  }

  async passkeysOf(userId: string): Promise<readonly Buffer[]> {
    const rows: { credential_id: Buffer }[] = await this.#sql
      .table('second_factors')
      .where({ user_id: userId, kind: 'passkey' })
      .select('credential_id');
    return rows.map((row) => row.credential_id);
  }

  async findPasskey(credentialId: Buffer) {
    type Row = UserRow & {
      password_hash: string;
      factor_id: string;
      credential_id: Buffer;
      public_key: Buffer;
      last_step: string;
    };
    const [row] = await this.#sql.query<Row>(FIND_PASSKEY, [credentialId]);
    return (
      row && {
        factorId: row.factor_id,
        credential: { id: row.credential_id, publicKey: row.public_key, counter: Number(row.last_step) },
        user: mapUser(row),
        passwordHash: row.password_hash,
      }
    );
  }

  async countPasskey(factorId: string, before: number, counter: number, at: Date): Promise<boolean> {
    return (await this.#sql.query(COUNT_PASSKEY, [factorId, before, counter, at])).length > 0;
  }

  async insertPasskeyChallenge(
    challenge: Parameters<SecondFactorStore['insertPasskeyChallenge']>[0],
  ): Promise<void> {
    const { challengeHash, userId, now, expiresAt } = challenge;
    await this.#sql.table('passkey_challenges').where('expires_at', '<', now).delete();
    await this.#sql
      .table('passkey_challenges')
      .insert({ challenge_hash: challengeHash, user_id: userId, expires_at: expiresAt });
  }

  async takePasskeyChallenge(challengeHash: Buffer, userId: string | null, now: Date): Promise<boolean> {
    return (await this.#sql.query(TAKE_PASSKEY_CHALLENGE, [challengeHash, userId, now])).length > 0;
  }

  async recordUse(id: string, step: number, at: Date): Promise<void> {
    await this.#sql.table('second_factors').where({ id }).update({ last_step: step, last_used_at: at });
  }

  async confirm(id: string, at: Date): Promise<void> {
    await this.#sql.table('second_factors').where({ id }).update({ confirmed_at: at });
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.#sql.table('second_factors').whereIn('id', ids).delete();
  }

  async replaceRecoveryCodes(userId: string, hashes: readonly Buffer[]): Promise<void> {
    await this.#sql.table('recovery_codes').where({ user_id: userId }).delete();
    if (hashes.length > 0) await this.#sql.execute(ADD_RECOVERY_CODES, [userId, hashes]);
  }

  async takeRecoveryCode(userId: string, hash: Buffer, at: Date): Promise<boolean> {
    return (await this.#sql.query(USE_RECOVERY_CODE, [userId, hash, at])).length > 0;
  }

  async countRecoveryCodes(userId: string): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>(COUNT_RECOVERY_CODES, [userId]);
    return row?.count ?? 0;
  }

  async insertChallenge(challenge: {
    tokenHash: Buffer;
    userId: string;
    passwordHash: string;
    expiresAt: Date;
  }): Promise<void> {
    await this.#sql.table('sign_in_challenges').insert({
      token_hash: challenge.tokenHash,
      user_id: challenge.userId,
      password_hash: challenge.passwordHash,
      expires_at: challenge.expiresAt,
    });
  }

  async findChallenge(tokenHash: Buffer, now: Date) {
    const values = [tokenHash, now];
    const [row] = await this.#sql.query<UserRow & { password_hash: string }>(FIND_CHALLENGE, values);
    return row && { user: mapUser(row), passwordHash: row.password_hash };
  }

  async removeChallenge(tokenHash: Buffer): Promise<boolean> {
    return (await this.#sql.table('sign_in_challenges').where({ token_hash: tokenHash }).delete()) > 0;
  }

  async removeChallengesOf(userId: string): Promise<void> {
    await this.#sql.table('sign_in_challenges').where({ user_id: userId }).delete();
  }

  async forgetChallenges(now: Date): Promise<void> {
    await this.#sql.table('sign_in_challenges').where('expires_at', '<', now).delete();
  }
}

function mapFactor(row: FactorRow): SecondFactor {
  return {
    id: row.id,
    userId: row.user_id,
    kind: row.kind,
    name: row.name,
    createdAt: row.created_at,
    confirmedAt: row.confirmed_at,
    lastUsedAt: row.last_used_at,
  };
}
