import type { OperatorReset, OperatorResetKind } from '../../domain/people/operator-reset.ts';
import type { OperatorResetStore } from '../../domain/ports/people-stores.ts';
import { isUuid } from '../../domain/uuid.ts';
import { type Sql, statement } from '../postgres/sql.ts';

interface ResetRow {
  id: string;
  user_id: string;
  kind: OperatorResetKind;
  requested_by: string;
  requested_at: Date;
  expires_at: Date;
}

const COLUMNS = 'id, user_id, kind, requested_by, requested_at, expires_at';
const FORGET = statement('operator-resets-forget', 'DELETE FROM operator_resets WHERE expires_at <= $1');
const INSERT = statement(
  'operator-reset-insert',
  `INSERT INTO operator_resets (${COLUMNS}, part_sealed) VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (user_id, kind) DO NOTHING RETURNING 1`,
);
const LIST = statement(
  'operator-resets',
  `SELECT ${COLUMNS} FROM operator_resets WHERE expires_at > $1 ORDER BY id`,
);
const FIND = statement(
  'operator-reset-find',
  `SELECT ${COLUMNS}, part_sealed FROM operator_resets WHERE id = $1 AND expires_at > $2`,
);
const REMOVE = statement(
  'operator-reset-remove',
  'DELETE FROM operator_resets WHERE id = $1 AND expires_at > $2 RETURNING 1',
);

/** Stores pending requests to reset the sign-in of an operator. */
export class PgOperatorResetStore implements OperatorResetStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(reset: OperatorReset, partSealed: string | null): Promise<boolean> {
    const { id, userId, kind, requestedBy, requestedAt, expiresAt } = reset;
    await this.#sql.execute(FORGET, [requestedAt]);
    const values = [id, userId, kind, requestedBy, requestedAt, expiresAt, partSealed];
    return (await this.#sql.query(INSERT, values)).length > 0;
  }

  async list(now: Date): Promise<readonly OperatorReset[]> {
    return (await this.#sql.query<ResetRow>(LIST, [now])).map(mapReset);
  }

  async find(id: string, now: Date) {
    if (!isUuid(id)) return undefined;
    const [row] = await this.#sql.query<ResetRow & { part_sealed: string | null }>(FIND, [id, now]);
    return row && { reset: mapReset(row), partSealed: row.part_sealed };
  }

  async remove(id: string, now: Date): Promise<boolean> {
    return (await this.#sql.query(REMOVE, [id, now])).length > 0;
  }
}

function mapReset(row: ResetRow): OperatorReset {
  return {
    id: row.id,
    userId: row.user_id,
    kind: row.kind,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at,
    expiresAt: row.expires_at,
  };
}
