import type { ApiKey, ApiKeyCredentials, ApiKeyUse, ScopeUse } from '../../domain/api-keys/api-key.ts';
import {
  KEY_REQUESTS_MAX,
  type KeyRequests,
  type KeyUsage,
  type PastKeyRequests,
} from '../../domain/api-keys/key-requests.ts';
import type { Environment, Scope } from '../../domain/caller.ts';
import type { Page, PageRequest } from '../../domain/paging.ts';
import type { ApiKeyPatch, ApiKeyStore, DescendantsQuery } from '../../domain/ports/api-key-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { ownRows } from './account-rows.ts';

interface ApiKeyRow {
  key_id: string;
  account_id: string;
  name: string;
  scopes: Scope[];
  environment: Environment;
  enable_hmac: boolean;
  ip_allowlist: string[];
  per_minute: number | null;
  per_second: number | null;
  created_by: string;
  issued_by: string;
  rotated_at: Date | null;
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
  replaces: string | null;
}

const COLUMNS = [
  'key_id',
  'account_id',
  'name',
  'scopes',
  'environment',
  'enable_hmac',
  'ip_allowlist',
  'per_minute',
  'per_second',
  'created_by',
  'issued_by',
  'rotated_at',
  'created_at',
  'expires_at',
  'last_used_at',
  'revoked_at',
  'replaces',
] as const;

function mapRow(row: ApiKeyRow): ApiKey {
  return {
    keyId: row.key_id,
    accountId: row.account_id,
    name: row.name,
    scopes: row.scopes,
    environment: row.environment,
    enableHmac: row.enable_hmac,
    ipAllowlist: row.ip_allowlist,
    rateLimit: { perMinute: row.per_minute, perSecond: row.per_second },
    createdAt: row.created_at,
    createdBy: row.created_by,
    issuedBy: row.issued_by,
    rotatedAt: row.rotated_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    replaces: row.replaces,
  };
}

