import type { ObjectKind, ObjectStore } from '../../domain/ports/object-store.ts';
import { isUuid } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** For each kind of object whose id is a UUID: its table, and a condition that excludes deleted rows. */
const TABLES: Readonly<Record<Exclude<ObjectKind, 'account' | 'apiKey'>, string>> = {
  user: 'users WHERE',
  message: 'messages WHERE',
  webhook: 'webhooks WHERE deleted_at IS NULL AND',
  delivery: 'webhook_deliveries WHERE',
  contact: 'contacts WHERE',
  contactImport: 'contact_imports WHERE',
  device: 'devices WHERE',
  auditEntry: 'audit_entries WHERE',
  request: 'api_requests WHERE',
};
/** Looks for each id in the primary key of each table. */
const KINDS = statement(
  'object-kinds',
  [
    `SELECT id::text AS id, 'account' AS kind FROM accounts WHERE id = $1::uuid AND id = ANY($2::uuid[])`,
    `SELECT key_id, 'apiKey' FROM api_keys WHERE account_id = $1 AND key_id = ANY($3::text[])`,
    ...Object.entries(TABLES).map(
      ([kind, rows]) => `SELECT id::text, '${kind}' FROM ${rows} account_id = $1 AND id = ANY($2::uuid[])`,
    ),
  ].join(' UNION ALL '),
);

/** Finds the kind of the object that an id belongs to. */
export class PgObjectStore implements ObjectStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async kinds(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, ObjectKind>> {
    const rows = await this.#sql.queryOnDisk<{ id: string; kind: ObjectKind }>(KINDS, [
      accountId,
      ids.filter(isUuid),
      ids.filter((id) => !isUuid(id)),
    ]);
    return new Map(rows.map(({ id, kind }) => [id, kind]));
  }
}
