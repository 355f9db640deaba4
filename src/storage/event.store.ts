import type { EventStore } from '../domain/ports/stores.ts';
import type { NewEvent, RecordedEvent } from '../domain/webhooks/event.ts';
import { type Sql, statement } from './sql.ts';

// The row of each feed stays locked until the commit, so numbers become visible in their order, without gaps.
const NUMBER = statement(
  'events-number',
  `UPDATE event_feeds f SET last_seq = f.last_seq + n.count
   FROM (SELECT id, count FROM unnest($1::uuid[], $2::int[]) AS u (id, count) ORDER BY id) n
   WHERE f.account_id = n.id RETURNING f.account_id, f.last_seq`,
);
const LOCK = statement(
  'events-lock',
  `SELECT account_id FROM event_feeds WHERE account_id = ANY($1::uuid[]) ORDER BY account_id FOR NO KEY UPDATE`,
);
const APPEND = statement(
  'events-append',
  `INSERT INTO events (account_id, seq, message_id, recorded_at, position, type, body)
   SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::smallint[], $6::text[],
     $7::text[])`,
);

/** Events in their accounts' gap-free feeds (decision 33). */
export class PgEventStore implements EventStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async append(events: readonly NewEvent[]): Promise<readonly RecordedEvent[]> {
    if (events.length === 0) return [];
    const byAccount = Map.groupBy(events, (event) => event.accountId);
    const accounts = [...byAccount.keys()];
    if (accounts.length > 1) await this.#sql.query(LOCK, [accounts]);
    const feeds = await this.#sql.query<{ account_id: string; last_seq: number }>(NUMBER, [
      accounts,
      accounts.map((id) => byAccount.get(id)?.length ?? 0),
    ]);
    const recorded = feeds.flatMap((feed) => {
      const own = byAccount.get(feed.account_id) ?? [];
      return own.map((event, index) => ({ ...event, seq: feed.last_seq - own.length + 1 + index }));
    });
    await this.#sql.query(APPEND, [
      recorded.map((event) => event.accountId),
      recorded.map((event) => event.seq),
      recorded.map((event) => event.messageId),
      recorded.map((event) => event.recordedAt),
      recorded.map((event) => event.position),
      recorded.map((event) => event.type),
      recorded.map((event) => event.body),
    ]);
    return recorded;
  }
}
