import { type AuditLink, type ChainedEntry, nextLink } from '../../domain/audit/audit-chain.ts';
import type { AuditEntry } from '../../domain/audit/audit-entry.ts';
import type { AuditHeads, AuditStore } from '../../domain/ports/audit-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const COLUMNS = 'id, account_id, at, actor, action, target, before, after';
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
  `INSERT INTO audit_entries (${COLUMNS}, seq, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);
const AFTER = statement(
  'audit-after',
  `SELECT ${COLUMNS}, seq, hash FROM audit_entries WHERE seq > $1 ORDER BY seq LIMIT $2`,
);

interface AuditRow extends Omit<AuditEntry, 'accountId'>, AuditLink {
  readonly account_id: string | null;
}

interface EndRow extends AuditLink {
  readonly log_id: string;
  readonly sealed: string | null;
}

/** The audit log: each entry is chained to the one before, and the head is signed with each entry. */
export class PgAuditStore implements AuditStore {
  readonly #sql: Sql;
  readonly #heads: Pick<AuditHeads, 'sign' | 'keep'>;

  constructor(sql: Sql, heads: Pick<AuditHeads, 'sign' | 'keep'>) {
    this.#sql = sql;
    this.#heads = heads;
  }

  async append(entry: AuditEntry): Promise<void> {
    const end = endOf(await this.#sql.query<EndRow>(LOCK_HEAD, []));
    const { seq, hash } = nextLink(end, entry);
    const { id, accountId, at, actor, action, target, before, after } = entry;
    await this.#sql.execute(APPEND, [id, accountId, at, actor, action, target, before, after, seq, hash]);
    const head = { logId: end.log_id, seq, hash };
    await this.#sql.execute(MOVE_HEAD, [seq, hash, this.#heads.sign(head)]);
    // Only after the commit: otherwise a rollback would look like a cut tail.
    this.#sql.onEnd((isCommitted) => {
      if (isCommitted) void this.#heads.keep(head);
    });
  }

  async chainedAfter(seq: number, limit: number): Promise<readonly ChainedEntry[]> {
    const rows = await this.#sql.queryOnDisk<AuditRow>(AFTER, [seq, limit]);
    return rows.map(({ seq, hash, account_id: accountId, ...entry }) => ({
      seq,
      hash,
      entry: { ...entry, accountId },
    }));
  }

  async heads(): Promise<{ logId: string; signed: string | null; end: AuditLink }> {
    const {
      seq,
      hash,
      log_id: logId,
      sealed: signed,
    } = endOf(await this.#sql.queryOnDisk<EndRow>(FIND_HEAD, []));
    return { logId, signed, end: { seq, hash } };
  }

  async replaceSigned(before: string | null, signed: string): Promise<void> {
    await this.#sql.execute(REPLACE_SIGNED, [before, signed]);
  }
}

function endOf([end]: readonly EndRow[]): EndRow {
  if (!end) throw new Error('the audit chain has lost its end');
  return end;
}
