import type { Visibility } from '../../domain/caller.ts';
import { isoTime, shiftedTime } from '../../domain/iso-time.ts';
import type { RecipientKey } from '../../domain/ports/message-stores.ts';
import type { ErasableEvent } from '../../domain/ports/sweep-stores.ts';
import type { EventStore, TimeSpan } from '../../domain/ports/webhook-stores.ts';
import type { AppendedEvent, EventSource, NewEvent, RecordedEvent } from '../../domain/webhooks/event.ts';
import type { EventType, Webhook } from '../../domain/webhooks/webhook.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** The columns from which the body of an event is built. */
export interface EventBodyRow {
  type: EventType;
  message_id: string | null;
  recorded_at: Date;
  body: string;
  sender: string | null;
  content: string | null;
  address: string | null;
}

export interface EventRow extends EventBodyRow {
  account_id: string;
  is_sandbox: boolean;
  seq: number;
  position: number | null;
}

/** SQL for the columns of `EventBodyRow`. */
export const BODY_COLUMNS = 'e.type, e.message_id, e.recorded_at, e.body, m.sender, m.content, r.address';
/** SQL for the columns of `EventRow`. */
export const EVENT_COLUMNS = `e.account_id, e.is_sandbox, e.seq, e.position, ${BODY_COLUMNS}`;
/**
 * SQL that joins the message and the recipient of `events e`. These have the parts that the stored body omits. OFFSET 0
 * makes PostgreSQL look them up once for each event.
 */
export const WITH_SOURCE = `LEFT JOIN LATERAL (
    SELECT sender, content FROM messages WHERE id = e.message_id OFFSET 0) m ON true
  LEFT JOIN LATERAL (
    SELECT address FROM recipients WHERE message_id = e.message_id AND position = e.position OFFSET 0) r ON true`;
/** SQL for the environment of `events e`, and so of their deliveries. */
export const EVENT_ENVIRONMENT = `CASE WHEN e.is_sandbox THEN 'sandbox' ELSE 'production' END`;

const ERASE = statement(
  'event-erase',
  `WITH erased AS (
     UPDATE events e SET body = n.body FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS n (account_id, seq, body)
     WHERE e.account_id = n.account_id AND e.seq = n.seq
   )
   UPDATE webhook_deliveries d SET response_body = NULL
   FROM unnest($1::uuid[], $2::bigint[]) AS n (account_id, seq)
   WHERE d.account_id = n.account_id AND d.event_seq = n.seq AND d.response_body IS NOT NULL`,
);

export function mapEvent(row: EventRow): RecordedEvent {
  return {
    accountId: row.account_id,
    environment: row.is_sandbox ? 'sandbox' : 'production',
    seq: row.seq,
    type: row.type,
    messageId: row.message_id,
    position: row.position,
    recordedAt: row.recorded_at,
    body: eventBody(row),
  };
}

/**
 * Returns the parts of an event's body that its message and recipient have. Null for an event that does not concern a
 * single recipient.
 */
export function sourceOf({ address, sender, content }: EventBodyRow): EventSource | null {
  if (address === null || sender === null || content === null) return null;
  return { to: address, from: sender, content };
}

/**
 * Returns the text that is stored for a body. It omits the beginning, because other columns and rows have the same
 * values. This saves 200 of 300 bytes. A body with another beginning is stored whole. Stored events are read with
 * `beginning`, so the result of that function must never change.
 */
export function storedBody(
  event: Pick<NewEvent, 'type' | 'messageId' | 'recordedAt' | 'body' | 'source'>,
): string {
  const expected = beginning(event);
  return event.body.startsWith(expected) ? event.body.slice(expected.length) : event.body;
}

/**
 * Stores these bodies instead of those of the events, and removes what the endpoints answered to them, because an answer
 * may repeat its event.
 */
export async function eraseEvents(sql: Sql, events: readonly ErasableEvent[]): Promise<void> {
  if (events.length === 0) return;
  await sql.execute(ERASE, [
    events.map(({ accountId }) => accountId),
    events.map(({ seq }) => seq),
    events.map(storedBody),
  ]);
}

/** Returns the body exactly as it was recorded. */
export function eventBody(row: EventBodyRow): string {
  // Only a body that was stored whole begins with a brace.
  if (row.body.startsWith('{')) return row.body;
  const source = sourceOf(row);
  if (!source && !row.body.startsWith('"'))
    throw new Error(`the event of message ${row.message_id} has no recipient`);
  return (
    beginning({ type: row.type, messageId: row.message_id, recordedAt: row.recorded_at, source }) + row.body
  );
}

/**
 * Returns the beginning of a body: the envelope, and those members of `data` that come from the message and the
 * recipient.
 */
