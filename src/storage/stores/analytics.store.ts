import type { AnalyticsInterval, AnalyticsRow } from '../../domain/analytics/analytics.ts';
import type {
  AnalyticsCount,
  AnalyticsStore,
  Counted,
  CountedMoves,
  CountedRefund,
  CountedTime,
  Span,
} from '../../domain/ports/analytics-store.ts';
import {
  addMoves,
  addRefunds,
  COUNT,
  FOLD,
  FOLD_LOCK,
  INTERVALS,
  LATENCIES,
  valuesOf,
} from '../analytics/index.ts';
import type { Sql } from '../postgres/sql.ts';

interface GroupRow {
  span: number;
  channel: AnalyticsRow['values']['channel'];
  status: AnalyticsRow['values']['status'];
  api_key_id: string | null;
  sender: string | null;
  prefix: string | null;
  error_code: string | null;
  provider: string | null;
  environment: AnalyticsRow['values']['environment'];
}
interface CountRow extends GroupRow {
  messages: number;
  recipients: number;
  delivered: number;
  failed: number;
  cost_minor: number;
  refund_minor: number;
}
interface TimeRow extends Omit<GroupRow, 'status' | 'error_code'> {
  measure: CountedTime['measure'];
  bucket: number;
  recipients: number;
}

/** Stores figures of messages by time. The statements are in storage/analytics. */
export class PgAnalyticsStore implements AnalyticsStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  countMoves(moves: CountedMoves): Promise<void> {
    return addMoves(this.#sql, moves);
  }

  countRefunds(refunds: readonly CountedRefund[]): Promise<void> {
    return addRefunds(this.#sql, refunds);
  }

  async fold(): Promise<void> {
    for (let isBehind = true; isBehind; ) {
      isBehind = await this.#sql.transaction(async (sql) => {
        const [lock] = await sql.query<{ mine: boolean }>(FOLD_LOCK, []);
        if (!lock?.mine) return false;
        const [fold] = await sql.query<{ is_behind: boolean }>(FOLD, []);
        return fold?.is_behind ?? false;
      });
    }
  }

  async intervals(
    { from, to }: Span,
    interval: AnalyticsInterval,
    timeZone: string,
    numbers: readonly [number, number],
  ): Promise<readonly Date[]> {
    const rows = await this.#sql.query<{ at: Date }>(INTERVALS, [from, to, interval, timeZone, ...numbers]);
    return rows.map(({ at }) => at);
  }

  async count(accountId: string, asked: AnalyticsCount): Promise<Counted> {
    const values = [...valuesOf(accountId, asked), asked.limit];
    const rows = await this.#sql.queryOnDisk<
      { ledger_seq: number | null } & { [Column in keyof CountRow]: CountRow[Column] | null }
    >(COUNT, values);
    const found = rows.filter(({ span }) => span !== null) as unknown as readonly CountRow[];
    return {
      ledgerSeq: rows[0]?.ledger_seq ?? null,
      rows: found.map((row) => ({
        span: row.span,
        values: { ...valuesIn(row), status: row.status, errorCode: row.error_code || null },
        messages: row.messages,
        recipients: row.recipients,
        delivered: row.delivered,
        failed: row.failed,
        costMinor: row.cost_minor,
        refundMinor: row.refund_minor,
      })),
    };
  }

  async times(accountId: string, asked: AnalyticsCount): Promise<readonly CountedTime[]> {
    const rows = await this.#sql.queryOnDisk<TimeRow>(LATENCIES, valuesOf(accountId, asked));
    return rows.map((row) => ({
      span: row.span,
      values: { ...valuesIn(row), status: null, errorCode: null },
      measure: row.measure,
      bucket: row.bucket,
      recipients: row.recipients,
    }));
  }
}

function valuesIn(row: Omit<GroupRow, 'status' | 'error_code'>) {
  return {
    channel: row.channel,
    apiKeyId: row.api_key_id || null,
    sender: row.sender || null,
    prefix: row.prefix || null,
    provider: row.provider || null,
    environment: row.environment,
  };
}
