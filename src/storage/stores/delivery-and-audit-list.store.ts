import type { AuditEntry } from '../../domain/audit/audit-entry.ts';
import type { Environment } from '../../domain/caller.ts';
import type { KeyRange } from '../../domain/paging.ts';
import type {
  AuditFilter,
  DeliveryCounts,
  DeliveryListFilter,
  ListStore,
} from '../../domain/ports/list-stores.ts';
import { isUuid, uuidFloor } from '../../domain/uuid.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  type EventType,
  type WebhookDelivery,
} from '../../domain/webhooks/webhook.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import {
  countDeliveries,
  countsByStatus,
  deliveriesBefore,
  deliveriesOfEachBefore,
} from './delivery-finder.ts';
import { EVENT_ENVIRONMENT } from './event.store.ts';
import { ownRows } from './list-counts.ts';

const DELIVERY_COLUMNS = `d.id, d.account_id, ${EVENT_ENVIRONMENT} AS environment, d.webhook_id, d.event_seq,
  d.event, e.message_id, d.status, d.http_status, d.attempts, d.response_body, d.error_message, d.next_retry_at, d.created_at`;
/** Found first and limited afterwards: with a limit inside, PostgreSQL scans the ids of all deliveries. */
const DELIVERIES_OF = statement(
  'list-deliveries-of',
  `SELECT * FROM (
     SELECT ${DELIVERY_COLUMNS} FROM events e
     JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq
     WHERE e.account_id = $1 AND e.message_id = ANY($2::uuid[]) OFFSET 0
   ) f ORDER BY f.id LIMIT $3`,
);
/** A message's events and their deliveries are found by index; only the columns shown are read. */
const OF_MESSAGE = `FROM events e JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq
  WHERE e.account_id = $1 AND e.message_id = $2 AND ($3::uuid IS NULL OR d.webhook_id = $3)
    AND ($4::text IS NULL OR d.status = $4) AND ($5::text IS NULL OR d.event = $5)
    AND ($6::text IS NULL OR $6 = ${EVENT_ENVIRONMENT})`;
const DELIVERIES_OF_MESSAGE = statement(
  'list-deliveries-of-message',
  `SELECT * FROM (SELECT ${DELIVERY_COLUMNS} ${OF_MESSAGE} OFFSET 0) f
   WHERE $7::uuid IS NULL OR f.id < $7 ORDER BY f.id DESC LIMIT $8`,
);
const COUNT_OF_MESSAGE = statement('list-count-of-message', `SELECT count(*) AS total ${OF_MESSAGE}`);
const ENDPOINTS = statement(
  'list-endpoints',
  `SELECT id FROM webhooks WHERE account_id = $1 AND ($2::uuid[] IS NULL OR id = ANY($2))
     AND ($3::text IS NULL OR environment = $3)`,
);
const FIND_DELIVERIES = statement(
  'list-deliveries-by-id',
  `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries d
   JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
   WHERE d.account_id = $1 AND d.id = ANY($2::uuid[]) AND ($3::uuid IS NULL OR d.webhook_id = $3) ORDER BY d.id`,
);
const ATTEMPTS = statement(
  'list-attempts',
  `SELECT delivery_id, at, http_status, duration_ms, error_message FROM webhook_attempts
   WHERE account_id = $1 AND delivery_id = ANY($2::uuid[]) ORDER BY delivery_id, number`,
);
/** The time of an entry and the time in its id are read at different moments. */
const ID_SLACK_MS = 60_000;
const AUDIT_COLUMNS = ['id', 'account_id', 'at', 'actor', 'action', 'target', 'before', 'after'] as const;

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

function mapDelivery(row: DeliveryRow): WebhookDelivery {
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

/** Lists of deliveries and of the audit log. */
export class PgListStore implements ListStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async deliveriesOf(
    accountId: string,
    messageIds: readonly string[],
    limit: number,
  ): Promise<readonly WebhookDelivery[]> {
    const values = [accountId, messageIds, limit];
    return (await this.#sql.queryOnDisk<DeliveryRow>(DELIVERIES_OF, values)).map(mapDelivery);
  }

  async deliveries(
    accountId: string,
    filter: DeliveryListFilter,
    { limit, after }: KeyRange,
  ): Promise<readonly WebhookDelivery[]> {
    if (filter.messageId !== undefined) {
      const values = ofMessage(accountId, filter);
      if (!values) return [];
      const rows = await this.#sql.queryOnDisk<DeliveryRow>(DELIVERIES_OF_MESSAGE, [
        ...values,
        after ?? null,
        limit,
      ]);
      return rows.map(mapDelivery);
    }
    const endpoints = await this.#endpoints(accountId, filter);
    const ids = await deliveriesBefore(this.#sql, endpoints, filter, after, limit);
    return (await this.findDeliveries(accountId, ids, undefined)).toReversed();
  }

  async deliveriesToEach(
    accountId: string,
    webhookIds: readonly string[],
    { limit, after }: KeyRange,
  ): Promise<readonly WebhookDelivery[]> {
    const own = await this.#sql.query<{ id: string }>(ENDPOINTS, [accountId, webhookIds, null]);
    const endpoints = own.map(({ id }) => id);
    const ids = await deliveriesOfEachBefore(this.#sql, endpoints, after, limit);
    return (await this.findDeliveries(accountId, ids, undefined)).toReversed();
  }

  /** The account's webhooks, also deleted ones: all, those of an environment, or a single one. */
  async #endpoints(accountId: string, { webhookId, environment }: DeliveryListFilter): Promise<string[]> {
    if (webhookId !== undefined && !isUuid(webhookId)) return [];
    const values = [accountId, webhookId === undefined ? null : [webhookId], environment ?? null];
    return (await this.#sql.query<{ id: string }>(ENDPOINTS, values)).map(({ id }) => id);
  }

  async findDeliveries(accountId: string, ids: readonly string[], webhookId: string | undefined) {
    const values = [accountId, ids, webhookId ?? null];
    return (await this.#sql.queryOnDisk<DeliveryRow>(FIND_DELIVERIES, values)).map(mapDelivery);
  }

  async countDeliveries(accountId: string, filter: DeliveryListFilter): Promise<number> {
    if (filter.messageId !== undefined) {
      const values = ofMessage(accountId, filter);
      const [counted] = values ? await this.#sql.query<{ total: number }>(COUNT_OF_MESSAGE, values) : [];
      return counted?.total ?? 0;
    }
    return countDeliveries(this.#sql, await this.#endpoints(accountId, filter), filter);
  }

  async deliveryCounts(accountId: string, webhookIds: readonly string[]) {
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
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    if (accountId !== undefined && !isFiltered) return ownRows(this.#sql, accountId, 'audit_entries');
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
    // The index is on ids, and an id contains its time.
    const { from, to } = filter;
    if (from !== undefined) query.where('at', '>=', from).where('id', '>=', idAround(from, -ID_SLACK_MS));
    if (to !== undefined) query.where('at', '<=', to).where('id', '<', idAround(to, ID_SLACK_MS));
    return query;
  }
}

/** The condition for the deliveries of a message; undefined for an invalid id, which matches nothing. */
function ofMessage(
  accountId: string,
  { messageId = '', webhookId, status, event, environment }: DeliveryListFilter,
): unknown[] | undefined {
  if (!isUuid(messageId) || (webhookId !== undefined && !isUuid(webhookId))) return undefined;
  return [accountId, messageId, webhookId ?? null, status ?? null, event ?? null, environment ?? null];
}

function idAround(time: Date, slackMs: number): string {
  return uuidFloor(new Date(Math.max(0, time.getTime() + slackMs)));
}