function beginning(event: Pick<NewEvent, 'type' | 'messageId' | 'recordedAt' | 'source'>): string {
  const { type, messageId, recordedAt, source } = event;
  const channel = type.slice(0, type.indexOf('.'));
  const envelope = `{"event":"${type}","channel":"${channel}","messageId":"${messageId}","timestamp":"${isoTime(recordedAt)}","data":{`;
  if (!source) return envelope;
  const recipient = `${envelope}"to":${JSON.stringify(source.to)},"from":${JSON.stringify(source.from)}`;
  return channel === 'email' ? recipient : `${recipient},"message":${JSON.stringify(source.content)}`;
}

// Takes numbers for new events. The feed's row stays locked until the commit. So numbers become visible in order and
// without gaps.
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
  `INSERT INTO events (account_id, seq, message_id, recorded_at, position, type, body, is_sandbox)
   SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::smallint[], $6::text[],
     $7::text[], $8::boolean[])`,
);
const LAST = statement('events-last', 'SELECT last_seq FROM event_feeds WHERE account_id = $1');
const AFTER = statement(
  'events-after',
  `SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE} WHERE e.account_id = $1 AND e.seq > $2 AND ($4::boolean OR NOT e.is_sandbox)
   ORDER BY e.seq LIMIT $3`,
);
/** Sandbox events are few and have an index of their own. */
const AFTER_IN_SANDBOX = statement(
  'events-after-in-sandbox',
  `SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE} WHERE e.account_id = $1 AND e.seq > $2 AND e.is_sandbox ORDER BY e.seq LIMIT $3`,
);
const OF_MESSAGES = statement(
  'events-of-messages',
  `SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE}
   WHERE e.account_id = $1 AND e.message_id = ANY($2::uuid[]) ORDER BY e.seq`,
);
const OF_RECIPIENTS = statement(
  'events-of-recipients',
  `SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE}
   WHERE e.account_id = $1 AND e.message_id = ANY($2::uuid[])
     AND (e.position IS NULL OR (e.message_id, e.position) IN (SELECT * FROM unnest($3::uuid[], $4::smallint[])))
   ORDER BY e.seq`,
);
const FIND_MANY = statement(
  'events-find-many',
  `SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE} WHERE e.account_id = $1 AND e.seq = ANY($2::bigint[])`,
);
/**
 * SQL that finds a time span in a feed by binary search. Place 1 is where the span begins, place 2 where it ends. Two
 * events may be in the wrong order if their times differ by less than DISORDER_MS. So the caller makes the span longer
 * by DISORDER_MS at both ends. Numbers may be missing, because events are deleted.
 */
const SPAN = `WITH RECURSIVE s (place, at, low, high) AS (
     SELECT n.place, n.at, $2::bigint + 1, f.last_seq + 1
     FROM event_feeds f CROSS JOIN unnest($8::timestamptz[]) WITH ORDINALITY AS n (at, place) WHERE f.account_id = $1
     UNION ALL
     SELECT s.place, s.at, CASE WHEN e.recorded_at < s.at THEN e.seq + 1 ELSE s.low END,
       CASE WHEN e.recorded_at < s.at THEN s.high ELSE (s.low + s.high) / 2 END
     FROM s CROSS JOIN LATERAL (
       SELECT l.seq, l.recorded_at FROM events l
       WHERE l.account_id = $1 AND l.seq >= (s.low + s.high) / 2 ORDER BY l.seq LIMIT 1
     ) e
     WHERE s.low < s.high
   )`;
// An event about a failing webhook is never sent to that webhook (R483). A stored body may omit its beginning, so it is
// searched as text: quotes within values are escaped.
const MISSING = statement(
  'events-missing',
  `${SPAN}
   SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE}
   WHERE e.account_id = $1 AND e.recorded_at >= $3 AND e.recorded_at <= $4
     AND e.seq >= (SELECT max(low) FROM s WHERE place = 1) AND e.seq < (SELECT min(high) FROM s WHERE place = 2)
     AND e.type = ANY($5::text[]) AND e.type <> 'webhook.test'
     AND NOT (e.type = 'webhook.failing' AND strpos(e.body, '"webhookId":"' || $6::uuid || '"') > 0)
     AND NOT EXISTS (SELECT FROM webhook_deliveries d
       WHERE d.account_id = e.account_id AND d.event_seq = e.seq AND d.webhook_id = $6)
   ORDER BY e.seq LIMIT $7 FOR KEY SHARE OF e`,
);
// Deletes old events. Events are nearly in order of time. So the first event of a feed shows whether the feed has old
// events, and the time needs no index. Locked rows are skipped, because another process is deleting them.
const FORGET = statement(
  'events-forget',
  `WITH feed AS MATERIALIZED (
     SELECT f.account_id FROM event_feeds f CROSS JOIN LATERAL (
       SELECT e.recorded_at FROM events e WHERE e.account_id = f.account_id ORDER BY e.seq LIMIT 1) oldest
     WHERE oldest.recorded_at < $1 LIMIT 100
   ), old AS MATERIALIZED (
     SELECT e.account_id, e.seq FROM feed CROSS JOIN LATERAL (
       SELECT e.account_id, e.seq, e.recorded_at FROM events e
       WHERE e.account_id = feed.account_id ORDER BY e.seq LIMIT $2 FOR UPDATE SKIP LOCKED) e
     WHERE e.recorded_at < $1 LIMIT $2
   )
   DELETE FROM events e USING old WHERE e.account_id = old.account_id AND e.seq = old.seq RETURNING 1`,
);

