import type { LedgerEntry } from '../../domain/accounts/account.ts';
import type { Month, StatementSums } from '../../domain/accounts/statement.ts';
import { shiftedTime } from '../../domain/iso-time.ts';
import type { TwoWayRange } from '../../domain/paging.ts';
import type { LedgerFilter, LedgerStore } from '../../domain/ports/account-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { PgUsageStore } from './usage.store.ts';

export const LEDGER_COLUMNS = `account_id, seq, kind, amount_minor, balance_after_minor, message_id, position, reference,
  actor, created_at`;

export interface LedgerRow {
  account_id: string;
  seq: number;
  kind: LedgerEntry['kind'];
  amount_minor: number;
  balance_after_minor: number;
  message_id: string | null;
  position: number | null;
  reference: string | null;
  actor: string | null;
  created_at: Date;
}

/** Returns the ledger entry in a row of `LEDGER_COLUMNS`. */
export function mapLedgerEntry(row: LedgerRow): LedgerEntry {
  return {
    accountId: row.account_id,
    seq: row.seq,
    kind: row.kind,
    amountMinor: row.amount_minor,
    balanceAfterMinor: row.balance_after_minor,
    messageId: row.message_id,
    position: row.position,
    reference: row.reference,
    actor: row.actor,
    createdAt: row.created_at,
  };
}

/**
 * Entries are in order of time, except for differences below this, in ms. The reasons: transactions overtake each
 * other, and clocks differ.
 */
const DISORDER_MS = 30_000;

/**
 * For each time, finds the number of the first entry at or after it, by binary search. Entries within DISORDER_MS of
 * the time may be on the wrong side of the result.
 */
const SEEK = statement(
  'ledger-seek',
  `WITH RECURSIVE s (place, at, low, high) AS (
     SELECT n.place, n.at, CASE n.at WHEN 'infinity' THEN a.ledger_seq + 1 ELSE 1 END,
       CASE n.at WHEN '-infinity' THEN 1 ELSE a.ledger_seq + 1 END
     FROM accounts a CROSS JOIN unnest($2::timestamptz[]) WITH ORDINALITY AS n (at, place) WHERE a.id = $1
     UNION ALL
     SELECT s.place, s.at, CASE WHEN e.created_at < s.at THEN e.seq + 1 ELSE s.low END,
       CASE WHEN e.created_at < s.at THEN s.high ELSE e.seq END
     FROM s JOIN LATERAL (
       SELECT l.seq, l.created_at FROM ledger_entries l
       WHERE l.account_id = $1 AND l.seq = (s.low + s.high) / 2
     ) e ON true
     WHERE s.low < s.high
   )
   SELECT low FROM s WHERE low = high ORDER BY place`,
);
const MATCHES = `account_id = $1 AND ($2::timestamptz IS NULL OR created_at >= $2)
  AND ($3::timestamptz IS NULL OR created_at <= $3)`;
const entriesIn = (order: 'ASC' | 'DESC') => `SELECT ${LEDGER_COLUMNS} FROM ledger_entries
   WHERE ${MATCHES} AND seq >= $4 AND seq < $5 ORDER BY seq ${order} LIMIT $6`;
const ENTRIES = statement('ledger-entries', entriesIn('DESC'));
const ENTRIES_FROM_END = statement('ledger-entries-from-end', entriesIn('ASC'));
const COUNT = statement(
  'ledger-count',
  `SELECT count(*) AS count FROM ledger_entries
   WHERE ${MATCHES} AND ((seq >= $4 AND seq < $5) OR (seq >= $6 AND seq < $7))`,
);

const sumOf = (column: string, condition: string) => `coalesce((SELECT sum(${column}) FROM ${condition}), 0)`;
/** SQL for the balance from the entries before a time. Entries from `low` on may be later, those from `high` on are. */
const balanceAt = (time: string, low: string, high: string) =>
  `(${sumOf('balance_after_minor', `ledger_entries WHERE account_id = $1 AND seq = ${low} - 1`)}
    + ${sumOf('amount_minor', `ledger_entries WHERE account_id = $1 AND seq >= ${low} AND seq < ${high} AND created_at < ${time}`)})::bigint`;
