import type { ObjectKind, ObjectName, ObjectStore } from '../../domain/ports/object-store.ts';
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
/** For each kind of object whose id is a UUID, and that people know by a name: its table and the column of the name. */
const NAMES: readonly (readonly [table: string, name: string, account: string])[] = [
  ['accounts', 'name', 'id'],
  ['users', 'email', 'account_id'],
  ['webhooks', 'url', 'account_id'],
  ['senders', 'name', 'account_id'],
];
/** Looks for each id in the primary key of each table. */
const FIND_NAMES = statement(
  'object-names',
  [
    `SELECT key_id AS id, name, false AS is_url FROM api_keys
     WHERE key_id = ANY($3::text[]) AND ($1::uuid IS NULL OR account_id = $1)`,
    ...NAMES.map(
      ([table, name, account]) => `SELECT id::text, ${name}, ${name === 'url'} FROM ${table}
     WHERE id = ANY($2::uuid[]) AND ($1::uuid IS NULL OR ${account} = $1)`,
    ),
  ].join(' UNION ALL '),
);

/** Finds the kind or the name of the object that an id belongs to. */
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

  async names(accountId: string | undefined, ids: readonly string[]): Promise<readonly ObjectName[]> {
    const rows = await this.#sql.queryOnDisk<{ id: string; name: string; is_url: boolean }>(FIND_NAMES, [
      accountId ?? null,
      ids.filter(isUuid),
      ids.filter((id) => !isUuid(id)),
    ]);
    return rows.map(({ id, name, is_url: isUrl }) => ({ id, name, isUrl }));
  }
}