/**
 * Largest difference in ms by which events are not in order of time. The reasons: transactions overtake each other,
 * clocks differ, processes pause.
 */
const DISORDER_MS = 600_000;

/** Stores events. Each account has a feed, which numbers its events without gaps (R33). */
export class PgEventStore implements EventStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async append(events: readonly NewEvent[]): Promise<readonly AppendedEvent[]> {
    if (events.length === 0) return [];
    const byAccount = Map.groupBy(events, (event) => event.accountId);
    const accounts = [...byAccount.keys()];
    if (accounts.length > 1) await this.#sql.execute(LOCK, [accounts]);
    const feeds = await this.#sql.query<{ account_id: string; last_seq: number }>(NUMBER, [
      accounts,
      accounts.map((id) => byAccount.get(id)?.length ?? 0),
    ]);
    const recorded = feeds.flatMap((feed) => {
      const own = byAccount.get(feed.account_id) ?? [];
      return own.map((event, index) => ({ ...event, seq: feed.last_seq - own.length + 1 + index }));
    });
    await this.#sql.execute(APPEND, [
      recorded.map((event) => event.accountId),
      recorded.map((event) => event.seq),
      recorded.map((event) => event.messageId),
      recorded.map((event) => event.recordedAt),
      recorded.map((event) => event.position),
      recorded.map((event) => event.type),
      recorded.map(storedBody),
      recorded.map((event) => event.environment === 'sandbox'),
    ]);
    return recorded;
  }

  async lastNumber(accountId: string): Promise<number> {
    const [feed] = await this.#sql.queryOnDisk<{ last_seq: number }>(LAST, [accountId]);
    return feed?.last_seq ?? 0;
  }

  async after(
    { accountId, environment }: Visibility,
    seq: number,
    limit: number,
  ): Promise<readonly RecordedEvent[]> {
    const from = [accountId, seq, limit];
    const rows = await (environment === 'sandbox'
      ? this.#sql.queryOnDisk<EventRow>(AFTER_IN_SANDBOX, from)
      : this.#sql.queryOnDisk<EventRow>(AFTER, [...from, environment === undefined]));
    return rows.map(mapEvent);
  }

  async ofMessages(accountId: string, messageIds: readonly string[]): Promise<readonly RecordedEvent[]> {
    return (await this.#sql.queryOnDisk<EventRow>(OF_MESSAGES, [accountId, messageIds])).map(mapEvent);
  }

  async ofRecipients(
    accountId: string,
    messageIds: readonly string[],
    keys: readonly RecipientKey[],
  ): Promise<readonly RecordedEvent[]> {
    const columns = [keys.map(({ messageId }) => messageId), keys.map(({ position }) => position)];
    const values = [accountId, messageIds, ...columns];
    return (await this.#sql.queryOnDisk<EventRow>(OF_RECIPIENTS, values)).map(mapEvent);
  }

  async findMany(accountId: string, seqs: readonly number[]): Promise<readonly RecordedEvent[]> {
    return (await this.#sql.queryOnDisk<EventRow>(FIND_MANY, [accountId, seqs])).map(mapEvent);
  }

  async missing(
    webhook: Webhook,
    { since, until }: TimeSpan,
    afterSeq: number,
    limit: number,
  ): Promise<readonly RecordedEvent[]> {
    // A sandbox endpoint gets only tests, and these are not recovered.
    if (webhook.environment === 'sandbox') return [];
    const { accountId, id, events } = webhook;
    const around = [shiftedTime(since, -DISORDER_MS), shiftedTime(until, DISORDER_MS)];
    const values = [accountId, afterSeq, since, until, events, id, limit, around];
    return (await this.#sql.query<EventRow>(MISSING, values)).map(mapEvent);
  }

  async forgetBefore(time: Date, limit: number): Promise<number> {
    return (await this.#sql.query(FORGET, [time, limit])).length;
  }
}
