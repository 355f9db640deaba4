import pg from 'pg';
import { type MovedTable, rowsOf, WRITERS } from './account-tables.ts';

/** Number of rows in one statement. */
const PAGE = 2_000;

interface Shape {
  readonly columns: readonly string[];
  /** Columns of the primary key. Empty if there is none. */
  readonly key: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

/** Copies the rows of one account between two databases of the same schema. */
export class RowCopy {
  readonly #from: pg.Client;
  readonly #to: pg.Client;
  readonly #accountId: string;
  readonly #shapes = new Map<string, Shape>();

  constructor(from: pg.Client, to: pg.Client, accountId: string) {
    this.#from = from;
    this.#to = to;
    this.#accountId = accountId;
  }

  /**
   * Copies the rows of a table, in the transaction that is open on `from`. With `changedSince`, only those that this
   * transaction or a later one has written; if the table has no key, all rows of each parent that has such a row.
   * `change` is called for each row. Returns the number of rows.
   */
  async copy(
    table: MovedTable,
    {
      changedSince,
      change,
    }: { readonly changedSince?: string | undefined; readonly change?: (row: Row) => Row } = {},
  ): Promise<number> {
    const { columns, key } = await this.#shapeOf(table.name);
    const own = rowsOf(table, this.#accountId);
    let since =
      changedSince === undefined ? '' : ` AND age(t.xmin) <= age('${BigInt(changedSince)}'::xid8::xid)`;
    // Rows without a key cannot be recognised again, so those of before are deleted.
    if (key.length === 0) {
      let stale = own;
      const parent = parentColumnOf(table);
      if (since !== '' && parent !== undefined) {
        const { rows } = await this.#from.query<{ ids: string[] | null }>(
          `SELECT array_agg(DISTINCT t.${parent})::text[] AS ids FROM ${table.name} t WHERE ${own}${since}`,
        );
        const ids = (rows[0]?.ids ?? []).map((id) => pg.escapeLiteral(id));
        stale = ids.length === 0 ? 'false' : `t.${parent} IN (${ids.join(', ')})`;
        since = ` AND ${stale}`;
      } else since = '';
      await this.#to.query(`DELETE FROM ${table.name} t WHERE ${stale}`);
    }
    await this.#from.query(
      `DECLARE moved NO SCROLL CURSOR FOR SELECT row_to_json(t)::text AS row FROM ${table.name} t
       WHERE ${own}${since}`,
    );
    const insert = insertOf(table, columns, key);
    let count = 0;
    let page: { rows: { row: string }[] };
    do {
      page = await this.#from.query<{ row: string }>(`FETCH ${PAGE} FROM moved`);
      const texts = page.rows.map(({ row }) => (change ? JSON.stringify(change(JSON.parse(row))) : row));
      if (texts.length > 0) await this.#to.query(insert, [`[${texts.join(',')}]`]);
      count += texts.length;
    } while (page.rows.length === PAGE);
    await this.#from.query('CLOSE moved');
    return count;
  }

  /** Deletes the rows of a table that are no longer at `from`. Without a key, those of parents without any row. */
  async removeGone(table: MovedTable): Promise<void> {
    const { key: primary } = await this.#shapeOf(table.name);
    const parent = parentColumnOf(table);
    const key = primary.length === 0 && parent !== undefined ? [parent] : primary;
    if (key.length === 0) return;
    const keys = key.map((column) => `t.${column}`).join(', ');
    const { rows } = await this.#from.query<{ keys: string | null }>(
      `SELECT json_agg(k)::text AS keys FROM (SELECT DISTINCT ${keys} FROM ${table.name} t WHERE ${rowsOf(table, this.#accountId)}) k`,
    );
    await this.#to.query(
      `DELETE FROM ${table.name} t WHERE ${rowsOf(table, this.#accountId)} AND NOT EXISTS (
         SELECT FROM json_populate_recordset(NULL::${table.name}, $1::json) k
         WHERE ${key.map((column) => `k.${column} = t.${column}`).join(' AND ')})`,
      [rows[0]?.keys ?? '[]'],
    );
  }

  /** Returns the number of the account's rows in both databases. */
  async counts(table: MovedTable): Promise<{ readonly from: number; readonly to: number }> {
    const count = async (client: pg.Client) => {
      const { rows } = await client.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM ${table.name} t WHERE ${rowsOf(table, this.#accountId)}`,
      );
      return rows[0]?.count ?? 0;
    };
    const [from, to] = await Promise.all([count(this.#from), count(this.#to)]);
    return { from, to };
  }

  async #shapeOf(table: string): Promise<Shape> {
    const known = this.#shapes.get(table);
    if (known) return known;
    const { rows } = await this.#from.query<Shape>(
      `SELECT array_agg(quote_ident(attname) ORDER BY attnum) AS columns,
         coalesce((SELECT array_agg(quote_ident(k.attname) ORDER BY array_position(i.indkey::smallint[], k.attnum))
           FROM pg_index i JOIN pg_attribute k ON k.attrelid = i.indrelid AND k.attnum = ANY (i.indkey)
           WHERE i.indrelid = $1::regclass AND i.indisprimary), '{}') AS key
       FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
      [table],
    );
    const shape = rows[0] ?? { columns: [], key: [] };
    this.#shapes.set(table, shape);
    return shape;
  }
}

/** The column with the id of the parent, if the rows have an account only through it. */
function parentColumnOf({ owner = 'account' }: MovedTable): string | undefined {
  return owner === 'account' ? undefined : owner.column;
}

function insertOf({ name, isFixed }: MovedTable, columns: readonly string[], key: readonly string[]): string {
  const list = columns.join(', ');
  const values = columns.filter((column) => !key.includes(column));
  const sets = values.map((column) => `${column} = excluded.${column}`).join(', ');
  // One number may have written to accounts of both cells. The account to which it wrote last answers it.
  const newer = WRITERS.includes(name) ? ` WHERE excluded.wrote_at > ${name}.wrote_at` : '';
  const onConflict =
    key.length === 0
      ? ''
      : isFixed || values.length === 0
        ? ' ON CONFLICT DO NOTHING'
        : ` ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${sets}${newer}`;
  return `INSERT INTO ${name} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${name}, $1::json)${onConflict}`;
}
