import { type AuditLink, type ChainedEntry, nextLink } from '../domain/audit/audit-chain.ts';
import type { AuditEntry } from '../domain/audit/audit-entry.ts';
import type { AuditStore } from '../domain/ports/stores.ts';
import { type Sql, statement } from './sql.ts';

const COLUMNS = 'id, account_id, at, actor, action, target, before, after';
const END = statement('audit-end', 'SELECT seq, hash FROM audit_chain');
const LOCK_END = statement('audit-lock-end', 'SELECT seq, hash FROM audit_chain FOR UPDATE');
const MOVE_END = statement('audit-move-end', 'UPDATE audit_chain SET seq = $1, hash = $2');
const APPEND = statement(
  'audit-append',
  `INSERT INTO audit_entries (${COLUMNS}, seq, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);
const AFTER = statement(
  'audit-after',
  `SELECT ${COLUMNS}, seq, hash FROM audit_entries WHERE seq > $1 ORDER BY seq LIMIT $2`,
);

interface AuditRow extends Omit<AuditEntry, 'accountId'>, AuditLink {
  readonly account_id: string | null;
}

/** The audit log, each entry chained to the one before it. */
export class PgAuditStore implements AuditStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async append(entry: AuditEntry): Promise<void> {
    const [end] = await this.#sql.query<AuditLink>(LOCK_END, []);
    if (!end) throw new Error('the audit chain has lost its end');
    const { seq, hash } = nextLink(end, entry);
    const { id, accountId, at, actor, action, target, before, after } = entry;
    await this.#sql.execute(APPEND, [id, accountId, at, actor, action, target, before, after, seq, hash]);
    await this.#sql.execute(MOVE_END, [seq, hash]);
  }

  async chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]> {
    const rows = await this.#sql.query<AuditRow>(AFTER, [seq, limit]);
    return rows.map(({ seq, hash, account_id: accountId, ...entry }) => ({
      seq,
      hash,
      entry: { ...entry, accountId },
    }));
  }

  async chainEnd(): Promise<AuditLink> {
    const [end] = await this.#sql.query<AuditLink>(END, []);
    if (!end) throw new Error('the audit chain has lost its end');
    return end;
  }
}
