import type { Span } from '../../domain/ports/analytics-store.ts';
import type { ProviderDay, ProviderHealthStore, ProviderStatus } from '../../domain/ports/routing.ts';
import { type Sql, statement } from '../postgres/sql.ts';

interface StatusRow {
  process: string;
  seen_at: Date;
  status: Omit<ProviderStatus, 'lastErrorAt' | 'lastSuccessAt'> & {
    lastErrorAt: string | null;
    lastSuccessAt: string | null;
  };
}

const PUBLISH = statement(
  'provider-health-publish',
  `WITH said AS (
     SELECT DISTINCT ON (channel, name) * FROM unnest($2::text[], $3::text[], $4::jsonb[]) AS s (channel, name, status)
   ), forgotten AS (
     DELETE FROM provider_health p WHERE p.seen_at < $6
       OR (p.process = $1 AND NOT EXISTS (SELECT FROM said s WHERE s.channel = p.channel AND s.name = p.name))
   )
   INSERT INTO provider_health (process, channel, name, status, seen_at)
   SELECT $1, channel, name, status, $5 FROM said
   ON CONFLICT (process, channel, name) DO UPDATE SET status = excluded.status, seen_at = excluded.seen_at`,
);
const WITHDRAW = statement('provider-health-withdraw', 'DELETE FROM provider_health WHERE process = $1');
const SAID = statement(
  'provider-health-said',
  `SELECT process, seen_at, status FROM provider_health WHERE seen_at >= $1 ORDER BY channel, name, process`,
);

const COUNT_UPTIME = statement(
  'provider-uptime-count',
  `WITH said AS (
     SELECT DISTINCT ON (channel, name) * FROM unnest($1::text[], $2::text[], $3::boolean[]) AS s (channel, name, is_up)
     ORDER BY channel, name
   ), forgotten AS (DELETE FROM provider_days WHERE day < $6)
   INSERT INTO provider_days AS d (day, channel, name, up_seconds, down_seconds)
   SELECT date_trunc('day', $5::timestamptz, 'UTC'), channel, name, CASE WHEN is_up THEN $4::float8 ELSE 0 END,
     CASE WHEN is_up THEN 0 ELSE $4::float8 END FROM said
   ON CONFLICT (day, channel, name) DO UPDATE
     SET up_seconds = d.up_seconds + excluded.up_seconds, down_seconds = d.down_seconds + excluded.down_seconds`,
);
const DAYS = statement(
  'provider-days',
  `SELECT day, channel, name, up_seconds, down_seconds FROM provider_days WHERE day >= $1 AND day < $2
   ORDER BY day, channel, name`,
);

/**
 * Stores the health of carriers and providers as each process sees it. There are few rows, which are replaced every few
 * seconds.
 */
export class PgProviderHealthStore implements ProviderHealthStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async publish(
    process: string,
    statuses: readonly ProviderStatus[],
    at: Date,
    forgetBefore: Date,
  ): Promise<void> {
    await this.#sql.query(PUBLISH, [
      process,
      statuses.map(({ channel }) => channel),
      statuses.map(({ name }) => name),
      statuses.map((status) => JSON.stringify(status)),
      at,
      forgetBefore,
    ]);
  }

  async countUptime(
    statuses: readonly ProviderStatus[],
    seconds: number,
    at: Date,
    forgetBefore: Date,
  ): Promise<void> {
    await this.#sql.query(COUNT_UPTIME, [
      statuses.map(({ channel }) => channel),
      statuses.map(({ name }) => name),
      // A degraded provider is reachable: its last submission failed, and the next one may not.
      statuses.map(({ state }) => state === 'up' || state === 'degraded'),
      seconds,
      at,
      forgetBefore,
    ]);
  }

  async days({ from, to }: Span): Promise<readonly ProviderDay[]> {
    const rows = await this.#sql.query<{
      day: Date;
      channel: ProviderDay['channel'];
      name: string;
      up_seconds: number;
      down_seconds: number;
    }>(DAYS, [from, to]);
    return rows.map(({ day, channel, name, up_seconds: upSeconds, down_seconds: downSeconds }) => ({
      day,
      channel,
      name,
      upSeconds,
      downSeconds,
    }));
  }

  async withdraw(process: string): Promise<void> {
    await this.#sql.query(WITHDRAW, [process]);
  }

  async publishedSince(time: Date) {
    const rows = await this.#sql.query<StatusRow>(SAID, [time]);
    return rows.map(({ process, seen_at: seenAt, status }) => ({
      ...status,
      lastErrorAt: dateOf(status.lastErrorAt),
      lastSuccessAt: dateOf(status.lastSuccessAt),
      process,
      seenAt,
    }));
  }
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
