import type { AccountFacts, TroubleSpans } from '../../domain/platform/account-troubles.ts';
import type { PlatformGroup, PlatformValues } from '../../domain/platform/platform-analytics.ts';
import type {
  CountedPlatformRow,
  FoundMessage,
  PlatformCount,
  PlatformStore,
  PlatformTime,
} from '../../domain/ports/platform-store.ts';
import { partColumnsOf } from '../analytics/index.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';

const COLUMN_OF: Readonly<Record<PlatformGroup, string>> = {
  account: 'account_id',
  channel: 'channel',
  status: 'status',
  country: 'prefix',
  provider: 'provider',
  environment: 'environment',
};
const GROUPS = Object.keys(COLUMN_OF) as PlatformGroup[];
/**
 * SQL for the columns of the groups. The parameters of the statements: $1 to $4 the parts of the spans, $5 the
 * environment, $6 the columns to group by.
 */
const grouped = (groups: readonly PlatformGroup[]) =>
  [
    ...groups.map(
      (group) =>
        `CASE WHEN '${COLUMN_OF[group]}' = ANY($6::text[]) THEN s.${COLUMN_OF[group]} END AS ${COLUMN_OF[group]}`,
    ),
    ...['name', 'email'].map(
      (column) => `CASE WHEN 'account_id' = ANY($6::text[]) THEN a.${column} END AS account_${column}`,
    ),
  ].join(', ');
/**
 * The slots of all accounts. The primary key of the slots begins with the account, so each part of a span is one range
 * of the index for each account.
 */
const from = (table: string) => `accounts a
   CROSS JOIN unnest($1::int[], $2::int[], $3::timestamptz[], $4::timestamptz[]) AS part (span, minutes, low, high)
   CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE account_id = a.id AND minutes = part.minutes
     AND slot >= part.low AND slot < part.high OFFSET 0) s
   WHERE $5::text IS NULL OR s.environment = $5`;

const COUNT = statement(
  'platform-count',
  `SELECT part.span, a.currency, ${grouped(GROUPS)}, sum(s.messages)::bigint AS messages,
     sum(s.recipients)::bigint AS recipients,
     coalesce(sum(s.recipients) FILTER (WHERE s.status = 'delivered'), 0)::bigint AS delivered,
     coalesce(sum(s.recipients) FILTER (WHERE s.status = 'failed'), 0)::bigint AS failed,
     sum(s.cost_minor)::bigint AS cost_minor, sum(s.refund_minor)::bigint AS refund_minor
   FROM ${from('analytics_slots')} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
   HAVING sum(s.messages) <> 0 OR sum(s.recipients) <> 0 ORDER BY 1 LIMIT $7`,
);
const LATENCIES = statement(
  'platform-latencies',
  `SELECT part.span, a.currency, ${grouped(GROUPS.filter((group) => group !== 'status'))}, s.measure, s.bucket,
     sum(s.recipients)::bigint AS recipients
   FROM ${from('analytics_latencies')} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11`,
);
/** Parameters: starts of the month, of the week and of today. `accounts` selects the accounts by $4. */
const factsOf = (accounts: string) =>
  `SELECT a.id, a.name, a.email, a.currency, a.balance_minor, u.*, w.failing_webhooks
   FROM (${accounts}) a
   CROSS JOIN LATERAL (
     SELECT coalesce(sum(messages), 0)::bigint AS messages,
       coalesce(sum(cost_minor) FILTER (WHERE day >= $2), 0)::bigint AS cost_minor,
       coalesce(sum(messages) FILTER (WHERE day >= $3 AND status = 'delivered'), 0)::bigint AS delivered_today,
       coalesce(sum(messages) FILTER (WHERE day >= $3 AND status = 'failed'), 0)::bigint AS failed_today,
       coalesce(sum(messages) FILTER (WHERE day < $3 AND status = 'delivered'), 0)::bigint AS delivered_before,
       coalesce(sum(messages) FILTER (WHERE day < $3 AND status = 'failed'), 0)::bigint AS failed_before
     FROM usage_days WHERE account_id = a.id AND day >= $1 AND environment = 'production') u
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS failing_webhooks FROM webhooks
     WHERE account_id = a.id AND deleted_at IS NULL AND environment = 'production'
       AND (failing_since IS NOT NULL OR (NOT is_active AND disabled_reason IS NOT NULL))) w`;
const FACTS = statement(
  'platform-account-facts',
  factsOf('SELECT * FROM accounts ORDER BY last_accepted_at DESC NULLS LAST, id LIMIT $4'),
);
const FACTS_OF = statement(
  'platform-account-facts-of',
  factsOf('SELECT * FROM accounts WHERE id = ANY($4::uuid[])'),
);

const BY_ID = statement(
  'platform-message-by-id',
  `SELECT m.id, m.account_id, a.name FROM messages m JOIN accounts a ON a.id = m.account_id WHERE m.id = $1`,
);
const BY_SID = statement(
  'platform-messages-by-sid',
  `SELECT DISTINCT m.id, m.account_id, a.name FROM provider_sids s JOIN messages m ON m.id = s.message_id
   JOIN accounts a ON a.id = m.account_id WHERE s.sid_key = ANY($1::text[]) ORDER BY m.id DESC LIMIT $2`,
);
/**
 * The index of addresses begins with the account, so each account is one look into it. An id of a message begins with
 * its time, so the greatest ids are the newest messages.
 */
