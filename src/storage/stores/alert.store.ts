import type { Alert, AlertDetail, AlertKind, AlertRuleChange, Finding } from '../../domain/alerts/alert.ts';
import type { KeyRange, Page, PageRequest } from '../../domain/paging.ts';
import type { AlertFilter, AlertOwner, AlertStore, OpenedAlert } from '../../domain/ports/alert-store.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';

interface AlertRow {
  id: string;
  account_id: string | null;
  opened_at: Date;
  resolved_at: Date | null;
  is_mailed: boolean;
  kind: AlertKind;
  cause: string;
  summary: string;
  detail: AlertDetail;
}

interface RuleRow {
  account_id: string | null;
  kind: AlertKind;
  is_enabled: boolean;
  threshold: number | null;
  mail_to: string[] | null;
}

const COLUMNS = [
  'id',
  'account_id',
  'opened_at',
  'resolved_at',
  'is_mailed',
  'kind',
  'cause',
  'summary',
  'detail',
] as const;
/** SQL for the owner as the indexes have it: an account, or the UUID of zeros for the operators. */
const OWNER = `coalesce(account_id, '${FIRST_UUID}'::uuid)`;
const keyOf = (owner: AlertOwner) => owner ?? FIRST_UUID;

function mapRow(row: AlertRow): OpenedAlert {
  return {
    id: row.id,
    accountId: row.account_id,
    kind: row.kind,
    cause: row.cause,
    summary: row.summary,
    detail: row.detail,
    openedAt: row.opened_at,
    resolvedAt: row.resolved_at,
    isMailed: row.is_mailed,
  };
}

