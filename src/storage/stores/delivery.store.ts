import type { Environment, Visibility } from '../../domain/caller.ts';
import type { Page, PageRequest } from '../../domain/paging.ts';
import type {
  AttemptRecord,
  DeliveryFilter,
  DeliveryState,
  DeliveryStore,
  DueDelivery,
  TimeSpan,
} from '../../domain/ports/webhook-stores.ts';
import type {
  DeliveryAttempt,
  DeliveryStatus,
  EventType,
  WebhookDelivery,
} from '../../domain/webhooks/webhook.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';
import { deliveryPart } from './delivery-finder.ts';
import { BODY_COLUMNS, EVENT_ENVIRONMENT, type EventBodyRow, eventBody, WITH_SOURCE } from './event.store.ts';
import { RECORD, RECORD_BESIDE } from './record-attempts.ts';

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

const COLUMNS = `d.id, d.account_id, ${EVENT_ENVIRONMENT} AS environment, d.webhook_id, d.event_seq, d.event,
  e.message_id, d.status, d.http_status, d.attempts, d.response_body, d.error_message, d.next_retry_at, d.created_at`;
const OF_EVENT = 'JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq';

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

const FIND = statement(
  'delivery-find',
  `SELECT ${COLUMNS} FROM webhook_deliveries d ${OF_EVENT} WHERE d.account_id = $1 AND d.id = $2
     AND ($3::text IS NULL OR $3 = ${EVENT_ENVIRONMENT})`,
);
// Counts and deliveries must be from one snapshot, or the page is not at the counted offset.
const SNAPSHOT = statement(
  'deliveries-snapshot',
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY',
);
const BY_IDS = statement(
  'deliveries-by-ids',
  `SELECT ${COLUMNS} FROM webhook_deliveries d ${OF_EVENT} WHERE d.id = ANY($1::uuid[]) ORDER BY d.id DESC`,
);
const ATTEMPTS = statement(
  'attempts-of-deliveries',
  `SELECT delivery_id, at, http_status, duration_ms, error_message FROM webhook_attempts
   WHERE delivery_id = ANY($1::uuid[]) ORDER BY delivery_id, number`,
);
// A delivery due within a second is treated as due: clocks of processes differ, and its attempt may have started.
const REOPEN = statement(
  'deliveries-reopen',
  `UPDATE webhook_deliveries d SET status = 'retrying', next_retry_at = $3,
     retries_from = CASE WHEN $4 THEN d.attempts ELSE d.retries_from END
   FROM events e WHERE d.id = ANY($1::uuid[]) AND d.status = ANY($2::text[])
     AND (d.next_retry_at IS NULL OR d.next_retry_at > $3::timestamptz + interval '1 second')
     AND e.account_id = d.account_id AND e.seq = d.event_seq
   RETURNING ${COLUMNS}`,
);
const FAILED = statement(
  'deliveries-failed',
  `SELECT id FROM webhook_deliveries
   WHERE (webhook_id, id) > ($1, $2) AND webhook_id = $1 AND has_failed
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
// A job without a due time finds its deliveries by their number of attempts.
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

/** Webhook deliveries and the results of their attempts. */
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
      // A statement updates a row once: a second attempt of the same delivery waits for the next statement.
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
    return this.#sql.transaction(async (sql) => {
      await sql.execute(SNAPSHOT, []);
      const part = { skipped: (page - 1) * limit, limit };
      const { ids, total } = await deliveryPart(sql, [webhookId], filter, part);
      const rows = ids.length === 0 ? [] : await sql.queryOnDisk<DeliveryRow>(BY_IDS, [ids]);
      return { rows: rows.map(mapRow), total };
    });
  }

  async attempts(deliveryIds: readonly string[]): Promise<ReadonlyMap<string, readonly DeliveryAttempt[]>> {
    const rows = await this.#sql.query<{
      delivery_id: string;
      at: Date;
      http_status: number | null;
      duration_ms: number;
      error_message: string | null;
    }>(ATTEMPTS, [deliveryIds]);
    const byDelivery = new Map<string, DeliveryAttempt[]>();
    for (const row of rows) {
      const attempts = byDelivery.get(row.delivery_id) ?? [];
      byDelivery.set(row.delivery_id, attempts);
      attempts.push({
        at: row.at,
        httpStatus: row.http_status,
        durationMs: row.duration_ms,
        errorMessage: row.error_message,
      });
    }
    return byDelivery;
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