const BY_ADDRESS = statement(
  'platform-messages-by-address',
  `SELECT r.message_id AS id, a.id AS account_id, a.name
   FROM (SELECT id, name FROM accounts ORDER BY last_accepted_at DESC NULLS LAST, id LIMIT $2) a
   CROSS JOIN LATERAL (SELECT DISTINCT message_id FROM recipients
     WHERE hashtextextended(address, uuid_hash_extended(account_id, 0)) = hashtextextended($1, uuid_hash_extended(a.id, 0))
       AND address = $1 AND account_id = a.id ORDER BY message_id DESC LIMIT $3) r
   ORDER BY r.message_id DESC LIMIT $3`,
);

interface FoundRow {
  id: string;
  account_id: string;
  name: string;
}
interface GroupRow {
  span: number;
  currency: string;
  account_id: string | null;
  account_name: string | null;
  account_email: string | null;
  channel: PlatformValues['channel'];
  prefix: string | null;
  provider: string | null;
  environment: PlatformValues['environment'];
}
interface CountRow extends GroupRow {
  status: PlatformValues['status'];
  messages: number;
  recipients: number;
  delivered: number;
  failed: number;
  cost_minor: number;
  refund_minor: number;
}
interface TimeRow extends GroupRow {
  measure: PlatformTime['measure'];
  bucket: number;
  recipients: number;
}
interface FactsRow {
  id: string;
  name: string;
  email: string;
  currency: string;
  balance_minor: number;
  messages: number;
  cost_minor: number;
  delivered_today: number;
  failed_today: number;
  delivered_before: number;
  failed_before: number;
  failing_webhooks: number;
}

/** Reads figures of all accounts from the tables of analytics and usage, and finds their messages. */
export class PgPlatformStore implements PlatformStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async count(asked: PlatformCount, limit: number): Promise<readonly CountedPlatformRow[]> {
    const rows = await this.#sql.queryOnDisk<CountRow>(COUNT, [...valuesOf(asked), limit]);
    return rows.map((row) => ({
      span: row.span,
      values: { ...valuesIn(row), status: row.status },
      messages: row.messages,
      recipients: row.recipients,
      delivered: row.delivered,
      failed: row.failed,
      costMinor: row.cost_minor,
      refundMinor: row.refund_minor,
    }));
  }

  async times(asked: PlatformCount): Promise<readonly PlatformTime[]> {
    const rows = await this.#sql.queryOnDisk<TimeRow>(LATENCIES, valuesOf(asked));
    return rows.map((row) => ({
      span: row.span,
      values: { ...valuesIn(row), status: null },
      measure: row.measure,
      bucket: row.bucket,
      recipients: row.recipients,
    }));
  }

  accountFacts(spans: TroubleSpans, limit: number): Promise<readonly AccountFacts[]> {
    return this.#facts(FACTS, spans, limit);
  }

  accountFactsOf(spans: TroubleSpans, accountIds: readonly string[]): Promise<readonly AccountFacts[]> {
    return this.#facts(FACTS_OF, spans, accountIds);
  }

  async #facts(
    prepared: Statement,
    { monthFrom, weekFrom, today }: TroubleSpans,
    accounts: unknown,
  ): Promise<readonly AccountFacts[]> {
    const rows = await this.#sql.queryOnDisk<FactsRow>(prepared, [monthFrom, weekFrom, today, accounts]);
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      email: row.email,
      currency: row.currency,
      balanceMinor: row.balance_minor,
      messages: row.messages,
      costMinor: row.cost_minor,
      deliveredToday: row.delivered_today,
      failedToday: row.failed_today,
      deliveredBefore: row.delivered_before,
      failedBefore: row.failed_before,
      failingWebhooks: row.failing_webhooks,
    }));
  }

  messageById(id: string): Promise<readonly FoundMessage[]> {
    return this.#find(BY_ID, [id]);
  }

  messagesBySid(sidKeys: readonly string[], limit: number): Promise<readonly FoundMessage[]> {
    return this.#find(BY_SID, [sidKeys, limit]);
  }

  messagesTo(address: string, accounts: number, limit: number): Promise<readonly FoundMessage[]> {
    return this.#find(BY_ADDRESS, [address, accounts, limit]);
  }

  async #find(prepared: Statement, values: readonly unknown[]): Promise<readonly FoundMessage[]> {
    const rows = await this.#sql.queryOnDisk<FoundRow>(prepared, values);
    return rows.map(({ id, account_id: accountId, name: accountName }) => ({ id, accountId, accountName }));
  }
}

function valuesOf({ spans, groupBy, environment }: PlatformCount): unknown[] {
  return [...partColumnsOf(spans), environment ?? null, groupBy.map((group) => COLUMN_OF[group])];
}

function valuesIn(row: GroupRow) {
  return {
    currency: row.currency,
    accountId: row.account_id,
    accountName: row.account_name,
    accountEmail: row.account_email,
    channel: row.channel,
    prefix: row.prefix || null,
    provider: row.provider || null,
    environment: row.environment,
  };
}
