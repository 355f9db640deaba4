import type { AuditEntry } from '../domain/audit/audit-entry.ts';
import type { KeyRange } from '../domain/paging.ts';
import type {
  AuditFilter,
  DeliveryCounts,
  DeliveryListFilter,
  ListStore,
} from '../domain/ports/list-stores.ts';
import { isUuid } from '../domain/uuid.ts';
import type { DeliveryStatus, EventType, WebhookDelivery } from '../domain/webhooks/webhook.ts';
import { type Sql, statement } from './sql.ts';

const DELIVERY_COLUMNS = `d.id, d.account_id, d.webhook_id, d.event_seq, d.event, e.message_id, d.status,
  d.http_status, d.attempts, d.response_body, d.error_message, d.next_retry_at, d.created_at`;
const DELIVERIES_OF = statement(
  'list-deliveries-of',
  `SELECT ${DELIVERY_COLUMNS} FROM events e
   JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq
   WHERE e.account_id = $1 AND e.message_id = ANY($2::uuid[]) ORDER BY d.id`,
);
const DELIVERY_MATCHES = `($2::text IS NULL OR d.status = $2) AND ($3::text IS NULL OR d.event = $3)`;
// The index is by endpoint, so the newest of each endpoint are merged.
const DELIVERIES = statement(
  'list-deliveries',
  `SELECT ${DELIVERY_COLUMNS} FROM webhooks w CROSS JOIN LATERAL (
     SELECT d.* FROM webhook_deliveries d
     WHERE d.webhook_id = w.id AND ($5::uuid IS NULL OR d.id < $5) AND ${DELIVERY_MATCHES}
     ORDER BY d.id DESC LIMIT $6
   ) d JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
   WHERE w.account_id = $1 AND ($4::uuid IS NULL OR w.id = $4) ORDER BY d.id DESC LIMIT $6`,
);
const FIND_DELIVERIES = statement(
  'list-deliveries-by-id',
  `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries d
   JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
   WHERE d.account_id = $1 AND d.id = ANY($2::uuid[]) AND ($3::uuid IS NULL OR d.webhook_id = $3) ORDER BY d.id`,
);
const COUNT_DELIVERIES = statement(
  'list-count-deliveries',
  `SELECT count(*) AS count FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
   WHERE w.account_id = $1 AND ${DELIVERY_MATCHES} AND ($4::uuid IS NULL OR w.id = $4)`,
);
const DELIVERY_COUNTS = statement(
  'list-delivery-counts',
  `SELECT d.webhook_id, d.status, count(*) AS count FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
   WHERE w.account_id = $1 AND w.id = ANY($2::uuid[]) GROUP BY d.webhook_id, d.status`,
);
const ATTEMPTS = statement(
  'list-attempts',
  `SELECT delivery_id, at, http_status, duration_ms, error_message FROM webhook_attempts
   WHERE account_id = $1 AND delivery_id = ANY($2::uuid[]) ORDER BY delivery_id, number`,
);
const AUDIT_COLUMNS = ['id', 'account_id', 'at', 'actor', 'action', 'target', 'before', 'after'] as const;

interface DeliveryRow {
  id: string;
  account_id: string;
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

function mapDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    accountId: row.account_id,
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

/** Deliveries and the audit log, for looking through them. */
export class PgListStore implements ListStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async deliveriesOf(accountId: string, messageIds: readonly string[]): Promise<readonly WebhookDelivery[]> {
    return (await this.#sql.query<DeliveryRow>(DELIVERIES_OF, [accountId, messageIds])).map(mapDelivery);
  }

