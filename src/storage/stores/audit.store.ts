import { type AuditLink, CHAIN_START, type ChainedEntry, nextLink } from '../../domain/audit/audit-chain.ts';
import type { AuditEntry } from '../../domain/audit/audit-entry.ts';
import type { TwoWayRange } from '../../domain/paging.ts';
import type { AuditHeads, AuditStore } from '../../domain/ports/audit-stores.ts';
import type { AuditFilter } from '../../domain/ports/list-stores.ts';
import { uuidFloor } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { ownRows } from './account-rows.ts';

interface AuditRow extends Omit<AuditEntry, 'accountId'> {
  readonly account_id: string | null;
}

const COLUMNS = ['id', 'account_id', 'at', 'actor', 'action', 'target', 'before', 'after'] as const;

function mapRow(row: AuditRow): AuditEntry {
  return {
    id: row.id,
    accountId: row.account_id,
    at: row.at,
    actor: row.actor,
    action: row.action,
    target: row.target,
    before: row.before,
    after: row.after,
  };
}

/**
 * Largest difference in ms between the time of an entry and the time in its id, which are read at different moments.
 */
const ID_SLACK_MS = 60_000;
const HEAD = 'SELECT seq, hash, log_id, sealed FROM audit_head';
const FIND_HEAD = statement('audit-head', HEAD);
const LOCK_HEAD = statement('audit-lock-head', `${HEAD} FOR UPDATE`);
const MOVE_HEAD = statement('audit-move-head', 'UPDATE audit_head SET seq = $1, hash = $2, sealed = $3');
const REPLACE_SIGNED = statement(
  'audit-replace-signed',
  'UPDATE audit_head SET sealed = $2 WHERE sealed IS NOT DISTINCT FROM $1',
);
const APPEND = statement(
  'audit-append',
  `INSERT INTO audit_entries (${COLUMNS.join(', ')}, seq, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);
const AFTER = statement(
  'audit-after',
  `SELECT ${COLUMNS.join(', ')}, seq, hash FROM audit_entries WHERE seq > $1 ORDER BY seq LIMIT $2`,
);
const CHAINED = statement(
  'audit-chained',
  `SELECT ${COLUMNS.map((column) => `e.${column}`).join(', ')}, e.seq, e.hash, p.hash AS previous_hash
   FROM audit_entries e LEFT JOIN audit_entries p ON p.seq = e.seq - 1
   WHERE e.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR e.account_id = $2)`,
);

interface HeadRow extends AuditLink {
  readonly log_id: string;
  readonly sealed: string | null;
}

/**
 * The audit log. Each entry has a hash that depends on the previous entry. The last hash (the head) is signed with each
 * entry.
 */
export class PgAuditStore implements AuditStore {
  readonly #sql: Sql;
  readonly #heads: Pick<AuditHeads, 'sign' | 'keep'>;

  constructor(sql: Sql, heads: Pick<AuditHeads, 'sign' | 'keep'>) {
    this.#sql = sql;
    this.#heads = heads;
  }

  async append(entry: AuditEntry): Promise<void> {
    const end = endOf(await this.#sql.query<HeadRow>(LOCK_HEAD, []));
    const { seq, hash } = nextLink(end, entry);
    const { id, accountId, at, actor, action, target, before, after } = entry;
    await this.#sql.execute(APPEND, [id, accountId, at, actor, action, target, before, after, seq, hash]);
    const head = { logId: end.log_id, seq, hash };
    await this.#sql.execute(MOVE_HEAD, [seq, hash, this.#heads.sign(head)]);
    // Keep the head outside the database only after the commit. If the transaction was rolled back, that head would be
    // ahead of the log, and it would seem that entries were deleted.
    this.#sql.onEnd((isCommitted) => {
      if (isCommitted) void this.#heads.keep(head);
    });
  }

  async chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]> {
    const rows = await this.#sql.queryOnDisk<AuditRow & AuditLink>(AFTER, [seq, limit]);
    return rows.map((row) => ({ seq: row.seq, hash: row.hash, entry: mapRow(row) }));
  }

  async chained(accountId: string | undefined, ids: readonly string[]) {
    type Row = AuditRow & AuditLink & { readonly previous_hash: Buffer | null };
    const rows = await this.#sql.queryOnDisk<Row>(CHAINED, [ids, accountId ?? null]);
    return rows.map((row) => ({
      seq: row.seq,
      hash: row.hash,
      entry: mapRow(row),
      previous: row.previous_hash === null ? CHAIN_START : { seq: row.seq - 1, hash: row.previous_hash },
    }));
  }

  async heads(): Promise<{ logId: string; signed: string | null; end: AuditLink }> {
    const {
      seq,
      hash,
      log_id: logId,
      sealed: signed,
    } = endOf(await this.#sql.queryOnDisk<HeadRow>(FIND_HEAD, []));
    return { logId, signed, end: { seq, hash } };
  }

  async replaceSigned(before: string | null, signed: string): Promise<void> {
    await this.#sql.execute(REPLACE_SIGNED, [before, signed]);
  }

  async list(
    accountId: string | undefined,
    filter: AuditFilter,
    { limit, after, isBackward, before }: TwoWayRange,
  ): Promise<readonly AuditEntry[]> {
    const rows = await this.#sql.readOnDisk(async (sql): Promise<AuditRow[]> => {
      const order = isBackward ? 'asc' : 'desc';
      const query = matching(sql, accountId, filter).orderBy('id', order).limit(limit);
      if (after !== undefined) query.where('id', '<', after);
      if (before !== undefined) query.where('id', '>', before);
      return query.select(...COLUMNS);
    });
    return rows.map(mapRow);
  }

  async findMany(accountId: string, ids: readonly string[]): Promise<readonly AuditEntry[]> {
    const rows: AuditRow[] = await matching(this.#sql, accountId, {})
      .whereIn('id', [...ids])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  count(accountId: string | undefined, filter: AuditFilter): Promise<number> {
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    if (accountId !== undefined && !isFiltered) return ownRows(this.#sql, accountId, 'audit_entries');
    return this.#sql.readOnDisk((sql) => sql.count(matching(sql, accountId, filter)));
  }
}

function matching(sql: Sql, accountId: string | undefined, filter: AuditFilter) {
  const query = sql.table<AuditRow>('audit_entries');
  if (accountId !== undefined) query.where('account_id', accountId);
  if (filter.action !== undefined) query.where('action', filter.action);
  if (filter.actors !== undefined) query.whereIn('actor', [...filter.actors]);
  if (filter.targets !== undefined) query.whereIn('target', [...filter.targets]);
  // Also compare ids, because the index is on ids and an id contains its time.
  const { from, to } = filter;
  if (from !== undefined) query.where('at', '>=', from).where('id', '>=', idAround(from, -ID_SLACK_MS));
  if (to !== undefined) query.where('at', '<=', to).where('id', '<', idAround(to, ID_SLACK_MS));
  return query;
}

function endOf([end]: readonly HeadRow[]): HeadRow {
  if (!end) throw new Error('the audit chain has lost its end');
  return end;
}

function idAround(time: Date, slackMs: number): string {
  return uuidFloor(new Date(Math.max(0, time.getTime() + slackMs)));
}
