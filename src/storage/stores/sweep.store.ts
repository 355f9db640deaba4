import type { SweepMark, SweepStore } from '../../domain/ports/sweep-stores.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const CREATE = statement(
  'sweep-create',
  `INSERT INTO sweep_marks (name, last_id) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
);
const CLAIM = statement(
  'sweep-claim',
  'SELECT last_at, last_id FROM sweep_marks WHERE name = $1 FOR UPDATE SKIP LOCKED',
);
const FORGET = statement(
  'idempotency-forget',
  `DELETE FROM idempotency_records WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM idempotency_records WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED))
   RETURNING 1`,
);

/** Stores the progress of the periodic sweeps, which look through whole tables in pages. */
export class PgSweepStore implements SweepStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async claim(name: string): Promise<SweepMark | undefined> {
    await this.#sql.query(CREATE, [name, FIRST_UUID]);
    const [row] = await this.#sql.query<{ last_at: Date; last_id: string }>(CLAIM, [name]);
    return row && { at: row.last_at, id: row.last_id };
  }

  async advance(name: string, mark: SweepMark): Promise<void> {
    await this.#sql.table('sweep_marks').where({ name }).update({ last_at: mark.at, last_id: mark.id });
  }

  async forgetExpiredClaims(limit: number): Promise<number> {
    const rows = await this.#sql.query(FORGET, [limit]);
    return rows.length;
  }
}