const COUNT_LIVING = statement(
  'api-keys-count-living',
  `SELECT count(*)::int AS count FROM api_keys
   WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
);
const CREDENTIALS = statement(
  'api-key-credentials',
  `SELECT ${COLUMNS.map((column) => `k.${column}`).join(', ')}, k.secret_hash, k.signing_secret_sealed,
     p.per_minute AS plan_per_minute, p.per_second AS plan_per_second, p.webhooks_per_minute,
     a.moving IS NOT DISTINCT FROM 'moved' AS has_moved
   FROM api_keys k JOIN accounts a ON a.id = k.account_id LEFT JOIN plans p ON p.id = a.plan_id
   WHERE k.key_id = $1`,
);
const TOUCH = statement(
  'api-key-touch',
  `WITH n AS (SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS n (key_id, scope, at)),
     scoped AS (
       INSERT INTO api_key_scope_uses AS u (key_id, scope, last_used_at)
       SELECT key_id, scope, at FROM n WHERE scope IS NOT NULL ORDER BY key_id, scope
       ON CONFLICT (key_id, scope) DO UPDATE SET last_used_at = excluded.last_used_at
       WHERE u.last_used_at < excluded.last_used_at)
   UPDATE api_keys k SET last_used_at = n.at FROM n
   WHERE n.scope IS NULL AND k.key_id = n.key_id AND (k.last_used_at IS NULL OR k.last_used_at < n.at)`,
);
const SCOPE_USES = statement(
  'api-key-scope-uses',
  `SELECT k.key_id, s.scope, u.last_used_at
   FROM api_keys k CROSS JOIN LATERAL unnest(k.scopes) WITH ORDINALITY AS s (scope, place)
     LEFT JOIN api_key_scope_uses u ON u.key_id = k.key_id AND u.scope = s.scope
   WHERE k.key_id = ANY ($1) AND ($2::uuid IS NULL OR k.account_id = $2)
   ORDER BY k.key_id, s.place`,
);

/**
 * Adds counts to a day. If a key already has many rows on that day, further IP addresses share one row with an empty
 * address.
 */
const ADD_REQUESTS = statement(
  'api-key-requests-add',
  `WITH n AS (
     SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS n (key_id, operation, address, requests)),
   full_day AS (
     SELECT key_id FROM api_key_requests WHERE day = $1 AND key_id = ANY ($2) GROUP BY 1 HAVING count(*) >= $6)
   INSERT INTO api_key_requests AS r (day, key_id, operation, address, requests)
   SELECT $1::date, n.key_id, n.operation, CASE WHEN f.key_id IS NULL OR k.key_id IS NOT NULL THEN n.address ELSE '' END,
     sum(n.requests)
   FROM n JOIN api_keys USING (key_id) LEFT JOIN full_day f USING (key_id)
     LEFT JOIN api_key_requests k ON k.day = $1 AND k.key_id = n.key_id AND k.operation = n.operation AND k.address = n.address
   GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
   ON CONFLICT (key_id, day, operation, address) DO UPDATE SET requests = r.requests + excluded.requests`,
);
const PAST_REQUESTS = statement(
  'api-key-requests-past',
  `SELECT key_id, operation, address, sum(requests)::bigint AS requests, max(day)::text AS last_day
   FROM api_key_requests WHERE key_id = $1 AND day >= $2::date GROUP BY 1, 2, 3`,
);
const USAGE = statement(
  'api-key-usage',
  `SELECT r.key_id, r.day::text AS day, r.operation, sum(r.requests)::bigint AS requests
   FROM api_key_requests r JOIN api_keys k USING (key_id)
   WHERE ($1::uuid IS NULL OR k.account_id = $1) AND r.key_id = ANY ($2) AND r.day BETWEEN $3::date AND $4::date
   GROUP BY 1, 2, 3 ORDER BY 2 DESC, 4 DESC, 3, 1 LIMIT $5`,
);
const FORGET_REQUESTS = statement(
  'api-key-requests-forget',
  'WITH gone AS (DELETE FROM api_key_requests WHERE day < $1::date RETURNING 1) SELECT count(*) AS count FROM gone',
);

// The first number separates this lock from other advisory locks. It could be any number.
const LOCK_ACCOUNT = statement('api-keys-lock', 'SELECT pg_advisory_xact_lock(7350115, hashtext($1))');
/**
 * SQL for the keys whose present secret `maker` received. With $2, also the keys that `maker` created and others have
 * rotated since.
 */
const madeByOne = (maker: string) => `CROSS JOIN LATERAL (
     SELECT key_id FROM api_keys WHERE issued_by = ${maker}
     UNION SELECT key_id FROM api_keys WHERE created_by = ${maker} AND $2) AS k`;
const MADE_BY = statement(
  'api-keys-made-by',
  `WITH RECURSIVE made (maker, key_id) AS (
     SELECT m.maker, k.key_id FROM unnest($1::text[]) AS m (maker) ${madeByOne('m.maker')}
     UNION
     SELECT m.maker, k.key_id FROM made m ${madeByOne("'key:' || m.key_id")})
   SELECT m.maker, ${COLUMNS.map((column) => `k.${column}`).join(', ')} FROM made m JOIN api_keys k USING (key_id)
   WHERE $3::uuid IS NULL OR k.account_id = $3
   ORDER BY k.created_at, k.key_id LIMIT $4`,
);

/** Stores API keys. The caller announces every change, so that all processes drop their cached copy. */
export class PgApiKeyStore implements ApiKeyStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(key: ApiKey, secretHash: Buffer, signingSecretSealed: string | null): Promise<void> {
    await this.#sql.table('api_keys').insert({
      key_id: key.keyId,
      account_id: key.accountId,
      name: key.name,
      secret_hash: secretHash,
      scopes: [...key.scopes],
      environment: key.environment,
      enable_hmac: key.enableHmac,
      signing_secret_sealed: signingSecretSealed,
      ip_allowlist: [...key.ipAllowlist],
      per_minute: key.rateLimit.perMinute,
      per_second: key.rateLimit.perSecond,
      created_by: key.createdBy,
      issued_by: key.issuedBy,
      rotated_at: key.rotatedAt,
      created_at: key.createdAt,
      expires_at: key.expiresAt,
      replaces: key.replaces,
    });
  }

  async lockAccount(accountId: string): Promise<void> {
    await this.#sql.query(LOCK_ACCOUNT, [accountId]);
  }

  async find(keyId: string, accountId?: string): Promise<ApiKey | undefined> {
    const row: ApiKeyRow | undefined = await this.#byId(keyId, accountId).first(...COLUMNS);
    return row && mapRow(row);
  }

  async lock(keyId: string, accountId?: string): Promise<ApiKey | undefined> {
    const row: ApiKeyRow | undefined = await this.#byId(keyId, accountId)
      .forNoKeyUpdate()
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  #byId(keyId: string, accountId: string | undefined) {
    const query = this.#sql.table<ApiKeyRow>('api_keys').where({ key_id: keyId });
    return accountId === undefined ? query : query.where({ account_id: accountId });
  }

  async findMany(accountId: string | undefined, keyIds: readonly string[]): Promise<readonly ApiKey[]> {
    const rows: ApiKeyRow[] = await this.#sql
      .table('api_keys')
      .where(accountId === undefined ? {} : { account_id: accountId })
      .whereIn('key_id', [...keyIds])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async countLiving(accountId: string, now: Date): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>(COUNT_LIVING, [accountId, now]);
    return row?.count ?? 0;
  }

  async findCredentials(keyId: string): Promise<ApiKeyCredentials | undefined> {
    const [row] = await this.#sql.query<
      ApiKeyRow & {
        secret_hash: Buffer;
        signing_secret_sealed: string | null;
        plan_per_minute: number | null;
        plan_per_second: number | null;
        webhooks_per_minute: number | null;
        has_moved: boolean;
      }
    >(CREDENTIALS, [keyId]);
    if (!row) return undefined;
    const { plan_per_minute: perMinute, plan_per_second: perSecond, webhooks_per_minute: webhooks } = row;
    return {
      key: mapRow(row),
      secretHash: row.secret_hash,
      signingSecretSealed: row.signing_secret_sealed,
      hasMoved: row.has_moved,
      plan:
        perMinute !== null && perSecond !== null && webhooks !== null
          ? { perMinute, perSecond, webhooksPerMinute: webhooks }
          : null,
    };
  }

  async page(
    accountId: string,
    { page, limit }: PageRequest,
    environment?: Environment,
  ): Promise<Page<ApiKey>> {
    const own = this.#sql
      .table<ApiKeyRow>('api_keys')
      .where({ account_id: accountId, ...(environment === undefined ? {} : { environment }) });
    const total =
      environment === undefined
        ? await ownRows(this.#sql, accountId, 'api_keys')
        : await this.#sql.count(own);
    const rows: ApiKeyRow[] = await own
      .clone()
      .orderBy([{ column: 'created_at', order: 'desc' }, { column: 'key_id' }])
      .limit(limit)
      .offset((page - 1) * limit)
      .select(...COLUMNS);
    return { rows: rows.map(mapRow), total };
  }

  async findDescendants({ issuers, accountId, includesRotatedByOthers, limit }: DescendantsQuery) {
    const values = [issuers, includesRotatedByOthers, accountId ?? null, limit ?? null];
    const rows = await this.#sql.query<ApiKeyRow & { maker: string }>(MADE_BY, values);
    return rows.map((row) => ({ issuer: row.maker, key: mapRow(row) }));
  }

  async update(keyId: string, patch: ApiKeyPatch): Promise<ApiKey> {
    const rows: ApiKeyRow[] = await this.#sql
      .table('api_keys')
      .where({ key_id: keyId })
      .update({
        ...(patch.name === undefined ? {} : { name: patch.name }),
        ...(patch.scopes === undefined ? {} : { scopes: [...patch.scopes] }),
        ...(patch.environment === undefined ? {} : { environment: patch.environment }),
        ...(patch.ipAllowlist === undefined ? {} : { ip_allowlist: [...patch.ipAllowlist] }),
        ...(patch.expiresAt === undefined ? {} : { expires_at: patch.expiresAt }),
        ...(patch.rotatedAt === undefined ? {} : { rotated_at: patch.rotatedAt }),
        ...(patch.revokedAt === undefined ? {} : { revoked_at: patch.revokedAt }),
        ...(patch.rateLimit === undefined
          ? {}
          : { per_minute: patch.rateLimit.perMinute, per_second: patch.rateLimit.perSecond }),
      })
      .returning([...COLUMNS]);
    const [row] = rows;
    if (!row) throw new Error(`api key ${keyId} vanished`);
    return mapRow(row);
  }

  async findSuccessors(accountId: string | undefined, keyIds: readonly string[]): Promise<readonly ApiKey[]> {
    const rows: ApiKeyRow[] = await this.#sql
      .table('api_keys')
      .where(accountId === undefined ? {} : { account_id: accountId })
      .whereIn('replaces', [...keyIds])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async addRequests(day: Date, requests: readonly KeyRequests[]): Promise<void> {
    if (requests.length === 0) return;
    await this.#sql.query(ADD_REQUESTS, [
      day,
      requests.map(({ keyId }) => keyId),
      requests.map(({ operation }) => operation),
      requests.map(({ address }) => address),
      requests.map((one) => one.requests),
      KEY_REQUESTS_MAX,
    ]);
  }

  async pastRequests(keyId: string, since: Date): Promise<readonly PastKeyRequests[]> {
    const rows = await this.#sql.query<{
      key_id: string;
      operation: string;
      address: string;
      requests: number;
      last_day: string;
    }>(PAST_REQUESTS, [keyId, since]);
    return rows.map(({ key_id: id, last_day: lastDay, ...row }) => ({ ...row, keyId: id, lastDay }));
  }

  async usage(
    accountId: string | undefined,
    keyIds: readonly string[],
    from: Date,
    to: Date,
    limit: number,
  ): Promise<readonly KeyUsage[]> {
    const rows = await this.#sql.query<Omit<KeyUsage, 'keyId'> & { key_id: string }>(USAGE, [
      accountId ?? null,
      keyIds,
      from,
      to,
      limit,
    ]);
    return rows.map(({ key_id: keyId, ...row }) => ({ ...row, keyId }));
  }

  async forgetRequests(before: Date): Promise<number> {
    const [row] = await this.#sql.query<{ count: number }>(FORGET_REQUESTS, [before]);
    return row?.count ?? 0;
  }

  async touch(uses: readonly ApiKeyUse[]): Promise<void> {
    if (uses.length === 0) return;
    const columns = [uses.map((use) => use.keyId), uses.map((use) => use.scope), uses.map((use) => use.at)];
    await this.#sql.query(TOUCH, columns);
  }

  async scopeUses(
    keyIds: readonly string[],
    accountId?: string,
  ): Promise<ReadonlyMap<string, readonly ScopeUse[]>> {
    const rows = await this.#sql.query<{ key_id: string; scope: Scope; last_used_at: Date | null }>(
      SCOPE_USES,
      [keyIds, accountId ?? null],
    );
    const uses = new Map<string, ScopeUse[]>();
    for (const { key_id: keyId, scope, last_used_at: lastUsedAt } of rows) {
      const own = uses.get(keyId) ?? [];
      own.push({ scope, lastUsedAt });
      uses.set(keyId, own);
    }
    return uses;
  }
}