// The parameters: $2 and $3 the month, $4 the number of the first entry that may be in it, $5 of the first that
// certainly is, $6 of the first that may be after it, $7 of the first that certainly is. An index has the credits alone.
const MONTHLY = statement(
  'ledger-monthly',
  `WITH credit AS (
     SELECT kind = 'refund' AS is_refund, count(*) AS entries, sum(amount_minor) AS amount_minor FROM ledger_entries
     WHERE account_id = $1 AND kind <> 'charge' AND seq >= $4 AND seq < $7 AND created_at >= $2 AND created_at < $3
     GROUP BY 1
   )
   SELECT ${balanceAt('$2', '$4', '$5')} AS opening_minor, ${balanceAt('$3', '$6', '$7')} AS closing_minor,
     ${sumOf('amount_minor', 'credit WHERE NOT is_refund')}::bigint AS top_up_minor,
     ${sumOf('entries', 'credit WHERE NOT is_refund')}::bigint AS top_ups,
     ${sumOf('amount_minor', 'credit WHERE is_refund')}::bigint AS refund_minor,
     ${sumOf('entries', 'credit WHERE is_refund')}::bigint AS refunds`,
);

interface MonthlyRow {
  opening_minor: number;
  closing_minor: number;
  top_up_minor: number;
  top_ups: number;
  refund_minor: number;
  refunds: number;
}

/** Reads ledgers. Their numbers have no gaps, so a period is found and counted without reading all its entries. */
export class PgLedgerStore implements LedgerStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async entries(
    accountId: string,
    { from, to }: LedgerFilter,
    { limit, after, isBackward, before }: TwoWayRange,
  ): Promise<readonly LedgerEntry[]> {
    const [low, high] = await this.#seek(accountId, [start(from, -1), end(to, 1)]);
    const lowest = Math.max(low, before === undefined ? 0 : Number(before) + 1);
    const below = Math.min(high, Number(after ?? Number.MAX_SAFE_INTEGER));
    const values = [accountId, from ?? null, to ?? null, lowest, below, limit];
    const entries = isBackward ? ENTRIES_FROM_END : ENTRIES;
    return (await this.#sql.queryOnDisk<LedgerRow>(entries, values)).map(mapLedgerEntry);
  }

  async count(accountId: string, { from, to }: LedgerFilter): Promise<number> {
    const times = [start(from, -1), start(from, 1), end(to, -1), end(to, 1)] as const;
    const [low, lowEnd, highStart, high] = await this.#seek(accountId, times);
    // Entries from `sureLow` up to but not including `sureHigh` are certainly inside the period. Only the other entries
    // must be compared by time.
    const [sureLow, sureHigh] = lowEnd < highStart ? [lowEnd, highStart] : [high, high];
    const values = [accountId, from ?? null, to ?? null, low, sureLow, sureHigh, high];
    const [row] = await this.#sql.queryOnDisk<{ count: number }>(COUNT, values);
    return (row?.count ?? 0) + (sureHigh - sureLow);
  }

  monthly(accountId: string, { from, to }: Month): Promise<StatementSums> {
    return this.#sql.snapshot(async (sql) => {
      const times = [start(from, -1), start(from, 1), end(to, -1), end(to, 1)] as const;
      const bounds = await new PgLedgerStore(sql).#seek(accountId, times);
      const asked = { from, to, interval: 'month', groupBy: ['channel'], environment: 'production' } as const;
      const [[row], counts] = await Promise.all([
        sql.queryOnDisk<MonthlyRow>(MONTHLY, [accountId, from, to, ...bounds]),
        new PgUsageStore(sql).query(accountId, asked),
      ]);
      if (!row) throw new Error('the sums of a month have one row');
      return {
        openingMinor: row.opening_minor,
        topUpMinor: row.top_up_minor,
        topUps: row.top_ups,
        refundMinor: row.refund_minor,
        refunds: row.refunds,
        charges: counts.flatMap(({ channel, messages, costMinor }) =>
          channel === null ? [] : [{ channel, messages, amountMinor: costMinor }],
        ),
        closingMinor: row.closing_minor,
      };
    });
  }

  /**
   * For each time, returns the number of the first entry at or after it. Entries within DISORDER_MS of the time may be
   * on the wrong side of the result.
   */
  async #seek<const Times extends readonly string[]>(
    accountId: string,
    times: Times,
  ): Promise<{ [Place in keyof Times]: number }> {
    const rows = await this.#sql.query<{ low: number }>(SEEK, [accountId, times]);
    return times.map((_, index) => rows[index]?.low ?? 1) as { [Place in keyof Times]: number };
  }
}

/** Returns the start of a period, moved earlier (-1) or later (1) by DISORDER_MS. */
function start(from: Date | undefined, sign: 1 | -1): string {
  return from === undefined ? '-infinity' : moved(from, sign);
}

/** Returns the end of a period, moved earlier (-1) or later (1) by DISORDER_MS. */
function end(to: Date | undefined, sign: 1 | -1): string {
  return to === undefined ? 'infinity' : moved(to, sign);
}

function moved(time: Date, sign: 1 | -1): string {
  return shiftedTime(time, sign * DISORDER_MS).toISOString();
}
