import type { AccessToken, KnownToken } from '../../domain/people/access-token.ts';
import type { AccessTokenStore } from '../../domain/ports/people-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { checkedIdentity } from './single-sign-on.store.ts';
import { FACT_COLUMNS, type FactsRow, mapFacts, presentIn, USER_COLUMNS } from './user.store.ts';

interface TokenRow {
  id: string;
  user_id: string;
  name: string;
  permissions: string[];
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const COLUMNS = [
  'id',
  'user_id',
  'name',
  'permissions',
  'created_at',
  'expires_at',
  'last_used_at',
  'revoked_at',
];
/** Tokens and users have columns with the same names. So the columns of the token get a prefix. */
const TOKEN_AND_USER = [
  ...COLUMNS.map((column) => `t.${column} AS token_${column}`),
  ...USER_COLUMNS.map((column) => `u.${column}`),
].join(', ');
const LIVING = statement(
  'access-tokens-living',
  `SELECT ${TOKEN_AND_USER}, ${FACT_COLUMNS}, t.token_hash
   FROM access_tokens t JOIN users u ON u.id = t.user_id AND ${presentIn('u')}
   WHERE t.token_hash = ANY($1::bytea[]) AND t.revoked_at IS NULL AND t.expires_at > $2
     AND NOT EXISTS (SELECT FROM single_sign_on_identities i WHERE i.user_id = u.id
       AND NOT (${checkedIdentity('i', '$2')}))
     AND (NOT EXISTS (SELECT FROM single_sign_on s WHERE s.account_id = u.account_id AND s.required
         AND s.domain_proved_at IS NOT NULL AND s.break_glass_user_id <> u.id)
       OR EXISTS (SELECT FROM single_sign_on_identities i WHERE i.user_id = u.id))`,
);
const LIST = statement(
  'access-tokens',
  `SELECT ${COLUMNS.join(', ')} FROM access_tokens WHERE user_id = $1 ORDER BY id DESC LIMIT 200`,
);
const REVOKE = statement(
  'access-token-revoke',
  `UPDATE access_tokens SET revoked_at = coalesce(revoked_at, $3) WHERE id = $1 AND user_id = $2
   RETURNING ${COLUMNS.join(', ')}, token_hash`,
);

/** Stores the access tokens of people. They are found by the hash of the token. */
export class PgAccessTokenStore implements AccessTokenStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(token: AccessToken, tokenHash: Buffer): Promise<void> {
    await this.#sql.table('access_tokens').insert({
      id: token.id,
      user_id: token.userId,
      name: token.name,
      token_hash: tokenHash,
      permissions: token.permissions,
      created_at: token.createdAt,
      expires_at: token.expiresAt,
    });
  }

  async findLiving(tokenHashes: readonly Buffer[], now: Date) {
    type Row = FactsRow & { token_hash: Buffer } & {
      [Column in keyof TokenRow as `token_${Column}`]: TokenRow[Column];
    };
    const rows = await this.#sql.query<Row>(LIVING, [tokenHashes, now]);
    return rows.map((row): KnownToken & { readonly tokenHash: Buffer } => ({
      tokenHash: row.token_hash,
      ...mapFacts(row),
      token: mapToken({
        id: row.token_id,
        user_id: row.token_user_id,
        name: row.token_name,
        permissions: row.token_permissions,
        created_at: row.token_created_at,
        expires_at: row.token_expires_at,
        last_used_at: row.token_last_used_at,
        revoked_at: row.token_revoked_at,
      }),
    }));
  }

  async list(userId: string): Promise<readonly AccessToken[]> {
    return (await this.#sql.query<TokenRow>(LIST, [userId])).map(mapToken);
  }

  async revoke(id: string, userId: string, at: Date) {
    const [row] = await this.#sql.query<TokenRow & { token_hash: Buffer }>(REVOKE, [id, userId, at]);
    return row && { token: mapToken(row), tokenHash: row.token_hash };
  }

  async revokeAllOf(userId: string, at: Date): Promise<void> {
    await this.#sql
      .table('access_tokens')
      .where({ user_id: userId, revoked_at: null })
      .update({ revoked_at: at });
  }

  async recordUse(tokenHash: Buffer, at: Date): Promise<void> {
    await this.#sql.table('access_tokens').where({ token_hash: tokenHash }).update({ last_used_at: at });
  }
}

function mapToken(row: TokenRow): AccessToken {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    permissions: row.permissions,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  };
}
