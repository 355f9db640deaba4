import type { WebhookStore } from '../domain/ports/stores.ts';
import type { EventType, Webhook } from '../domain/webhooks/webhook.ts';
import { type Sql, statement } from './sql.ts';

interface WebhookRow {
  id: string;
  account_id: string;
  url: string;
  events: EventType[];
  description: string | null;
  is_active: boolean;
  disabled_reason: string | null;
  max_retries: number;
  created_at: Date;
}

const COLUMNS = [
  'id',
  'account_id',
  'url',
  'events',
  'description',
  'is_active',
  'disabled_reason',
  'max_retries',
  'created_at',
] as const;

function mapRow(row: WebhookRow): Webhook {
  return {
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    events: row.events,
    description: row.description,
    isActive: row.is_active,
    disabledReason: row.disabled_reason,
    maxRetries: row.max_retries,
    createdAt: row.created_at,
  };
}

const ACTIVE = statement(
  'webhooks-active',
  `SELECT ${COLUMNS.join(', ')} FROM webhooks
   WHERE account_id = ANY($1::uuid[]) AND deleted_at IS NULL AND is_active ORDER BY id`,
);
const FOR_DELIVERY = statement(
  'webhook-for-delivery',
  `SELECT ${COLUMNS.join(', ')}, secret_sealed FROM webhooks WHERE id = $1 AND deleted_at IS NULL`,
);

/** Webhook endpoints. */
export class PgWebhookStore implements WebhookStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(webhook: Webhook, secretSealed: string): Promise<void> {
    await this.#sql.table('webhooks').insert({
      id: webhook.id,
      account_id: webhook.accountId,
      url: webhook.url,
      events: [...webhook.events],
      description: webhook.description,
      is_active: webhook.isActive,
      max_retries: webhook.maxRetries,
      secret_sealed: secretSealed,
      created_at: webhook.createdAt,
    });
  }

  async count(accountId: string): Promise<number> {
    // The account's row is locked so that two registrations at once cannot both be the last one allowed.
    await this.#sql.table('event_feeds').where({ account_id: accountId }).forUpdate().select('account_id');
    return this.#sql.count(
      this.#sql.table('webhooks').where({ account_id: accountId }).whereNull('deleted_at'),
    );
  }

  async active(accountIds: readonly string[]): Promise<readonly Webhook[]> {
    const rows = await this.#sql.query<WebhookRow>(ACTIVE, [accountIds]);
    return rows.map(mapRow);
  }

  async findForDelivery(id: string) {
    const [row] = await this.#sql.query<WebhookRow & { secret_sealed: string }>(FOR_DELIVERY, [id]);
    return row && { webhook: mapRow(row), secretSealed: row.secret_sealed };
  }
}
