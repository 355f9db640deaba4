import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import type { Page, PageRequest } from '../../domain/paging.ts';
import type {
  ActiveEndpoints,
  SealedEndpoint,
  TimeSpan,
  WebhookPatch,
  WebhookStore,
} from '../../domain/ports/webhook-stores.ts';
import { uuidFloor } from '../../domain/uuid.ts';
import type { EventType, Webhook } from '../../domain/webhooks/webhook.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { whereVisible } from './account-rows.ts';

interface WebhookRow {
  id: string;
  account_id: string;
  environment: Environment;
  url: string;
  events: EventType[];
  description: string | null;
  is_active: boolean;
  disabled_reason: string | null;
  max_retries: number;
  previous_secret_ends_at: Date | null;
  created_at: Date;
}
type SealedRow = WebhookRow & { secret_sealed: string; previous_secret_sealed: string | null };

const COLUMNS = [
  'id',
  'account_id',
  'environment',
  'url',
  'events',
  'description',
  'is_active',
  'disabled_reason',
  'max_retries',
  'previous_secret_ends_at',
  'created_at',
] as const;
const SECRETS = 'secret_sealed, previous_secret_sealed';

function mapRow(row: WebhookRow): Webhook {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    url: row.url,
    events: row.events,
    description: row.description,
    isActive: row.is_active,
    disabledReason: row.disabled_reason,
    maxRetries: row.max_retries,
    previousSecretEndsAt: row.previous_secret_ends_at,
    createdAt: row.created_at,
  };
}

function mapSealed(row: SealedRow): SealedEndpoint {
  return {
    webhook: mapRow(row),
    secretSealed: row.secret_sealed,
    previousSecretSealed: row.previous_secret_sealed,
  };
}

const ACTIVE = statement(
  'webhooks-active',
  `SELECT ${COLUMNS.join(', ')}, ${SECRETS} FROM webhooks
   WHERE account_id = ANY($1::uuid[]) AND deleted_at IS NULL AND is_active ORDER BY id`,
);
const FOR_DELIVERY = statement(
  'webhook-for-delivery',
  `SELECT ${COLUMNS.join(', ')}, ${SECRETS} FROM webhooks WHERE id = $1 AND deleted_at IS NULL`,
);
const MARK_FAILING = statement(
  'webhooks-mark-failing',
  `UPDATE webhooks w SET failing_since = n.at
   FROM (SELECT * FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at) ORDER BY id) n
   WHERE w.id = n.id AND w.failing_since IS NULL`,
);
const CLEAR_FAILING = statement(
  'webhooks-clear-failing',
  `UPDATE webhooks SET failing_since = NULL WHERE id = ANY($1::uuid[]) AND failing_since IS NOT NULL`,
);
// Finds the webhooks that failed on each of these days. The id of a delivery contains its time. The query runs only for
// the few webhooks that have been failing for that long.
const FAILING_ON = statement(
  'webhooks-failing-on',
  `SELECT ${COLUMNS.join(', ')}, failing_since FROM webhooks w
   WHERE id = ANY($1::uuid[]) AND is_active AND deleted_at IS NULL AND failing_since <= $2
     AND (SELECT bool_and(EXISTS (
         SELECT FROM webhook_deliveries d
         WHERE d.webhook_id = w.id AND d.id >= day.lowest AND d.id < day.below AND d.attempts > 0
           AND d.event <> 'webhook.test'))
       FROM unnest($3::uuid[], $4::uuid[]) AS day (lowest, below))
   ORDER BY id FOR NO KEY UPDATE`,
);

