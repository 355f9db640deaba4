import type { Environment, Visibility } from '../../domain/caller.ts';
import type { Page, PageRequest, TwoWayRange } from '../../domain/paging.ts';
import type {
  CountedDeliveries,
  DeliveryCounts,
  DeliveryIntervals,
  DeliveryListFilter,
  DeliveryListStore,
} from '../../domain/ports/list-stores.ts';
import type {
  AttemptRecord,
  DeliveryFilter,
  DeliveryState,
  DeliveryStore,
  DueDelivery,
  TimeSpan,
} from '../../domain/ports/webhook-stores.ts';
import { FIRST_UUID, isUuid, uuidFloor } from '../../domain/uuid.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryAttempt,
  type DeliveryStatus,
  type EventType,
  type WebhookDelivery,
} from '../../domain/webhooks/webhook.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';
import { BODY_COLUMNS, EVENT_ENVIRONMENT, type EventBodyRow, eventBody, WITH_SOURCE } from './event.store.ts';

interface DeliveryRow {
  id: string;
  account_id: string;
  environment: Environment;
  webhook_id: string;
  event_seq: number;
  event: EventType;
  message_id: string | null;
  status: DeliveryStatus;
  http_status: number | null;
  attempts: number;
  response_body: string | null;
  error_message: string | null;
  next_retry_at: Date | null;
  created_at: Date;
}

type DueRow = Pick<DeliveryRow, 'id' | 'account_id' | 'event' | 'attempts' | 'next_retry_at'> & {
  retries_from: number;
};

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const COLUMNS = `d.id, d.account_id, ${EVENT_ENVIRONMENT} AS environment, d.webhook_id, d.event_seq, d.event,
  e.message_id, d.status, d.http_status, d.attempts, d.response_body, d.error_message, d.next_retry_at, d.created_at`;
const OF_EVENT = 'JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq';
const OF_EVENTS = 'JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq';

function mapRow(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    webhookId: row.webhook_id,
    eventSeq: row.event_seq,
    event: row.event,
    messageId: row.message_id,
    status: row.status,
    httpStatus: row.http_status,
    attempts: row.attempts,
    responseBody: row.response_body,
    errorMessage: row.error_message,
    nextRetryAt: row.next_retry_at,
    createdAt: row.created_at,
  };
}

interface AttemptRow {
  delivery_id: string;
  at: Date;
  http_status: number | null;
  duration_ms: number;
  error_message: string | null;
}

function mapAttempt(row: AttemptRow): DeliveryAttempt {
  return {
    at: row.at,
    httpStatus: row.http_status,
    durationMs: row.duration_ms,
    errorMessage: row.error_message,
  };
}

const FIND = statement(
  'delivery-find',
  `SELECT ${COLUMNS} FROM webhook_deliveries d ${OF_EVENT} WHERE d.account_id = $1 AND d.id = $2
     AND ($3::text IS NULL OR $3 = ${EVENT_ENVIRONMENT})`,
);
const BY_IDS = statement(
  'deliveries-by-ids',
  `SELECT ${COLUMNS} FROM webhook_deliveries d ${OF_EVENT} WHERE d.id = ANY($1::uuid[]) ORDER BY d.id DESC`,
);
const ATTEMPTS = statement(
  'attempts-of-deliveries',
  `SELECT delivery_id, at, http_status, duration_ms, error_message FROM webhook_attempts
   WHERE account_id = $1 AND delivery_id = ANY($2::uuid[]) ORDER BY delivery_id, number`,
);
// Leaves a delivery unchanged if it is due within a second. The clocks of processes differ, so its attempt may have
// started already.
const REOPEN = statement(
  'deliveries-reopen',
  `UPDATE webhook_deliveries d SET status = 'retrying', next_retry_at = $3,
     retries_from = CASE WHEN $4 THEN d.attempts ELSE d.retries_from END
   FROM events e WHERE d.id = ANY($1::uuid[]) AND d.status = ANY($2::text[])
     AND (d.next_retry_at IS NULL OR d.next_retry_at > $3::timestamptz + interval '1 second')
     AND e.account_id = d.account_id AND e.seq = d.event_seq
   RETURNING ${COLUMNS}`,
);
// Compares whole rows, without `webhook_id = $1`. With it the planner, which does not know the webhook, reads all
// deliveries by their primary key for each page, so that a recovery of 200,000 took time as their square.
const FAILED = statement(
  'deliveries-failed',
  `SELECT id FROM webhook_deliveries
   WHERE (webhook_id, id) > ($1, $2) AND (webhook_id, id) <= ($1, '${LAST_UUID}') AND has_failed
     AND created_at >= $3 AND created_at <= $4 AND event <> 'webhook.test' ORDER BY webhook_id, id LIMIT $5`,
);
const CANCEL_OPEN = statement(
  'deliveries-cancel-open',
  `WITH page AS MATERIALIZED (
     SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND id > $2 ORDER BY id LIMIT $3
   ), canceled AS (
     UPDATE webhook_deliveries d SET status = 'canceled', error_message = $4, next_retry_at = NULL
     FROM page WHERE d.id = page.id AND d.status IN ('pending', 'retrying')
   )
   SELECT id FROM page ORDER BY id DESC LIMIT 1`,
);
const INSERT = statement(
  'deliveries-insert',
  `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, event, status)
   SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[])`,
);
// The first job of a delivery has no due time. It finds the deliveries by their number of attempts.
const DUE = statement(
  'deliveries-due',
  `SELECT d.id, d.account_id, d.event, d.attempts, coalesce(d.retries_from, 0) AS retries_from, d.next_retry_at,
     ${BODY_COLUMNS}
   FROM webhook_deliveries d ${OF_EVENT} ${WITH_SOURCE}
   WHERE d.id = ANY($1::uuid[]) AND d.webhook_id = $2 AND d.status IN ('pending', 'retrying')
     AND (d.next_retry_at = $4 OR $4::timestamptz IS NULL AND d.attempts = $3)
   ORDER BY d.id`,
);
const CLOSE = statement(
  'deliveries-close',
  `UPDATE webhook_deliveries SET status = $2, error_message = $3, next_retry_at = NULL
   WHERE id = ANY($1::uuid[]) AND status IN ('pending', 'retrying') RETURNING id, account_id`,
);

