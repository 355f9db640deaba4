import type { AttemptRecord, DeliveryStore, DueDelivery } from '../domain/ports/stores.ts';
import type { DeliveryStatus, EventType, WebhookDelivery } from '../domain/webhooks/webhook.ts';
import { type Sql, statement } from './sql.ts';

const INSERT = statement(
  'deliveries-insert',
  `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, event, status)
   SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[])`,
);
const DUE = statement(
  'deliveries-due',
  `SELECT d.id, d.account_id, d.event, e.body FROM webhook_deliveries d
   JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
   WHERE d.id = ANY($1::uuid[]) AND d.webhook_id = $2 AND d.attempts = $3 AND d.status IN ('pending', 'retrying')
   ORDER BY d.id`,
);
const RECORD = statement(
  'deliveries-record',
  `WITH attempt AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::timestamptz[], $6::text[],
       $7::timestamptz[], $8::int[], $9::int[], $10::text[])
       AS n (id, account_id, number, status, next_retry_at, response_body, at, http_status, duration_ms, error_message)
   ), done AS (
     UPDATE webhook_deliveries d SET status = n.status, attempts = n.number, http_status = n.http_status,
       response_body = n.response_body, error_message = n.error_message, next_retry_at = n.next_retry_at
     FROM attempt n WHERE d.id = n.id AND d.attempts = n.number - 1 AND d.status <> 'canceled'
     RETURNING d.id
   ), logged AS (
     INSERT INTO webhook_attempts (delivery_id, account_id, at, number, http_status, duration_ms, error_message)
     SELECT n.id, n.account_id, n.at, n.number, n.http_status, n.duration_ms, n.error_message
     FROM attempt n JOIN done ON done.id = n.id
   )
   SELECT id FROM done`,
);
const CLOSE = statement(
  'deliveries-close',
  `UPDATE webhook_deliveries SET status = $2, error_message = $3, next_retry_at = NULL
   WHERE id = ANY($1::uuid[]) AND status IN ('pending', 'retrying')`,
);

/** What is owed to endpoints, and what each attempt came to. */
export class PgDeliveryStore implements DeliveryStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(deliveries: readonly WebhookDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    await this.#sql.query(INSERT, [
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
  ): Promise<readonly DueDelivery[]> {
    const rows = await this.#sql.query<{ id: string; account_id: string; event: EventType; body: string }>(DUE, [
      deliveryIds,
      webhookId,
      attempts,
    ]);
    return rows.map((row) => ({ id: row.id, accountId: row.account_id, event: row.event, body: row.body }));
  }

  async record(records: readonly AttemptRecord[]): Promise<readonly string[]> {
    if (records.length === 0) return [];
    const rows = await this.#sql.query<{ id: string }>(RECORD, [
      records.map((record) => record.deliveryId),
      records.map((record) => record.accountId),
      records.map((record) => record.number),
      records.map((record) => record.status),
      records.map((record) => record.nextRetryAt),
      records.map((record) => record.responseBody),
      records.map((record) => record.attempt.at),
      records.map((record) => record.attempt.httpStatus),
      records.map((record) => record.attempt.durationMs),
      records.map((record) => record.attempt.errorMessage),
    ]);
    return rows.map((row) => row.id);
  }

  async close(deliveryIds: readonly string[], status: DeliveryStatus, errorMessage: string): Promise<void> {
    if (deliveryIds.length > 0) await this.#sql.query(CLOSE, [deliveryIds, status, errorMessage]);
  }
}
