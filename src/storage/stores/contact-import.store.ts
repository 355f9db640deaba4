import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import type {
  ContactImport,
  ImportProgress,
  ImportState,
  ReportedFault,
  RowFault,
  RowFaultCode,
} from '../../domain/contacts/contact-import.ts';
import type { KeyRange } from '../../domain/paging.ts';
import type { ContactImportStore } from '../../domain/ports/contact-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { whereVisible } from './account-rows.ts';

interface ImportRow {
  id: string;
  account_id: string;
  environment: Environment;
  created_at: Date;
  finished_at: Date | null;
  rows_total: number;
  rows_done: number;
  created: number;
  updated: number;
  failed: number;
  faults: number;
  state: ImportState;
  created_by: string;
  failure: string | null;
}
interface FaultRow {
  import_id: string;
  seq: number;
  line: number;
  column_name: string | null;
  value: string | null;
  code: RowFaultCode;
  message: string;
}

const COLUMNS = [
  'id',
  'account_id',
  'environment',
  'created_at',
  'finished_at',
  'rows_total',
  'rows_done',
  'created',
  'updated',
  'failed',
  'faults',
  'state',
  'created_by',
  'failure',
] as const;

function mapRow(row: ImportRow): ContactImport {
  const { rows_total: rowsTotal, rows_done: rowsDone, created, updated, failed } = row;
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    state: row.state,
    progress: { rowsTotal, rowsDone, created, updated, failed },
    faults: row.faults,
    failure: row.failure,
    createdBy: row.created_by,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  };
}

const OPEN = statement(
  'contact-import-open',
  `SELECT ${COLUMNS.join(', ')}, csv FROM contact_imports WHERE id = $1 AND csv IS NOT NULL`,
);
const ADVANCE = statement(
  'contact-import-advance',
  `UPDATE contact_imports SET state = 'running', rows_done = $3, created = $4, updated = $5, failed = $6,
     faults = faults + $7
   WHERE id = $1 AND rows_done = $2 AND csv IS NOT NULL RETURNING faults`,
);
const ADD_FAULTS = statement(
  'contact-import-add-faults',
  `INSERT INTO contact_import_faults (import_id, seq, line, column_name, value, code, message)
   SELECT $1, $2 + n.place, n.line, n.column_name, n.value, n.code, n.message
   FROM unnest($3::integer[], $4::text[], $5::text[], $6::text[], $7::text[])
     WITH ORDINALITY AS n (line, column_name, value, code, message, place)`,
);
const FAULTS = statement(
  'contact-import-faults',
  `SELECT f.import_id, f.seq, f.line, f.column_name, f.value, f.code, f.message FROM contact_imports i CROSS JOIN LATERAL (
     SELECT * FROM contact_import_faults f WHERE f.import_id = i.id AND f.seq > $3::bigint ORDER BY f.seq LIMIT $4
   ) f WHERE i.account_id = $1 AND i.id = ANY ($2::uuid[]) ORDER BY f.import_id, f.seq`,
);
const FINISH = statement(
  'contact-import-finish',
  `UPDATE contact_imports SET state = CASE WHEN $2::text IS NULL THEN 'done' ELSE 'failed' END, failure = $2,
     finished_at = $3, csv = NULL
   WHERE id = $1 AND csv IS NOT NULL`,
);
const ABANDON = statement(
  'contact-import-abandon',
  `UPDATE contact_imports SET state = 'failed', failure = $2, finished_at = $3, csv = NULL
   WHERE created_at < $1 AND csv IS NOT NULL`,
);
// Deletes faults before their import. Otherwise deleting the import would delete all its faults in one statement.
const FORGET_FAULTS = statement(
  'contact-import-forget-faults',
  `DELETE FROM contact_import_faults WHERE (import_id, seq) IN (
     SELECT f.import_id, f.seq FROM contact_imports i JOIN contact_import_faults f ON f.import_id = i.id
     WHERE i.finished_at < $1 LIMIT $2)
   RETURNING 1`,
);
const FORGET = statement(
  'contact-import-forget',
  `DELETE FROM contact_imports i WHERE i.finished_at < $1
     AND NOT EXISTS (SELECT FROM contact_import_faults f WHERE f.import_id = i.id)`,
);