/**
 * Find all deliveries in a subquery, before LIMIT applies. With LIMIT inside, PostgreSQL would scan the ids of all
 * deliveries.
 */
const OF_MESSAGES = statement(
  'deliveries-of-messages',
  `SELECT * FROM (
     SELECT ${COLUMNS} FROM events e ${OF_EVENTS}
     WHERE e.account_id = $1 AND e.message_id = ANY($2::uuid[]) OFFSET 0
   ) f ORDER BY f.id LIMIT $3`,
);
const DELIVERIES_OF_EVENTS = statement(
  'deliveries-of-events',
  `SELECT ${COLUMNS} FROM events e ${OF_EVENTS} WHERE e.account_id = $1 AND e.seq = ANY($2::bigint[]) ORDER BY d.id`,
);
/** SQL for the deliveries of one message. Indexes find the message's events and their deliveries. */
const MATCHING_OF_MESSAGE = `FROM events e ${OF_EVENTS}
  WHERE e.account_id = $1 AND e.message_id = $2 AND ($3::uuid IS NULL OR d.webhook_id = $3)
    AND ($4::text IS NULL OR d.status = $4) AND ($5::text IS NULL OR d.event = $5)
    AND ($6::text IS NULL OR $6 = ${EVENT_ENVIRONMENT}) AND d.id >= $7 AND d.id < $8`;
const OF_MESSAGE = statement(
  'deliveries-of-message',
  `SELECT * FROM (SELECT ${COLUMNS} ${MATCHING_OF_MESSAGE} OFFSET 0) f
   WHERE $9::uuid IS NULL OR f.id < $9 ORDER BY f.id DESC LIMIT $10`,
);
const OF_MESSAGE_FROM_END = statement(
  'deliveries-of-message-from-end',
  `SELECT * FROM (SELECT ${COLUMNS} ${MATCHING_OF_MESSAGE} OFFSET 0) f
   WHERE $9::uuid IS NULL OR f.id > $9 ORDER BY f.id LIMIT $10`,
);
const COUNT_OF_MESSAGE = statement(
  'deliveries-count-of-message',
  `SELECT count(*) AS total ${MATCHING_OF_MESSAGE}`,
);
const ENDPOINTS = statement(
  'deliveries-endpoints',
  `SELECT id FROM webhooks WHERE account_id = $1 AND ($2::uuid[] IS NULL OR id = ANY($2))
     AND ($3::text IS NULL OR environment = $3)`,
);
const FIND_MANY = statement(
  'deliveries-find-many',
  `SELECT ${COLUMNS} FROM webhook_deliveries d ${OF_EVENT}
   WHERE d.account_id = $1 AND d.id = ANY($2::uuid[]) AND ($3::uuid IS NULL OR d.webhook_id = $3) ORDER BY d.id`,
);
/** SQL that is true if the delivery has not changed since attempt `n` was started. */
const AWAITED = `d.status IN ('pending', 'retrying') AND d.next_retry_at IS NOT DISTINCT FROM n.due_at`;
const DECIDES = `${AWAITED} OR n.status = 'success' AND d.status <> 'canceled'`;
/**
 * SQL that is true if the result of attempt `n` is shown. A canceled delivery also shows it, next to the reason of the
 * cancellation.
 */
