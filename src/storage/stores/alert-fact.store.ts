import type {
  EndingKey,
  Outcomes,
  RejectedSender,
  Spend,
  WebhookTrouble,
} from '../../domain/alerts/find-alerts.ts';
import type { Environment } from '../../domain/caller.ts';
import type { LimitUse } from '../../domain/limits/send-limits.ts';
import type { Channel } from '../../domain/messages/message.ts';
import type { AlertFactStore } from '../../domain/ports/alert-store.ts';
import type { Span } from '../../domain/ports/analytics-store.ts';
import { LIMIT_USE_COLUMNS, type LimitUseRow, mapLimitUse } from '../postgres/limit-rows.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const QUARTER_HOUR = 15;
const DAY = 1_440;

// An account that has left is watched by the cell to which it went.
const ACCOUNTS = statement(
  'alert-accounts',
  'SELECT id FROM accounts WHERE id > $1 AND moving IS NULL ORDER BY id LIMIT $2',
);
// Reads usage only of accounts that have sent in the last week. The others have spent nothing. The oldest day counts
// whole, and the oldest hour too.
const SPEND = statement(
  'alert-spend',
  `SELECT a.id AS account_id, a.currency, a.balance_minor, coalesce(day.minor, 0)::bigint AS day_minor,
     coalesce(week.minor, 0)::bigint AS week_minor
   FROM accounts a
   LEFT JOIN LATERAL (
     SELECT sum(cost_minor) AS minor FROM usage_hours u WHERE u.account_id = a.id
       AND u.hour > $2::timestamptz - interval '24 hours' AND u.environment = 'production') day
     ON a.last_accepted_at > $2::timestamptz - interval '7 days'
   LEFT JOIN LATERAL (
     SELECT sum(cost_minor) AS minor FROM usage_days u WHERE u.account_id = a.id
       AND u.day > $2::timestamptz - interval '7 days' AND u.environment = 'production') week
     ON a.last_accepted_at > $2::timestamptz - interval '7 days'
   WHERE a.id = ANY($1::uuid[])`,
);
const LIMITS = statement(
  'alert-limits',
  `SELECT ${LIMIT_USE_COLUMNS} FROM send_limits l WHERE l.account_id = ANY($1::uuid[])
     AND num_nonnulls(l.spend_per_hour_minor, l.spend_per_day_minor, l.recipients_per_day) > 0`,
);
const WEBHOOKS = statement(
  'alert-webhooks',
  `SELECT account_id, id, url, is_active, disabled_reason, failing_since FROM webhooks
   WHERE account_id = ANY($1::uuid[]) AND deleted_at IS NULL AND environment = 'production'
     AND (failing_since IS NOT NULL OR (NOT is_active AND disabled_reason IS NOT NULL))`,
);
// Email and push have no delivery reports: there, a message that was sent has reached its recipient. A canceled message
// never left, so it says nothing about the deliveries.
const OUTCOMES = statement(
  'alert-outcomes',
  `SELECT s.account_id, s.channel,
     coalesce(sum(s.recipients) FILTER (WHERE s.status = 'delivered'
       OR (s.status = 'sent' AND s.channel IN ('email', 'push'))), 0)::bigint AS delivered,
     coalesce(sum(s.recipients) FILTER (WHERE s.status = 'failed' AND s.error_code <> 'canceled'), 0)::bigint AS failed
   FROM unnest($1::uuid[]) AS a (id)
   CROSS JOIN LATERAL (
     SELECT account_id, channel, status, error_code, recipients FROM analytics_slots
     WHERE account_id = a.id AND minutes = $2 AND slot >= $3 AND slot < $4 AND environment = 'production' OFFSET 0) s
   GROUP BY 1, 2`,
);
const ENDING_KEYS = statement(
  'alert-ending-keys',
  `SELECT account_id, key_id, name, environment, created_at, expires_at FROM api_keys
   WHERE account_id = ANY($1::uuid[]) AND expires_at > $2 AND expires_at < $3 AND revoked_at IS NULL
     AND rotated_at IS NULL`,
);
const REJECTED_SENDERS = statement(
  'alert-rejected-senders',
  `SELECT account_id, id, name, channel, note FROM senders
   WHERE account_id = ANY($1::uuid[]) AND environment = 'production' AND status = 'rejected'`,
);

interface WebhookRow {
  account_id: string;
  id: string;
  url: string;
  is_active: boolean;
  disabled_reason: string | null;
  failing_since: Date | null;
}
interface KeyRow {
  account_id: string;
  key_id: string;
  name: string;
  environment: Environment;
  created_at: Date;
  expires_at: Date;
}
interface SpendRow {
  account_id: string;
  currency: string;
  balance_minor: number;
  day_minor: number;
  week_minor: number;
}

/** Reads what the rules of alerts look at. */
export class PgAlertFactStore implements AlertFactStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async accountsAfter(afterId: string, limit: number): Promise<readonly string[]> {
    return (await this.#sql.query<{ id: string }>(ACCOUNTS, [afterId, limit])).map(({ id }) => id);
  }

  async spend(accountIds: readonly string[], now: Date): Promise<readonly Spend[]> {
    const rows = await this.#sql.query<SpendRow>(SPEND, [accountIds, now]);
    return rows.map((row) => ({
      accountId: row.account_id,
      currency: row.currency,
      balanceMinor: row.balance_minor,
      dayMinor: row.day_minor,
      weekMinor: row.week_minor,
    }));
  }

  async limits(accountIds: readonly string[]): Promise<readonly LimitUse[]> {
    return (await this.#sql.query<LimitUseRow>(LIMITS, [accountIds])).map(mapLimitUse);
  }

  async webhooks(accountIds: readonly string[]): Promise<readonly WebhookTrouble[]> {
    const rows = await this.#sql.query<WebhookRow>(WEBHOOKS, [accountIds]);
    return rows.map((row) => ({
      accountId: row.account_id,
      webhookId: row.id,
      url: row.url,
      isActive: row.is_active,
      disabledReason: row.disabled_reason,
      failingSince: row.failing_since,
    }));
  }

  async outcomes(accountIds: readonly string[], { from, to }: Span, byDay: boolean) {
    const values = [accountIds, byDay ? DAY : QUARTER_HOUR, from, to];
    const rows = await this.#sql.query<{
      account_id: string;
      channel: Channel;
      delivered: number;
      failed: number;
    }>(OUTCOMES, values);
    return rows.map(
      (row): Outcomes => ({
        accountId: row.account_id,
        channel: row.channel,
        delivered: row.delivered,
        failed: row.failed,
      }),
    );
  }

  async endingKeys(accountIds: readonly string[], now: Date, before: Date): Promise<readonly EndingKey[]> {
    const rows = await this.#sql.query<KeyRow>(ENDING_KEYS, [accountIds, now, before]);
    return rows.map((row) => ({
      accountId: row.account_id,
      keyId: row.key_id,
      name: row.name,
      environment: row.environment,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }));
  }

  async rejectedSenders(accountIds: readonly string[]): Promise<readonly RejectedSender[]> {
    const rows = await this.#sql.query<{
      account_id: string;
      id: string;
      name: string;
      channel: string;
      note: string | null;
    }>(REJECTED_SENDERS, [accountIds]);
    return rows.map(({ account_id: accountId, ...row }) => ({ accountId, ...row }));
  }
}