/** Stores contact imports, the CSV text of unfinished ones, and the faults that their rows have. */
export class PgContactImportStore implements ContactImportStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(one: ContactImport, csv: string): Promise<void> {
    await this.#sql.table('contact_imports').insert({
      id: one.id,
      account_id: one.accountId,
      environment: one.environment,
      created_at: one.createdAt,
      rows_total: one.progress.rowsTotal,
      state: one.state,
      created_by: one.createdBy,
      csv,
    });
  }

  async find(visibility: Visibility, id: string): Promise<ContactImport | undefined> {
    const row: ImportRow | undefined = await this.#of(visibility)
      .where({ id })
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  async findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly ContactImport[]> {
    const rows: ImportRow[] = await this.#of(visibility)
      .whereIn('id', [...ids])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async slice(owner: AccountEnvironment, { limit, after }: KeyRange): Promise<readonly ContactImport[]> {
    const query = this.#of(owner).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) query.where('id', '<', after);
    const rows: ImportRow[] = await query.select(...COLUMNS);
    return rows.map(mapRow);
  }

  count(owner: AccountEnvironment): Promise<number> {
    return this.#sql.count(this.#of(owner));
  }

  unfinished(accountId: string): Promise<number> {
    return this.#sql.count(this.#of({ accountId, environment: undefined }).whereNull('finished_at'));
  }

  #of(visibility: Visibility) {
    return this.#sql.table<ImportRow>('contact_imports').where(whereVisible(visibility));
  }

  async faults(
    accountId: string,
    ids: readonly string[],
    { limit, after }: KeyRange,
  ): Promise<readonly (ReportedFault & { readonly importId: string })[]> {
    const rows = await this.#sql.query<FaultRow>(FAULTS, [accountId, ids, Number(after ?? 0), limit]);
    return rows.map((row) => ({
      importId: row.import_id,
      seq: row.seq,
      line: row.line,
      column: row.column_name,
      value: row.value,
      code: row.code,
      message: row.message,
    }));
  }

  async open(id: string): Promise<{ readonly import: ContactImport; readonly csv: string } | undefined> {
    const [row] = await this.#sql.query<ImportRow & { csv: string }>(OPEN, [id]);
    return row && { import: mapRow(row), csv: row.csv };
  }

  async advance(
    id: string,
    rowsDone: number,
    progress: Omit<ImportProgress, 'rowsTotal'>,
    faults: readonly RowFault[],
  ): Promise<boolean> {
    const { created, updated, failed } = progress;
    const values = [id, rowsDone, progress.rowsDone, created, updated, failed, faults.length];
    const [row] = await this.#sql.query<{ faults: number }>(ADVANCE, values);
    if (!row) return false;
    if (faults.length > 0) {
      await this.#sql.query(ADD_FAULTS, [
        id,
        row.faults - faults.length,
        faults.map((fault) => fault.line),
        faults.map((fault) => fault.column),
        faults.map((fault) => fault.value),
        faults.map((fault) => fault.code),
        faults.map((fault) => fault.message),
      ]);
    }
    return true;
  }

  async finish(id: string, failure: string | null, at: Date): Promise<void> {
    await this.#sql.query(FINISH, [id, failure, at]);
  }

  async abandonBefore(before: Date, failure: string, at: Date): Promise<void> {
    await this.#sql.query(ABANDON, [before, failure, at]);
  }

  async forgetBefore(before: Date, limit: number): Promise<number> {
    const forgotten = await this.#sql.query(FORGET_FAULTS, [before, limit]);
    if (forgotten.length < limit) await this.#sql.query(FORGET, [before]);
    return forgotten.length;
  }
}