const ANSWERS = `d.status = 'canceled' OR ${DECIDES}`;
const recording = (name: string, set: (column: string, when: string) => string, where: string) =>
  statement(
    name,
    `WITH attempt AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::timestamptz[], $6::text[],
       $7::timestamptz[], $8::int[], $9::int[], $10::text[])
       AS n (id, account_id, due_at, status, next_retry_at, response_body, at, http_status, duration_ms, error_message)
   ), done AS (
     UPDATE webhook_deliveries d SET attempts = d.attempts + 1,
       ${set('status', DECIDES)}, ${set('next_retry_at', DECIDES)}, ${set('error_message', DECIDES)},
       ${set('http_status', ANSWERS)}, ${set('response_body', ANSWERS)}
     FROM attempt n WHERE d.id = n.id AND ${where}
     RETURNING d.id, d.attempts, d.next_retry_at
   ), logged AS (
     INSERT INTO webhook_attempts (delivery_id, account_id, at, number, http_status, duration_ms, error_message)
     SELECT n.id, n.account_id, n.at, done.attempts, n.http_status, n.duration_ms, n.error_message
     FROM attempt n JOIN done ON done.id = n.id
   )
   SELECT id, attempts, next_retry_at FROM done`,
  );
/**
 * Records attempts of deliveries that have not changed since the attempt began. That is nearly all of them. The columns
 * are set without a condition, because a condition would prevent the use of the index.
 */
const RECORD = recording('deliveries-record', (column) => `${column} = n.${column}`, AWAITED);
/**
 * Records attempts of deliveries that have changed since the attempt began. A success still ends the delivery. Attempts
 * that are already logged are skipped, because a commit whose answer was lost is retried.
 */
const RECORD_BESIDE = recording(
  'deliveries-record-beside',
  (column, when) => `${column} = CASE WHEN ${when} THEN n.${column} ELSE d.${column} END`,
  'n.at <> ALL (ARRAY(SELECT a.at FROM webhook_attempts a WHERE a.delivery_id = n.id))',
);

/**
 * Finds deliveries in lists of any size. Triggers count deliveries by webhook, hour, event and status. A total is a sum
 * of these counts. The counts also show the hours of a page. An id contains its time, so only the deliveries of these
 * hours are read.
 */
const HOUR_MS = 3_600_000;
/** Up to this offset, skipping index entries is faster than finding the hours of the page. */
const SKIPPED_IN_INDEX = 500;
const COUNTED = `(
    SELECT webhook_id, hour, event, status, deliveries FROM delivery_hours
    UNION ALL SELECT webhook_id, hour, event, status, deliveries FROM delivery_deltas
  ) counted
  WHERE webhook_id = ANY($1::uuid[])`;
const MATCHING = '($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR event = $3)';
const HOURS = statement(
  'delivery-hours',
  `SELECT hour, sum(deliveries)::bigint AS count FROM ${COUNTED} AND ${MATCHING} AND hour <= $4
   GROUP BY hour HAVING sum(deliveries) > 0 ORDER BY hour DESC LIMIT $5`,
);
const HOURS_FROM_END = statement(
  'delivery-hours-from-end',
  `SELECT hour, sum(deliveries)::bigint AS count FROM ${COUNTED} AND ${MATCHING} AND hour >= $4
   GROUP BY hour HAVING sum(deliveries) > 0 ORDER BY hour LIMIT $5`,
);
const TOTAL = statement(
  'delivery-total',
  `SELECT coalesce(sum(deliveries), 0)::bigint AS count FROM ${COUNTED} AND ${MATCHING}`,
);
/**
 * Counts the deliveries of a span: by the counts of its whole hours, which are those from $4 to $5, and one by one in
 * the parts of hours at its ends, which are the ranges of ids $6 to $7.
 */
