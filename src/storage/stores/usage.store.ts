import { notFound } from '../../domain/errors.ts';
import type { Channel, MessageStatus } from '../../domain/messages/message.ts';
import type { UsageStore } from '../../domain/ports/account-stores.ts';
import type { UsageQuery, UsageRow } from '../../domain/usage/usage.ts';
import { foldBlocks } from '../message-index/index.ts';
import { DELTAS_AT_ONCE, takeDeltas } from '../postgres/deltas.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const DAY_MS = 24 * 3_600_000;
const GROUP = 'channel, environment, status, api_key_id';
const COUNTS = `${GROUP}, messages, cost_minor`;
// Reads whole days from the daily counts. Reads the hours before and after them from the hourly counts.
const QUERY = statement(
  'usage-query',
  `WITH counts AS (
     SELECT day AS hour, ${COUNTS} FROM usage_days WHERE account_id = $1 AND day >= $9 AND day < $10
     UNION ALL
     SELECT hour, ${COUNTS} FROM usage_hours
     WHERE account_id = $1 AND hour > $2::timestamptz - interval '1 hour' AND hour < $9
     UNION ALL
     SELECT hour, ${COUNTS} FROM usage_hours WHERE account_id = $1 AND hour >= $10 AND hour < $3
     UNION ALL
     SELECT hour, ${COUNTS} FROM usage_deltas
     WHERE account_id = $1 AND hour > $2::timestamptz - interval '1 hour' AND hour < $3
   )
   SELECT date_trunc($4, hour, 'UTC') AS at, CASE WHEN $5 THEN channel END AS channel,
     CASE WHEN $6 THEN status END AS status, CASE WHEN $7 THEN api_key_id END AS api_key_id,
     sum(messages)::bigint AS messages, sum(cost_minor)::bigint AS cost_minor
   FROM counts WHERE $8::text IS NULL OR environment = $8
   GROUP BY 1, 2, 3, 4 HAVING sum(messages) <> 0 ORDER BY 1, 2, 3, 4`,
);
// One process folds (adds the deltas to the counts) at a time. Another process does not get the lock and skips its
// fold.
const FOLD_LOCK = statement('usage-fold-lock', `SELECT pg_try_advisory_xact_lock(4872391) AS mine`);
const foldUsage = (table: 'usage_hours' | 'usage_days', column: 'hour' | 'day', time: string) =>
  `INSERT INTO ${table} (account_id, ${column}, ${COUNTS})
     SELECT account_id, ${time}, ${GROUP}, sum(messages), sum(cost_minor) FROM taken
     GROUP BY account_id, 2, ${GROUP} HAVING sum(messages) <> 0 OR sum(cost_minor) <> 0
     ON CONFLICT (account_id, ${column}, ${GROUP}) DO UPDATE SET messages = ${table}.messages + excluded.messages,
       cost_minor = ${table}.cost_minor + excluded.cost_minor`;
/** SQL that returns whether deltas may be left. */
const IS_BEHIND = `SELECT count(*) = ${DELTAS_AT_ONCE} AS is_behind FROM taken`;
const FOLD = statement(
  'usage-fold',
  `WITH taken AS MATERIALIZED (${takeDeltas('usage_deltas')}),
   hours AS (${foldUsage('usage_hours', 'hour', 'hour')}),
   days AS (${foldUsage('usage_days', 'day', `date_trunc('day', hour, 'UTC')`)}),
   blocks AS (${foldBlocks('taken')})
   ${IS_BEHIND}`,
);
const FOLD_DELIVERIES = statement(
  'delivery-fold',
  `WITH taken AS MATERIALIZED (${takeDeltas('delivery_deltas')}), hours AS (
   INSERT INTO delivery_hours (webhook_id, hour, event, status, deliveries)
   SELECT webhook_id, hour, event, status, sum(deliveries) FROM taken GROUP BY 1, 2, 3, 4 HAVING sum(deliveries) <> 0
   ON CONFLICT (webhook_id, hour, event, status) DO UPDATE
     SET deliveries = delivery_hours.deliveries + excluded.deliveries)
   ${IS_BEHIND}`,
);
// Deliveries are deleted after a month. Their counts become zero then, and the rows must be deleted, too.
const CURRENCY = statement('usage-currency', 'SELECT currency FROM accounts WHERE id = $1');
const DROP_EMPTY = statement('delivery-drop-empty', 'DELETE FROM delivery_hours WHERE deliveries = 0');

/** Reads the counts of messages by hour and day, and folds the deltas of messages and deliveries into them. */
export class PgUsageStore implements UsageStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async query(accountId: string, query: UsageQuery): Promise<readonly UsageRow[]> {
    const by = (group: UsageQuery['groupBy'][number]) => query.groupBy.includes(group);
    const rows = await this.#sql.queryOnDisk<{
      at: Date;
      channel: Channel | null;
      status: MessageStatus | null;
      api_key_id: string | null;
      messages: number;
      cost_minor: number;
    }>(QUERY, [
      accountId,
      query.from,
      query.to,
      query.interval,
      by('channel'),
      by('status'),
      by('api_key'),
      query.environment ?? null,
      ...wholeDays(query),
    ]);
    return rows.map((row) => ({
      at: row.at,
      channel: row.channel,
      status: row.status,
      apiKeyId: row.api_key_id === '' ? null : row.api_key_id,
      messages: row.messages,
      costMinor: row.cost_minor,
    }));
  }

  async currencyOf(accountId: string): Promise<string> {
    const [row] = await this.#sql.queryOnDisk<{ currency: string }>(CURRENCY, [accountId]);
    if (!row) throw notFound('account');
    return row.currency;
  }

  async fold(): Promise<void> {
    for (const fold of [FOLD, FOLD_DELIVERIES]) {
      for (let isBehind = true; isBehind; ) {
        const [folded] = (await this.#alone((sql) => sql.query<{ is_behind: boolean }>(fold, []))) ?? [];
        isBehind = folded?.is_behind ?? false;
      }
    }
    await this.#alone((sql) => sql.query(DROP_EMPTY, []));
  }

  /** Runs `work` in a transaction, unless another process is running it now. */
  async #alone<T>(work: (sql: Sql) => Promise<T>): Promise<T | undefined> {
    return this.#sql.transaction(async (sql) => {
      const [lock] = await sql.query<{ mine: boolean }>(FOLD_LOCK, []);
      return lock?.mine ? work(sql) : undefined;
    });
  }
}

/**
 * Returns the start and the end of the whole days in a span. Without whole days, or for the interval of an hour, both
 * are the end of the span.
 */
function wholeDays({ from, to, interval }: UsageQuery): [Date, Date] {
  const first = Math.ceil(from.getTime() / DAY_MS) * DAY_MS;
  const end = Math.floor(to.getTime() / DAY_MS) * DAY_MS;
  return interval === 'hour' || first >= end ? [to, to] : [new Date(first), new Date(end)];
}