/** Stores webhooks. */
export class PgWebhookStore implements WebhookStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async insert(webhook: Webhook, secretSealed: string): Promise<void> {
    await this.#sql.table('webhooks').insert({
      id: webhook.id,
      account_id: webhook.accountId,
      environment: webhook.environment,
      url: webhook.url,
      events: [...webhook.events],
      description: webhook.description,
      is_active: webhook.isActive,
      max_retries: webhook.maxRetries,
      secret_sealed: secretSealed,
      created_at: webhook.createdAt,
    });
  }

  async count(owner: AccountEnvironment): Promise<number> {
    // Locks a row of the account, so that concurrent registrations do not exceed the limit.
    const account = { account_id: owner.accountId };
    await this.#sql.table('event_feeds').where(account).forUpdate().select('account_id');
    return this.#sql.count(this.#own(owner));
  }

  async find(visibility: Visibility, id: string): Promise<Webhook | undefined> {
    const [row] = await this.#own(visibility)
      .where({ id })
      .select(...COLUMNS);
    return row && mapRow(row);
  }

  async findMany(visibility: Visibility, ids: readonly string[]): Promise<readonly Webhook[]> {
    const rows: WebhookRow[] = await this.#own(visibility)
      .whereIn('id', [...ids])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async lock(visibility: Visibility, id: string): Promise<Webhook | undefined> {
    const [row] = await this.#own(visibility)
      .where({ id })
      .forNoKeyUpdate()
      .select(...COLUMNS);
    return row && mapRow(row);
  }

  async page(visibility: Visibility, { page, limit }: PageRequest): Promise<Page<Webhook>> {
    const rows = await this.#own(visibility)
      .select(...COLUMNS)
      .orderBy([
        { column: 'created_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset((page - 1) * limit);
    return { rows: rows.map(mapRow), total: await this.#sql.count(this.#own(visibility)) };
  }

  async update(id: string, patch: WebhookPatch): Promise<Webhook> {
    const columns = {
      url: patch.url,
      events: patch.events && [...patch.events],
      description: patch.description,
      is_active: patch.isActive,
      disabled_reason: patch.disabledReason,
      max_retries: patch.maxRetries,
      ...(patch.secret && {
        secret_sealed: patch.secret.sealed,
        previous_secret_sealed: patch.secret.previousEndsAt && this.#sql.raw('secret_sealed'),
        previous_secret_ends_at: patch.secret.previousEndsAt,
      }),
      failing_since: patch.failingSince,
    };
    const given = Object.entries(columns).filter(([, value]) => value !== undefined);
    const [row] = await this.#sql
      .table<WebhookRow>('webhooks')
      .where({ id })
      .update(Object.fromEntries(given))
      .returning([...COLUMNS]);
    if (!row) throw new Error(`webhook ${id} does not exist`);
    return mapRow(row as WebhookRow);
  }

  async markDeleted(id: string, at: Date): Promise<void> {
    await this.#sql.table('webhooks').where({ id }).update({ deleted_at: at });
  }

  async active(accountIds: readonly string[]): Promise<ActiveEndpoints> {
    const readAt = performance.now();
    return { endpoints: (await this.#sql.query<SealedRow>(ACTIVE, [accountIds])).map(mapSealed), readAt };
  }

  async findForDelivery(id: string): Promise<SealedEndpoint | undefined> {
    const [row] = await this.#sql.query<SealedRow>(FOR_DELIVERY, [id]);
    return row && mapSealed(row);
  }

  async markFailing(failedAt: ReadonlyMap<string, Date>): Promise<void> {
    await this.#sql.execute(MARK_FAILING, [[...failedAt.keys()], [...failedAt.values()]]);
  }

  async clearFailing(ids: readonly string[]): Promise<void> {
    await this.#sql.execute(CLEAR_FAILING, [ids]);
  }

  async failingOn(ids: readonly string[], days: readonly TimeSpan[]) {
    const rows = await this.#sql.query<WebhookRow & { failing_since: Date }>(FAILING_ON, [
      ids,
      days[0]?.since ?? null,
      days.map(({ since }) => uuidFloor(since)),
      days.map(({ until }) => uuidFloor(until)),
    ]);
    return rows.map((row) => ({ webhook: mapRow(row), failingSince: row.failing_since }));
  }

  #own(visibility: Visibility) {
    return this.#sql.table<WebhookRow>('webhooks').where(whereVisible(visibility)).whereNull('deleted_at');
  }
}