const TOTAL_IN_SPAN = statement(
  'delivery-total-in-span',
  `SELECT (
     SELECT coalesce(sum(deliveries), 0) FROM ${COUNTED} AND ${MATCHING} AND hour >= $4 AND hour < $5
   )::bigint + (
     SELECT coalesce(sum(f.count), 0) FROM unnest($6::uuid[], $7::uuid[]) AS p (lowest, below)
     CROSS JOIN unnest($1::uuid[]) AS w (id)
     CROSS JOIN LATERAL (
       SELECT count(*) FROM webhook_deliveries d
       WHERE (d.webhook_id, d.id) >= (w.id, p.lowest) AND (d.webhook_id, d.id) < (w.id, p.below) AND ${MATCHING}
     ) f
   )::bigint AS count`,
);
/** Counts deliveries by the intervals that start at $2, the last of which ends at $3. If $4 is true, also by event. */
const BY_TIME = statement(
  'delivery-counts-by-time',
  `SELECT webhook_id, width_bucket(hour, $2::timestamptz[]) - 1 AS interval, CASE WHEN $4 THEN event END AS event,
     coalesce(sum(deliveries) FILTER (WHERE status = 'success'), 0)::bigint AS succeeded,
     coalesce(sum(deliveries) FILTER (WHERE status = 'failed'), 0)::bigint AS failed,
     coalesce(sum(deliveries) FILTER (WHERE status IN ('pending', 'retrying')), 0)::bigint AS pending,
     sum(deliveries)::bigint AS total
   FROM ${COUNTED} AND hour >= ($2::timestamptz[])[1] AND hour < $3
   GROUP BY 1, 2, 3 HAVING sum(deliveries) > 0 ORDER BY 1, 2, 3`,
);
const BY_STATUS = statement(
  'delivery-counts-by-status',
  `SELECT webhook_id, status, sum(deliveries)::bigint AS count FROM ${COUNTED} GROUP BY webhook_id, status`,
);
/** The same page read from the start of the list (newest first), or from its end (oldest first). */
interface BothWays {
  readonly fromStart: Statement;
  readonly fromEnd: Statement;
}
/**
 * Returns statements over the rows of `from`, which must have an index on (`key`, `id`). The conditions compare whole
 * rows, so that the planner can use no other index.
 */
function idsOver(name: string, from: string, id: string, key: string, value = 'w.id'): BothWays {
  const reading = (suffix: string, direction: 'ASC' | 'DESC', beyond: '<' | '>') =>
    statement(
      `delivery-ids${name}${suffix}`,
      `SELECT f.id FROM unnest($4::uuid[], $5::uuid[], $6::bigint[]) AS p (lowest, below, most)
       CROSS JOIN unnest($1::uuid[]) AS w (id)
       CROSS JOIN LATERAL (
         SELECT ${id} AS id FROM ${from}
         WHERE (${key}, ${id}) >= (${value}, p.lowest) AND (${key}, ${id}) < (${value}, p.below) AND ${MATCHING}
           AND ($9::uuid IS NULL OR ${id} ${beyond} $9)
         ORDER BY ${key.replaceAll(',', ` ${direction},`)} ${direction}, ${id} ${direction}
         LIMIT least(p.most, $7::bigint + $8::bigint)
       ) f ORDER BY f.id ${direction} OFFSET $7 LIMIT $8`,
    );
  return { fromStart: reading('', 'DESC', '<'), fromEnd: reading('-from-end', 'ASC', '>') };
}
const ALL = idsOver('', 'webhook_deliveries d', 'd.id', 'd.webhook_id');
const RETRIED = idsOver(
  '-retried',
  '(SELECT * FROM webhook_deliveries WHERE next_retry_at IS NOT NULL) d',
  'd.id',
  'd.webhook_id',
);
const HAVE_FAILED = idsOver(
  '-failed',
  '(SELECT * FROM webhook_deliveries WHERE has_failed) d',
  'd.id',
  'd.webhook_id',
);
/** Events that nearly every message causes. Deliveries of other events have an index. */
const COMMON_EVENTS: readonly EventType[] = [
  'sms.sent',
  'email.sent',
  'push.sent',
  'whatsapp.delivered',
  'whatsapp.read',
];
const RARE = idsOver(
  '-rare',
  `(SELECT * FROM webhook_deliveries WHERE event NOT IN (${COMMON_EVENTS.map((event) => `'${event}'`).join(', ')})) d`,
  'd.id',
  'd.event, d.webhook_id',
  '$3::text, w.id',
);
const EVER: IdRange = { lowest: FIRST_UUID, below: LAST_UUID, most: null };

/** A range of ids, and the most matching deliveries that it can contain. Null means unknown. */
interface IdRange {
  readonly lowest: string;
  readonly below: string;
  readonly most: number | null;
}
interface HourCount {
  readonly hour: Date;
  readonly count: number;
}
interface Part {
  readonly skipped: number;
  readonly limit: number;
}

