import type { AuditEntry } from '../domain/audit/audit-entry.ts';
import type { AuditStore } from '../domain/ports/stores.ts';
import type { Sql } from './sql.ts';

/** The audit log. */
export class PgAuditStore implements AuditStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async append(entry: AuditEntry): Promise<void> {
    await this.#sql.table('audit_entries').insert({
      id: entry.id,
      account_id: entry.accountId,
      at: entry.at,
      actor: entry.actor,
      action: entry.action,
      target: entry.target,
      before: entry.before,
      after: entry.after,
    });
  }
}
