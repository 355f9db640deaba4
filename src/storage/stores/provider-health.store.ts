import type { ProviderHealthStore, ProviderStatus } from '../../domain/ports/routing.ts';
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