/** Stores webhook deliveries, and the results of their attempts. */
export class PgDeliveryStore implements DeliveryStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(deliveries: readonly WebhookDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await this.#sql.execute(INSERT, [
      deliveries.map((delivery) => delivery.id),
      deliveries.map((delivery) => delivery.accountId),
      deliveries.map((delivery) => delivery.webhookId),
      deliveries.map((delivery) => delivery.eventSeq),
      deliveries.map((delivery) => delivery.createdAt),
      deliveries.map((delivery) => delivery.event),
      deliveries.map((delivery) => delivery.status),
    ]);
  }

  async due(
    webhookId: string,
    deliveryIds: readonly string[],
    attempts: number,
    dueAt: string | undefined,
  ): Promise<readonly DueDelivery[]> {
    const values = [deliveryIds, webhookId, attempts, dueAt ?? null];
    const rows = await this.#sql.query<EventBodyRow & DueRow>(DUE, values);
    return rows.map((row) => ({
      id: row.id,
      messageId: row.message_id,
      accountId: row.account_id,
      event: row.event,
      body: eventBody(row),
      attempts: row.attempts,
      retriesFrom: row.retries_from,
      dueAt: row.next_retry_at,
    }));
  }

  async record(records: readonly AttemptRecord[]): Promise<ReadonlyMap<AttemptRecord, DeliveryState>> {
    const states = new Map<AttemptRecord, DeliveryState>();
    for (let left = records; left.length > 0; ) {
      // One statement can update a row only once. A second attempt of the same delivery waits for the next statement.
      const byId = new Map<string, AttemptRecord>();
      for (const record of left) if (!byId.has(record.deliveryId)) byId.set(record.deliveryId, record);
      for (const recording of [RECORD, RECORD_BESIDE]) {
        const records = [...byId.values()].filter((record) => !states.has(record));
        for (const row of await this.#recordOnce(recording, records)) {
          const record = byId.get(row.id);
          if (record) states.set(record, { attempts: row.attempts, nextRetryAt: row.next_retry_at });
        }
      }
      left = left.filter((record) => byId.get(record.deliveryId) !== record);
    }
    return states;
  }

  async #recordOnce(recording: Statement, records: readonly AttemptRecord[]) {
    if (records.length === 0) return [];
    return this.#sql.query<Pick<DeliveryRow, 'id' | 'attempts' | 'next_retry_at'>>(recording, [
      records.map((record) => record.deliveryId),
      records.map((record) => record.accountId),
      records.map((record) => record.dueAt),
      records.map((record) => record.status),
      records.map((record) => record.nextRetryAt),
      records.map((record) => record.responseBody),
      records.map((record) => record.attempt.at),
      records.map((record) => record.attempt.httpStatus),
      records.map((record) => record.attempt.durationMs),
      records.map((record) => record.attempt.errorMessage),
    ]);
  }

  async close(deliveryIds: readonly string[], status: DeliveryStatus, errorMessage: string) {
    const values = [deliveryIds, status, errorMessage];
    const rows = await this.#sql.query<{ id: string; account_id: string }>(CLOSE, values);
    return rows.map((row) => ({ id: row.id, accountId: row.account_id }));
  }

  async find({ accountId, environment }: Visibility, id: string): Promise<WebhookDelivery | undefined> {
    const [row] = await this.#sql.queryOnDisk<DeliveryRow>(FIND, [accountId, id, environment ?? null]);
    return row && mapRow(row);
  }

  async page(
    webhookId: string,
    filter: DeliveryFilter,
    { page, limit }: PageRequest,
  ): Promise<Page<WebhookDelivery>> {
    // The counts and the page must come from one snapshot. Otherwise the offset of the page would not fit the counts.
    return this.#sql.snapshot(async (sql) => {
      const part = { skipped: (page - 1) * limit, limit };
      const { ids, total } = await idsOfPart(sql, [webhookId], filter, part);
      const rows = ids.length === 0 ? [] : await sql.queryOnDisk<DeliveryRow>(BY_IDS, [ids]);
      return { rows: rows.map(mapRow), total };
    });
  }

  async attempts(accountId: string, deliveryIds: readonly string[]) {
    const rows = await this.#sql.queryOnDisk<AttemptRow>(ATTEMPTS, [accountId, deliveryIds]);
    const byDelivery = Map.groupBy(rows, (row) => row.delivery_id);
    return new Map([...byDelivery].map(([id, own]) => [id, own.map(mapAttempt)]));
  }

  async reopen(
    deliveryIds: readonly string[],
    statuses: readonly DeliveryStatus[],
    at: Date,
    withNewRetries: boolean,
  ): Promise<readonly WebhookDelivery[]> {
    return (await this.#sql.query<DeliveryRow>(REOPEN, [deliveryIds, statuses, at, withNewRetries])).map(
      mapRow,
    );
  }

  async failed(
    webhookId: string,
    { since, until }: TimeSpan,
    afterId: string,
    limit: number,
  ): Promise<readonly string[]> {
    const rows = await this.#sql.query<{ id: string }>(FAILED, [webhookId, afterId, since, until, limit]);
    return rows.map((row) => row.id);
  }

  async cancelOpen(
    webhookId: string,
    afterId: string,
    limit: number,
    errorMessage: string,
  ): Promise<string | undefined> {
    const values = [webhookId, afterId, limit, errorMessage];
    const [row] = await this.#sql.query<{ id: string }>(CANCEL_OPEN, values);
    return row?.id;
  }
}

