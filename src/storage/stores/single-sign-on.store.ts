import { CHECKED_FOR_MINUTES } from '../../domain/people/single-sign-on.ts';
import type {
  DomainProof,
  Identity,
  RoleMapping,
  SingleSignOn,
  SingleSignOnRequest,
  SingleSignOnStore,
} from '../../domain/ports/single-sign-on.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { mapUser, presentIn, USER_COLUMNS, type UserRow } from './user.store.ts';

interface SettingsRow {
  account_id: string;
  issuer: string;
  client_id: string;
  client_secret_sealed: string;
  domain: string;
  domain_token: string;
  domain_proved_at: Date | null;
  domain_missing_since: Date | null;
  domain_lost_at: Date | null;
  role_mapping: RoleMapping;
  required: boolean;
  break_glass_user_id: string;
}
interface IdentityRow {
  id: string;
  account_id: string | null;
  issuer: string;
  subject: string;
  user_id: string;
  manages_role: boolean;
  refresh_token_sealed: string | null;
}
interface RequestRow {
  state_hash: Buffer;
  browser_hash: Buffer;
  account_id: string | null;
  issuer: string;
  nonce: string;
  code_verifier: string;
  next: string;
  session_hash: Buffer | null;
  expires_at: Date;
}

const SETTINGS_COLUMNS = [
  'account_id',
  'issuer',
  'client_id',
  'client_secret_sealed',
  'domain',
  'domain_token',
  'domain_proved_at',
  'domain_missing_since',
  'domain_lost_at',
  'role_mapping',
  'required',
  'break_glass_user_id',
] as const;
const IDENTITY_COLUMNS = [
  'id',
  'account_id',
  'issuer',
  'subject',
  'user_id',
  'manages_role',
  'refresh_token_sealed',
] as const;
const NO_ACCOUNT = '00000000-0000-0000-0000-000000000000';

/**
 * Returns the SQL condition for identities in `table` that have not ended and were checked at their provider within
 * `CHECKED_FOR_MINUTES` (R358). `now` is an SQL expression.
 */
export function checkedIdentity(table: string, now: string): string {
  return `${table}.ended_at IS NULL AND ${table}.checked_at > ${now}::timestamptz - interval '${CHECKED_FOR_MINUTES} minutes'`;
}