  async deliveries(
    accountId: string,
    filter: DeliveryListFilter,
    { limit, after }: KeyRange,
  ): Promise<readonly WebhookDelivery[]> {
    if (filter.messageId !== undefined) {
      const rows = await this.#ofMessage(accountId, filter);
      return rows.filter((row) => after === undefined || row.id < after).slice(0, limit);
    }
    if (filter.webhookId !== undefined && !isUuid(filter.webhookId)) return [];
    const values = [...deliveryMatch(accountId, filter), after ?? null, limit];
    return (await this.#sql.query<DeliveryRow>(DELIVERIES, values)).map(mapDelivery);
  }

  async findDeliveries(accountId: string, ids: readonly string[], webhookId: string | undefined) {
    const values = [accountId, ids, webhookId ?? null];
    return (await this.#sql.query<DeliveryRow>(FIND_DELIVERIES, values)).map(mapDelivery);
  }

  async countDeliveries(accountId: string, filter: DeliveryListFilter): Promise<number> {
    if (filter.messageId !== undefined) return (await this.#ofMessage(accountId, filter)).length;
    if (filter.webhookId !== undefined && !isUuid(filter.webhookId)) return 0;
    const values = deliveryMatch(accountId, filter);
    const [row] = await this.#sql.query<{ count: number }>(COUNT_DELIVERIES, values);
    return row?.count ?? 0;
  }

  /** A message has few deliveries: as many as recipients times endpoints. */
  async #ofMessage(accountId: string, filter: DeliveryListFilter): Promise<WebhookDelivery[]> {
    const { messageId = '', webhookId, status, event } = filter;
    if (!isUuid(messageId)) return [];
    const all = await this.deliveriesOf(accountId, [messageId]);
    return all
      .filter((row) => webhookId === undefined || row.webhookId === webhookId.toLowerCase())
      .filter((row) => status === undefined || row.status === status)
      .filter((row) => event === undefined || row.event === event)
      .reverse();
  }

  async deliveryCounts(accountId: string, webhookIds: readonly string[]) {
    const rows = await this.#sql.query<{ webhook_id: string; status: DeliveryStatus; count: number }>(
      DELIVERY_COUNTS,
      [accountId, webhookIds],
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
        };
        return [id, counts];
      }),
    );
  }

  async attempts(accountId: string, deliveryIds: readonly string[]) {
    const rows = await this.#sql.query<{
      delivery_id: string;
      at: Date;
      http_status: number | null;
      duration_ms: number;
      error_message: string | null;
    }>(ATTEMPTS, [accountId, deliveryIds]);
    return rows.map((row) => ({
      deliveryId: row.delivery_id,
      at: row.at,
      httpStatus: row.http_status,
      durationMs: row.duration_ms,
      errorMessage: row.error_message,
    }));
  }

  async auditEntries(
    accountId: string | undefined,
    filter: AuditFilter,
    { limit, after }: KeyRange,
  ): Promise<readonly AuditEntry[]> {
    const query = this.#auditMatching(accountId, filter).orderBy('id', 'desc').limit(limit);
    if (after !== undefined) query.where('id', '<', after);
    const rows = await query.select(...AUDIT_COLUMNS);
    return rows.map((row) => ({
      id: row.id,
      accountId: row.account_id,
      at: row.at,
      actor: row.actor,
      action: row.action,
      target: row.target,
      before: row.before,
      after: row.after,
    }));
  }

  countAuditEntries(accountId: string | undefined, filter: AuditFilter): Promise<number> {
    return this.#sql.count(this.#auditMatching(accountId, filter));
  }

  #auditMatching(accountId: string | undefined, filter: AuditFilter) {
    const query = this.#sql.table<Omit<AuditEntry, 'accountId'> & { account_id: string | null }>(
      'audit_entries',
    );
    if (accountId !== undefined) query.where('account_id', accountId);
    if (filter.action !== undefined) query.where('action', filter.action);
    if (filter.actor !== undefined) query.where('actor', filter.actor);
    if (filter.target !== undefined) query.where('target', filter.target);
    if (filter.from !== undefined) query.where('at', '>=', filter.from);
    if (filter.to !== undefined) query.where('at', '<=', filter.to);
    return query;
  }
}

function deliveryMatch(accountId: string, filter: DeliveryListFilter): unknown[] {
  return [accountId, filter.status ?? null, filter.event ?? null, filter.webhookId ?? null];
}