const RULES = statement(
  'alert-rules',
  `SELECT account_id, kind, is_enabled, threshold, mail_to FROM alert_rules WHERE ${OWNER} = ANY($1::uuid[])`,
);
// The number separates this lock from other advisory locks. It could be any number.
const LOCK_RULES = statement('alert-rules-lock', 'SELECT pg_advisory_xact_lock(7350480)');
const SET_RULE = statement(
  'alert-rules-set',
  `INSERT INTO alert_rules (account_id, kind, is_enabled, threshold, mail_to, changed_at)
   VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (${OWNER}, kind) DO UPDATE SET is_enabled = excluded.is_enabled, threshold = excluded.threshold,
     mail_to = excluded.mail_to, changed_at = excluded.changed_at`,
);
const OPEN = statement(
  'alerts-open',
  `SELECT ${COLUMNS.join(', ')} FROM alerts WHERE ${OWNER} = ANY($1::uuid[]) AND resolved_at IS NULL`,
);
// The unique index of open alerts makes one alert of several that are opened at the same time.
const INSERT = statement(
  'alerts-insert',
  `INSERT INTO alerts (id, account_id, kind, cause, summary, detail, opened_at, is_mailed)
   SELECT n.*, $7, false FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[])
     AS n (id, account_id, kind, cause, summary, detail)
   ON CONFLICT DO NOTHING RETURNING ${COLUMNS.join(', ')}`,
);
// Rows of before migration 0211, and of the version before it, have no `mailed_at`: they were mailed when they opened.
const UNMAILED_SINCE = statement(
  'alerts-unmailed-since',
  `SELECT n.id FROM alerts n WHERE n.id = ANY($1::uuid[]) AND NOT EXISTS (
     SELECT FROM alerts a
     WHERE coalesce(a.account_id, '${FIRST_UUID}'::uuid) = coalesce(n.account_id, '${FIRST_UUID}'::uuid)
       AND a.kind = n.kind AND a.cause = n.cause AND a.is_mailed AND coalesce(a.mailed_at, a.opened_at) > $2)`,
);
const NOTE_MAILED = statement(
  'alerts-note-mailed',
  'UPDATE alerts SET is_mailed = true, mailed_at = $2 WHERE id = ANY($1::uuid[])',
);
const RESOLVE = statement(
  'alerts-resolve',
  `UPDATE alerts SET resolved_at = $2 WHERE id = ANY($1::uuid[]) AND resolved_at IS NULL
   RETURNING ${COLUMNS.join(', ')}`,
);
const FORGET = statement(
  'alerts-forget',
  `DELETE FROM alerts WHERE id = ANY (ARRAY(
     SELECT id FROM alerts WHERE resolved_at < $1 ORDER BY resolved_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
);

/** Stores alerts and their rules (R480). */
export class PgAlertStore implements AlertStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async ruleChanges(owners: readonly AlertOwner[]): Promise<readonly AlertRuleChange[]> {
    const rows = await this.#sql.query<RuleRow>(RULES, [owners.map(keyOf)]);
    return rows.map((row) => ({
      accountId: row.account_id,
      kind: row.kind,
      isEnabled: row.is_enabled,
      threshold: row.threshold,
      mailTo: row.mail_to,
    }));
  }

  async lockRules(): Promise<void> {
    await this.#sql.query(LOCK_RULES, []);
  }

  async setRule({ accountId, kind, isEnabled, threshold, mailTo }: AlertRuleChange, at: Date): Promise<void> {
    await this.#sql.query(SET_RULE, [accountId, kind, isEnabled, threshold, mailTo, at]);
  }

  async open(owners: readonly AlertOwner[]): Promise<readonly OpenedAlert[]> {
    return (await this.#sql.query<AlertRow>(OPEN, [owners.map(keyOf)])).map(mapRow);
  }

  async insert(
    findings: readonly (Finding & { readonly id: string })[],
    at: Date,
  ): Promise<readonly OpenedAlert[]> {
    if (findings.length === 0) return [];
    const rows = await this.#sql.query<AlertRow>(INSERT, [
      findings.map(({ id }) => id),
      findings.map(({ accountId }) => accountId),
      findings.map(({ kind }) => kind),
      findings.map(({ cause }) => cause),
      findings.map(({ summary }) => summary),
      findings.map(({ detail }) => JSON.stringify(detail)),
      at,
    ]);
    return rows.map(mapRow);
  }

  async unmailedSince(ids: readonly string[], since: Date): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#sql.query<{ id: string }>(UNMAILED_SINCE, [ids, since]);
    return new Set(rows.map(({ id }) => id));
  }

  async noteMailed(ids: readonly string[], at: Date): Promise<void> {
    if (ids.length > 0) await this.#sql.query(NOTE_MAILED, [ids, at]);
  }

  async resolve(ids: readonly string[], at: Date): Promise<readonly OpenedAlert[]> {
    if (ids.length === 0) return [];
    return (await this.#sql.query<AlertRow>(RESOLVE, [ids, at])).map(mapRow);
  }

  async find(id: string): Promise<Alert | undefined> {
    const row: AlertRow | undefined = await this.#sql
      .table('alerts')
      .where({ id })
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  async findMany(owner: AlertOwner, ids: readonly string[]): Promise<readonly Alert[]> {
    const rows: AlertRow[] = await this.#matching(owner, {})
      .whereIn('id', [...ids])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async page(owner: AlertOwner, filter: AlertFilter, { page, limit }: PageRequest): Promise<Page<Alert>> {
    const rows: AlertRow[] = await this.#matching(owner, filter)
      .select(...COLUMNS)
      .orderBy('id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit);
    return { rows: rows.map(mapRow), total: await this.count(owner, filter) };
  }

  async slice(owner: AlertOwner, filter: AlertFilter, { limit, after }: KeyRange): Promise<readonly Alert[]> {
    const matching = this.#matching(owner, filter).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) matching.where('id', '<', after);
    const rows: AlertRow[] = await matching.select(...COLUMNS);
    return rows.map(mapRow);
  }

  async count(owner: AlertOwner, filter: AlertFilter): Promise<number> {
    const [row] = await this.#matching(owner, filter).count<{ count: number }[]>({ count: '*' });
    return row?.count ?? 0;
  }

  async forget(before: Date, limit: number): Promise<number> {
    return (await this.#sql.query(FORGET, [before, limit])).length;
  }

  #matching(owner: AlertOwner, { state, kind, without = [] }: AlertFilter) {
    const matching = this.#sql.table<AlertRow>('alerts').whereRaw(`${OWNER} = ?`, [keyOf(owner)]);
    if (state === 'open') matching.whereNull('resolved_at');
    if (state === 'resolved') matching.whereNotNull('resolved_at');
    if (kind !== undefined) matching.where({ kind });
    if (without.length > 0) matching.whereNotIn('kind', [...without]);
    return matching;
  }
}