const PROVE = statement(
  'single-sign-on-prove',
  `UPDATE single_sign_on s
   SET domain_proved_at = $2, domain_check_at = $3, domain_missing_since = NULL, domain_lost_at = NULL
   WHERE account_id = $1 AND NOT EXISTS (
     SELECT FROM single_sign_on o WHERE o.domain = s.domain AND o.account_id <> $1 AND o.domain_proved_at IS NOT NULL)
   RETURNING account_id`,
);
const RELEASE = statement(
  'single-sign-on-release',
  `UPDATE single_sign_on o SET domain_proved_at = NULL FROM single_sign_on s
   WHERE s.account_id = $1 AND o.domain = s.domain AND o.account_id <> $1
     AND o.domain_proved_at IS NOT NULL AND o.domain_lost_at IS NOT NULL
   RETURNING o.account_id`,
);
// Rows of an account that moves to another cell refuse changes, and would stop those of all other accounts (R503).
const TAKE_DUE_DOMAINS = statement(
  'single-sign-on-due-domains',
  `UPDATE single_sign_on SET domain_check_at = $2 WHERE account_id IN (
     SELECT account_id FROM single_sign_on s WHERE domain_proved_at IS NOT NULL AND domain_check_at <= $1
       AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = s.account_id AND a.moving IS NOT NULL)
     ORDER BY domain_check_at LIMIT $3 FOR UPDATE SKIP LOCKED)
   RETURNING ${SETTINGS_COLUMNS.join(', ')}`,
);
const KEEP_DOMAIN = statement(
  'single-sign-on-keep-domain',
  `UPDATE single_sign_on SET domain_check_at = $3, domain_missing_since = NULL, domain_lost_at = NULL
   WHERE account_id = $1 AND domain_token = $2 AND domain_proved_at IS NOT NULL RETURNING account_id`,
);
const MISS_DOMAIN = statement(
  'single-sign-on-miss-domain',
  `UPDATE single_sign_on SET domain_missing_since = coalesce(domain_missing_since, $3)
   WHERE account_id = $1 AND domain_token = $2`,
);
const LOSE_DOMAIN = statement(
  'single-sign-on-lose-domain',
  `UPDATE single_sign_on SET domain_lost_at = $3
   WHERE account_id = $1 AND domain_token = $2 AND domain_proved_at IS NOT NULL AND domain_lost_at IS NULL
   RETURNING account_id`,
);
const REQUIRED_OF = statement(
  'single-sign-on-required',
  `SELECT FROM users u JOIN single_sign_on s ON s.account_id = u.account_id
   WHERE u.id = $1 AND s.required AND s.domain_proved_at IS NOT NULL AND s.break_glass_user_id <> u.id`,
);
const END_OTHER_SESSIONS = statement(
  'single-sign-on-end-others',
  `DELETE FROM sessions s USING users u
   WHERE u.id = s.user_id AND u.account_id = $1 AND u.id <> $2 AND s.identity_id IS NULL`,
);
const TAKE_REQUEST = statement(
  'single-sign-on-take',
  `DELETE FROM single_sign_on_requests WHERE state_hash = $1 AND browser_hash = $2 AND expires_at > $3
   RETURNING state_hash, browser_hash, account_id, issuer, nonce, code_verifier, next, session_hash, expires_at`,
);
const LOCK_IDENTITY = statement(
  'single-sign-on-lock',
  `SELECT ${IDENTITY_COLUMNS.map((column) => `i.${column}`).join(', ')}, NOT (${presentIn('u')}) AS is_removed
   FROM single_sign_on_identities i JOIN users u ON u.id = i.user_id
   WHERE coalesce(i.account_id, '${NO_ACCOUNT}') = coalesce($1::uuid, '${NO_ACCOUNT}')
     AND i.issuer = $2 AND i.subject = $3 FOR UPDATE OF i`,
);
const SAVE_IDENTITY = statement(
  'single-sign-on-save',
  `INSERT INTO single_sign_on_identities (${IDENTITY_COLUMNS.join(', ')}, checked_at, check_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ON CONFLICT (coalesce(account_id, '${NO_ACCOUNT}'), issuer, subject) DO UPDATE SET
     user_id = excluded.user_id, manages_role = excluded.manages_role,
     refresh_token_sealed = excluded.refresh_token_sealed,
     checked_at = excluded.checked_at, check_at = excluded.check_at, ended_at = NULL`,
);
// People without a valid session or token need no check. The number of people of one account is limited: its provider
// may be slow and would delay the checks of other accounts.
const TAKE_DUE = statement(
  'single-sign-on-due',
  `UPDATE single_sign_on_identities i SET check_at = $2 FROM users u
   WHERE u.id = i.user_id AND ${presentIn('u')} AND i.check_at <= $1 AND i.id IN (
     SELECT id FROM (
       SELECT d.id, d.check_at, row_number() OVER (PARTITION BY d.account_id ORDER BY d.check_at, d.id) AS place
       FROM single_sign_on_identities d
       WHERE d.ended_at IS NULL AND d.refresh_token_sealed IS NOT NULL AND d.check_at <= $1
         AND (EXISTS (SELECT FROM sessions s WHERE s.identity_id = d.id AND s.ends_at > $1)
           OR EXISTS (SELECT FROM access_tokens t
             WHERE t.user_id = d.user_id AND t.revoked_at IS NULL AND t.expires_at > $1))) ranked
     WHERE place <= $4 ORDER BY check_at LIMIT $3)
   RETURNING ${IDENTITY_COLUMNS.map((column) => `i.${column} AS identity_${column}`).join(', ')},
     ${USER_COLUMNS.map((column) => `u.${column}`).join(', ')}`,
);
const END_IDENTITY = statement(
  'single-sign-on-end',
  `WITH ended AS (
     UPDATE single_sign_on_identities SET ended_at = $2, refresh_token_sealed = NULL WHERE id = $1 RETURNING user_id
   ), revoked AS (
     UPDATE access_tokens t SET revoked_at = $2 FROM ended e WHERE t.user_id = e.user_id AND t.revoked_at IS NULL
   )
   DELETE FROM sessions WHERE identity_id = $1`,
);
// An access token does not work while the check of its person's identity is overdue. Without the identity, such a token
// would work again. So revoke it.
const FORGET_IDENTITIES = statement(
  'single-sign-on-forget',
  `WITH gone AS (
     DELETE FROM single_sign_on_identities i WHERE i.account_id = $1 AND i.issuer IS DISTINCT FROM $2
     RETURNING i.user_id, ${checkedIdentity('i', 'now()')} AS is_checked
   )
   UPDATE access_tokens t SET revoked_at = now() FROM gone g
   WHERE t.user_id = g.user_id AND NOT g.is_checked AND t.revoked_at IS NULL`,
);