/** Reads lists of webhook deliveries. */
export class PgDeliveryListStore implements DeliveryListStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async ofMessages(
    accountId: string,
    messageIds: readonly string[],
    limit: number,
  ): Promise<readonly WebhookDelivery[]> {
    const values = [accountId, messageIds, limit];
    return (await this.#sql.queryOnDisk<DeliveryRow>(OF_MESSAGES, values)).map(mapRow);
  }

  async ofEvents(accountId: string, seqs: readonly number[]): Promise<readonly WebhookDelivery[]> {
    return (await this.#sql.queryOnDisk<DeliveryRow>(DELIVERIES_OF_EVENTS, [accountId, seqs])).map(mapRow);
  }

  async list(
    accountId: string,
    filter: DeliveryListFilter,
    range: TwoWayRange,
  ): Promise<readonly WebhookDelivery[]> {
    if (filter.messageId !== undefined) {
      const values = ofMessage(accountId, filter);
      if (!values) return [];
      const ofMessages = range.isBackward ? OF_MESSAGE_FROM_END : OF_MESSAGE;
      const place = [startOf(range) ?? null, range.limit];
      return (await this.#sql.queryOnDisk<DeliveryRow>(ofMessages, [...values, ...place])).map(mapRow);
    }
    const endpoints = await this.#endpoints(accountId, filter);
    return this.#inOrder(accountId, await idsFrom(this.#sql, endpoints, filter, range), range);
  }

  async listToEach(
    accountId: string,
    webhookIds: readonly string[],
    range: TwoWayRange,
  ): Promise<readonly WebhookDelivery[]> {
    const own = await this.#sql.query<{ id: string }>(ENDPOINTS, [accountId, webhookIds, null]);
    const endpoints = own.map(({ id }) => id);
    return this.#inOrder(accountId, await idsOfEachFrom(this.#sql, endpoints, range), range);
  }

  /** Returns the deliveries with these ids in the order of the range: newest first, or oldest first from the end. */
  async #inOrder(accountId: string, ids: readonly string[], { isBackward }: TwoWayRange) {
    const oldestFirst = await this.findMany(accountId, ids, undefined);
    return isBackward ? oldestFirst : oldestFirst.toReversed();
  }

  /**
   * Returns the ids of the account's webhooks that match the filter, deleted webhooks included. The filter may select
   * an environment or a single webhook.
   */
  async #endpoints(accountId: string, { webhookId, environment }: DeliveryListFilter): Promise<string[]> {
    if (webhookId !== undefined && !isUuid(webhookId)) return [];
    const values = [accountId, webhookId === undefined ? null : [webhookId], environment ?? null];
    return (await this.#sql.query<{ id: string }>(ENDPOINTS, values)).map(({ id }) => id);
  }

  async findMany(accountId: string, ids: readonly string[], webhookId: string | undefined) {
    const values = [accountId, ids, webhookId ?? null];
    return (await this.#sql.queryOnDisk<DeliveryRow>(FIND_MANY, values)).map(mapRow);
  }

  async count(accountId: string, filter: DeliveryListFilter): Promise<number> {
    if (filter.messageId !== undefined) {
      const values = ofMessage(accountId, filter);
      const [counted] = values
        ? await this.#sql.queryOnDisk<{ total: number }>(COUNT_OF_MESSAGE, values)
        : [];
      return counted?.total ?? 0;
    }
    return countDeliveries(this.#sql, await this.#endpoints(accountId, filter), filter);
  }

  async countsByTime(
    accountId: string,
    webhookIds: readonly string[],
    { starts, to, byEvent }: DeliveryIntervals,
  ): Promise<readonly CountedDeliveries[]> {
    const own = await this.#sql.query<{ id: string }>(ENDPOINTS, [accountId, webhookIds, null]);
    const values = [own.map(({ id }) => id), starts, to, byEvent];
    const rows = await this.#sql.queryOnDisk<Omit<CountedDeliveries, 'webhookId'> & { webhook_id: string }>(
      BY_TIME,
      values,
    );
    return rows.map(({ webhook_id: webhookId, ...row }) => ({ ...row, webhookId }));
  }

  async countsToEach(accountId: string, webhookIds: readonly string[]) {
    const own = await this.#sql.query<{ id: string }>(ENDPOINTS, [accountId, webhookIds, null]);
    const rows = await countsByStatus(
      this.#sql,
      own.map(({ id }) => id),
    );
    const byWebhook = Map.groupBy(rows, (row) => row.webhook_id);
    return new Map(
      [...byWebhook].map(([id, own]): [string, DeliveryCounts] => {
        const sum = (...statuses: DeliveryStatus[]) =>
          own.reduce((total, row) => total + (statuses.includes(row.status) ? row.count : 0), 0);
        const counts = {
          succeeded: sum('success'),
          failed: sum('failed'),
          pending: sum('pending', 'retrying'),
          total: sum(...DELIVERY_STATUSES),
        };
        return [id, counts];
      }),
    );
  }
}

/** Returns the parameters for the deliveries of a message. Undefined for an invalid id, which matches nothing. */
function ofMessage(accountId: string, filter: DeliveryListFilter): unknown[] | undefined {
  const { messageId = '', webhookId, status, event, environment } = filter;
  if (!isUuid(messageId) || (webhookId !== undefined && !isUuid(webhookId))) return undefined;
  const { lowest, below } = spanOf(filter);
  const asked = [webhookId, status, event, environment].map((value) => value ?? null);
  return [accountId, messageId, ...asked, lowest, below];
}

/** Returns the range of the ids of deliveries that were made in the filter's span. */
function spanOf({ since, until }: DeliveryListFilter): IdRange {
  return {
    lowest: since ? uuidFloor(since) : FIRST_UUID,
    below: until ? uuidFloor(until) : LAST_UUID,
    most: null,
  };
}

/** Returns the part of a range that is inside `span`. Undefined if there is none. */
function clipped(range: IdRange, span: IdRange): IdRange | undefined {
  const lowest = range.lowest > span.lowest ? range.lowest : span.lowest;
  const below = range.below < span.below ? range.below : span.below;
  return lowest < below ? { lowest, below, most: range.most } : undefined;
}

/** Returns the ids of one page of the matching deliveries, newest first, and their total. */
async function idsOfPart(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  part: Part,
): Promise<{ ids: readonly string[]; total: number }> {
  const hours = await hourCounts(sql, webhookIds, filter, undefined, null);
  let before = 0;
  let total = 0;
  const onPage: HourCount[] = [];
  for (const hour of hours) {
    if (total + hour.count <= part.skipped) before += hour.count;
    else if (total < part.skipped + part.limit) onPage.push(hour);
    total += hour.count;
  }
  if (indexed(filter) && part.skipped < SKIPPED_IN_INDEX) {
    return { ids: await idsIn(sql, webhookIds, filter, [EVER], part), total };
  }
  const within = { skipped: part.skipped - before, limit: part.limit };
  return { ids: await idsIn(sql, webhookIds, filter, onPage.map(idsOf), within), total };
}

/** Returns the delivery next to which the range starts. Undefined if it starts at the start or the end of the list. */
function startOf({ isBackward, after, before }: TwoWayRange): string | undefined {
  return isBackward ? before : after;
}

/** Returns the ids of the matching deliveries in the range, the nearest first. */
async function idsFrom(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryListFilter,
  range: TwoWayRange,
): Promise<readonly string[]> {
  const { limit } = range;
  const part = { skipped: 0, limit };
  const span = spanOf(filter);
  if (indexed(filter) || (filter.status === undefined && filter.event === undefined)) {
    return idsIn(sql, webhookIds, filter, [span], part, range);
  }
  const start = nearerOf(range, span);
  const nearest = start === undefined ? undefined : hourOfUuid(start);
  const hours = await hourCounts(sql, webhookIds, filter, nearest, limit + 1, range.isBackward);
  let sure = 0;
  const wanted = hours.filter(({ hour, count }) => {
    if (sure >= limit) return false;
    // Some deliveries of that hour are on the other side of the start, and their number is unknown. So do not add the
    // count of that hour.
    if (hour.getTime() !== nearest?.getTime()) sure += count;
    return true;
  });
  const ranges = wanted.flatMap((hour) => clipped(idsOf(hour), span) ?? []);
  return idsIn(sql, webhookIds, filter, ranges, part, range);
}

/** Returns the id at which the search starts: where the range or the span starts. Undefined if both are open there. */
function nearerOf(range: TwoWayRange, { lowest, below }: IdRange): string | undefined {
  const start = startOf(range);
  const end = range.isBackward ? lowest : below;
  if (end === FIRST_UUID || end === LAST_UUID) return start;
  if (start === undefined) return end;
  return start > end === (range.isBackward === true) ? start : end;
}

/** Returns the ids of the deliveries of each webhook in the range, the nearest first. */
async function idsOfEachFrom(
  sql: Sql,
  webhookIds: readonly string[],
  range: TwoWayRange,
): Promise<readonly string[]> {
  const part = { skipped: 0, limit: range.limit * webhookIds.length };
  return idsIn(sql, webhookIds, {}, [{ ...EVER, most: range.limit }], part, range);
}

/** Returns the number of matching deliveries. */
async function countDeliveries(sql: Sql, webhookIds: readonly string[], filter: DeliveryListFilter) {
  const values = matching(webhookIds, filter);
  const inSpan = filter.since || filter.until ? hoursAndRests(filter) : undefined;
  const [row] = await sql.queryOnDisk<{ count: number }>(
    inSpan ? TOTAL_IN_SPAN : TOTAL,
    inSpan ? [...values, ...inSpan] : values,
  );
  return row?.count ?? 0;
}

/** Divides the span of a filter for `TOTAL_IN_SPAN` into its whole hours and the ranges of ids at its ends. */
function hoursAndRests(filter: DeliveryListFilter): unknown[] {
  const span = spanOf(filter);
  const { since, until } = filter;
  const from = since && new Date(Math.ceil(since.getTime() / HOUR_MS) * HOUR_MS);
  const to = until && new Date(Math.floor(until.getTime() / HOUR_MS) * HOUR_MS);
  // A span without a whole hour is one range.
  const isShort = from !== undefined && to !== undefined && from > to;
  const rests = isShort
    ? [span]
    : [
        ...(from ? [{ ...span, below: uuidFloor(from) }] : []),
        ...(to ? [{ ...span, lowest: uuidFloor(to) }] : []),
      ];
  return [
    from ?? '-infinity',
    isShort ? from : (to ?? 'infinity'),
    rests.map(({ lowest }) => lowest),
    rests.map(({ below }) => below),
  ];
}

/** Returns the number of deliveries for each webhook and status. */
async function countsByStatus(sql: Sql, webhookIds: readonly string[]) {
  return sql.queryOnDisk<{ webhook_id: string; status: DeliveryStatus; count: number }>(BY_STATUS, [
    webhookIds,
  ]);
}

/** Returns the statements on an index that has the matching deliveries and few others. Undefined if there is none. */
function indexed({ status, event }: DeliveryFilter): BothWays | undefined {
  if (status === 'failed') return HAVE_FAILED;
  if (status === 'retrying') return RETRIED;
  return event === undefined || COMMON_EVENTS.includes(event) ? undefined : RARE;
}

function matching(webhookIds: readonly string[], { status, event }: DeliveryFilter): unknown[] {
  return [webhookIds, status ?? null, event ?? null];
}

/** Returns the hours that have matching deliveries: from `nearest` back, or from it on if `isBackward`. */
function hourCounts(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  nearest: Date | undefined,
  limit: number | null,
  isBackward = false,
) {
  const [hours, start] = isBackward ? [HOURS_FROM_END, '-infinity'] : [HOURS, 'infinity'];
  return sql.queryOnDisk<HourCount>(hours, [...matching(webhookIds, filter), nearest ?? start, limit]);
}

async function idsIn(
  sql: Sql,
  webhookIds: readonly string[],
  filter: DeliveryFilter,
  ranges: readonly IdRange[],
  { skipped, limit }: Part,
  page?: TwoWayRange,
): Promise<readonly string[]> {
  if (ranges.length === 0) return [];
  const start = page && startOf(page);
  const isBackward = page?.isBackward === true;
  const { fromStart, fromEnd } = indexed(filter) ?? ALL;
  const rows = await sql.query<{ id: string }>(isBackward ? fromEnd : fromStart, [
    ...matching(webhookIds, filter),
    ranges.map(({ lowest }) => (isBackward && start !== undefined && start > lowest ? start : lowest)),
    ranges.map(({ below }) => (!isBackward && start !== undefined && start < below ? start : below)),
    ranges.map(({ most }) => most),
    skipped,
    limit,
    start ?? null,
  ]);
  return rows.map(({ id }) => id);
}

function idsOf({ hour, count }: HourCount): IdRange {
  return { lowest: uuidFloor(hour), below: uuidFloor(new Date(hour.getTime() + HOUR_MS)), most: count };
}

function hourOfUuid(id: string): Date {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return new Date(Math.floor(ms / HOUR_MS) * HOUR_MS);
}