/** Stores single sign-on: settings of accounts, people at providers, and sign-ins under way. */
export class PgSingleSignOnStore implements SingleSignOnStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(accountId: string): Promise<SingleSignOn | undefined> {
    const row: SettingsRow | undefined = await this.#sql
      .table<SettingsRow>('single_sign_on')
      .where({ account_id: accountId })
      .first(...SETTINGS_COLUMNS);
    return row && mapSettings(row);
  }

  async findByDomain(domain: string): Promise<SingleSignOn | undefined> {
    const row: SettingsRow | undefined = await this.#sql
      .table<SettingsRow>('single_sign_on')
      .where({ domain })
      .whereNotNull('domain_proved_at')
      .first(...SETTINGS_COLUMNS);
    return row && mapSettings(row);
  }

  async save(settings: Omit<SingleSignOn, 'domainMissingSince' | 'domainLostAt'>): Promise<void> {
    await this.#sql
      .table('single_sign_on')
      .insert({
        account_id: settings.accountId,
        issuer: settings.issuer,
        client_id: settings.clientId,
        client_secret_sealed: settings.clientSecretSealed,
        domain: settings.domain,
        domain_token: settings.domainToken,
        domain_proved_at: settings.domainProvedAt,
        role_mapping: JSON.stringify(settings.roleMapping),
        required: settings.required,
        break_glass_user_id: settings.breakGlassUserId,
      })
      .onConflict('account_id')
      .merge();
  }

  async proveDomain(accountId: string, at: Date, checkAt: Date): Promise<boolean> {
    return (await this.#sql.query(PROVE, [accountId, at, checkAt])).length > 0;
  }

  async releaseDomain(accountId: string): Promise<readonly string[]> {
    const rows = await this.#sql.query<{ account_id: string }>(RELEASE, [accountId]);
    return rows.map((row) => row.account_id);
  }

  async takeDueDomains(now: Date, nextAt: Date, most: number): Promise<readonly SingleSignOn[]> {
    return (await this.#sql.query<SettingsRow>(TAKE_DUE_DOMAINS, [now, nextAt, most])).map(mapSettings);
  }

  async keepDomain({ accountId, domainToken }: DomainProof, checkAt: Date): Promise<boolean> {
    return (await this.#sql.query(KEEP_DOMAIN, [accountId, domainToken, checkAt])).length > 0;
  }

  async missDomain({ accountId, domainToken }: DomainProof, at: Date): Promise<void> {
    await this.#sql.query(MISS_DOMAIN, [accountId, domainToken, at]);
  }

  async loseDomain({ accountId, domainToken }: DomainProof, at: Date): Promise<boolean> {
    return (await this.#sql.query(LOSE_DOMAIN, [accountId, domainToken, at])).length > 0;
  }

  async remove(accountId: string): Promise<void> {
    await this.#sql.table('single_sign_on').where({ account_id: accountId }).delete();
    await this.#sql.query(FORGET_IDENTITIES, [accountId, null]);
  }

  async removeOtherIdentities(accountId: string, issuer: string): Promise<void> {
    await this.#sql.query(FORGET_IDENTITIES, [accountId, issuer]);
  }

  async endOtherSessions(accountId: string, keptUserId: string): Promise<void> {
    await this.#sql.query(END_OTHER_SESSIONS, [accountId, keptUserId]);
  }

  async isRequiredOf(userId: string): Promise<boolean> {
    return (await this.#sql.query(REQUIRED_OF, [userId])).length > 0;
  }

  async insertRequest(request: SingleSignOnRequest, now: Date): Promise<void> {
    await this.#sql.table('single_sign_on_requests').where('expires_at', '<', now).delete();
    await this.#sql.table('single_sign_on_requests').insert({
      state_hash: request.stateHash,
      browser_hash: request.browserHash,
      account_id: request.accountId,
      issuer: request.issuer,
      nonce: request.nonce,
      code_verifier: request.codeVerifier,
      next: request.next,
      session_hash: request.sessionHash,
      expires_at: request.expiresAt,
    });
  }

  async takeRequest(stateHash: Buffer, browserHash: Buffer, now: Date) {
    const [row] = await this.#sql.query<RequestRow>(TAKE_REQUEST, [stateHash, browserHash, now]);
    return (
      row && {
        stateHash: row.state_hash,
        browserHash: row.browser_hash,
        accountId: row.account_id,
        issuer: row.issuer,
        nonce: row.nonce,
        codeVerifier: row.code_verifier,
        next: row.next,
        sessionHash: row.session_hash,
        expiresAt: row.expires_at,
      }
    );
  }

  async lockIdentity(accountId: string | null, issuer: string, subject: string) {
    const values = [accountId, issuer, subject];
    const [row] = await this.#sql.query<IdentityRow & { is_removed: boolean }>(LOCK_IDENTITY, values);
    return row && { identity: mapIdentity(row), isRemoved: row.is_removed };
  }

  async subjectsOf(userId: string, issuer: string): Promise<readonly string[]> {
    const rows: { subject: string }[] = await this.#sql
      .table<IdentityRow>('single_sign_on_identities')
      .where({ user_id: userId, issuer })
      .select('subject');
    return rows.map(({ subject }) => subject);
  }

  async saveIdentity(identity: Identity, checkedAt: Date, checkAt: Date): Promise<void> {
    const { id, accountId, issuer, subject, userId, managesRole, refreshTokenSealed } = identity;
    const values = [id, accountId, issuer, subject, userId, managesRole, refreshTokenSealed];
    await this.#sql.query(SAVE_IDENTITY, [...values, checkedAt, checkAt]);
  }

  async takeDue(now: Date, nextAt: Date, most: number, mostOfAccount: number) {
    type Row = UserRow & { [Column in keyof IdentityRow as `identity_${Column}`]: IdentityRow[Column] };
    const rows = await this.#sql.query<Row>(TAKE_DUE, [now, nextAt, most, mostOfAccount]);
    return rows.map((row) => ({
      identity: mapIdentity({
        id: row.identity_id,
        account_id: row.identity_account_id,
        issuer: row.identity_issuer,
        subject: row.identity_subject,
        user_id: row.identity_user_id,
        manages_role: row.identity_manages_role,
        refresh_token_sealed: row.identity_refresh_token_sealed,
      }),
      user: mapUser(row),
    }));
  }

  async endIdentity(id: string, at: Date): Promise<void> {
    await this.#sql.query(END_IDENTITY, [id, at]);
  }

  async removeIdentity(id: string): Promise<void> {
    await this.#sql.table('single_sign_on_identities').where({ id }).delete();
  }
}

function mapSettings(row: SettingsRow): SingleSignOn {
  return {
    accountId: row.account_id,
    issuer: row.issuer,
    clientId: row.client_id,
    clientSecretSealed: row.client_secret_sealed,
    domain: row.domain,
    domainToken: row.domain_token,
    domainProvedAt: row.domain_proved_at,
    // A domain without a proof can have old results of checks. A new proof removes them.
    domainMissingSince: row.domain_proved_at && row.domain_missing_since,
    domainLostAt: row.domain_proved_at && row.domain_lost_at,
    roleMapping: row.role_mapping,
    required: row.required,
    breakGlassUserId: row.break_glass_user_id,
  };
}

function mapIdentity(row: IdentityRow): Identity {
  return {
    id: row.id,
    accountId: row.account_id,
    issuer: row.issuer,
    subject: row.subject,
    userId: row.user_id,
    managesRole: row.manages_role,
    refreshTokenSealed: row.refresh_token_sealed,
  };
}
