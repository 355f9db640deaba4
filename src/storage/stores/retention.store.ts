import type { Channel } from '../../domain/messages/message.ts';
import type {
  AgedMessage,
  ErasableEvent,
  RetentionLane,
  RetentionProgress,
  RetentionStore,
  SweepMark,
} from '../../domain/ports/sweep-stores.ts';
import { ERASED } from '../../domain/recipients/erase-content.ts';
import { uuidFloor } from '../../domain/uuid.ts';
import { BLOCK, STATUS_OF_MESSAGE } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { EVENT_COLUMNS, type EventRow, eraseEvents, mapEvent, sourceOf, WITH_SOURCE } from './event.store.ts';
import { hashOfNumber } from './inbound.store.ts';

const DUE = statement(
  'retention-due',
  `SELECT a.id AS account_id, c.channel FROM accounts a
   CROSS JOIN (VALUES ('sms'), ('email'), ('push'), ('whatsapp')) AS c (channel)
   LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = c.channel
   WHERE a.moving IS DISTINCT FROM 'moved' AND coalesce(a.content_days, a.message_days) IS NOT NULL AND (
     EXISTS (SELECT FROM messages m WHERE m.account_id = a.id AND m.channel = c.channel
       AND m.seq = coalesce(r.erased_seq, 0) + 1
       AND m.created_at < $1::timestamptz - make_interval(hours => 24 * coalesce(a.content_days, a.message_days)))
     OR EXISTS (SELECT FROM messages m WHERE m.account_id = a.id AND m.channel = c.channel
       AND m.seq = coalesce(r.removed_seq, 0) + 1 AND ${STATUS_OF_MESSAGE} <> 'pending'
       AND m.created_at < $1::timestamptz - make_interval(hours => 24 * a.message_days)
       AND NOT EXISTS (SELECT FROM retention_waiting w WHERE w.message_id = m.id)))`,
);
const CREATE = statement(
  'retention-create',
  `INSERT INTO message_retention (account_id, channel) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
);
const CLAIM = statement(
  'retention-claim',
  `SELECT r.erased_seq, r.removed_seq, a.content_days, a.message_days
   FROM message_retention r JOIN accounts a ON a.id = r.account_id
   WHERE r.account_id = $1 AND r.channel = $2 FOR UPDATE OF r SKIP LOCKED`,
);
const ADVANCE = statement(
  'retention-advance',
  `WITH blocks AS (
     DELETE FROM message_blocks WHERE account_id = $1 AND channel = $2 AND api_key_id = '' AND size = ${BLOCK}
       AND block < $4::bigint / ${BLOCK}
   )
   UPDATE message_retention SET erased_seq = greatest(erased_seq, $3), removed_seq = greatest(removed_seq, $4)
   WHERE account_id = $1 AND channel = $2`,
);
const AGED = statement(
  'retention-aged',
  `SELECT m.id, m.seq, ${STATUS_OF_MESSAGE} AS status, m.payload FROM messages m
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq > $3 AND m.seq <= $3 + $4::bigint AND m.created_at < $5
     AND m.seq <= (SELECT CASE $2::text WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
       ELSE whatsapp_seq END FROM analytics_marks WHERE account_id = $1)
   ORDER BY m.seq FOR UPDATE SKIP LOCKED`,
);
const WAITING = statement(
  'retention-waiting',
  `SELECT m.id, m.seq, ${STATUS_OF_MESSAGE} AS status, m.payload FROM retention_waiting w
   JOIN messages m ON m.id = w.message_id JOIN accounts a ON a.id = m.account_id
   WHERE w.message_id > $2
     AND m.created_at < $1::timestamptz - make_interval(hours => 24 * coalesce(a.content_days, a.message_days))
   ORDER BY w.message_id LIMIT $3 FOR UPDATE OF m SKIP LOCKED`,
);
const DELIVERIES = statement(
  'retention-deliveries',
  `SELECT d.id, e.message_id, d.status IN ('pending', 'retrying') AS is_open FROM events e
   JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_seq = e.seq
   WHERE e.message_id = ANY($1::uuid[])`,
);
const LOCK_DELIVERIES = statement(
  'retention-lock-deliveries',
  `SELECT id FROM webhook_deliveries WHERE id = ANY($1::uuid[]) AND status NOT IN ('pending', 'retrying')
   FOR UPDATE SKIP LOCKED`,
);
const EVENTS = statement(
  'retention-events',
  `SELECT ${EVENT_COLUMNS} FROM events e ${WITH_SOURCE} WHERE e.message_id = ANY($1::uuid[])`,
);
const ERASE_MESSAGES = statement(
  'retention-erase-messages',
  `WITH recipient AS (
     UPDATE recipients SET error_message = NULL WHERE message_id = ANY($1::uuid[]) AND error_message IS NOT NULL
   ), note AS (
     UPDATE timeline_notes SET detail = '' WHERE message_id = ANY($1::uuid[])
   )
   UPDATE messages m SET content = '', payload = n.payload, bulk = NULL
   FROM unnest($1::uuid[], $2::jsonb[]) AS n (id, payload) WHERE m.id = n.id`,
);
const REMOVE_EVENTS = statement(
  'retention-remove-events',
  `DELETE FROM events WHERE message_id = ANY($1::uuid[])`,
);
// Writes rows in the order of their keys, so that two transactions with the same numbers do not deadlock.
const NOTE_SMS_WRITERS = statement(
  'retention-note-sms-writers',
  `INSERT INTO sms_writers AS w (account_id, wrote_at, number_hash, sender)
   SELECT DISTINCT ON (number_hash, sender) account_id, wrote_at, number_hash, sender FROM (
     SELECT m.account_id, r.sent_at AS wrote_at, ${hashOfNumber('r.address')} AS number_hash, m.sender
     FROM messages m JOIN recipients r ON r.message_id = m.id
     WHERE m.id = ANY($1::uuid[]) AND m.channel = 'sms' AND m.environment = 'production' AND r.sent_at IS NOT NULL
       AND r.address <> '${ERASED}' AND (m.api_key_id IS NOT NULL OR m.user_id IS NOT NULL)
   ) n ORDER BY number_hash, sender, wrote_at DESC
   ON CONFLICT (number_hash, sender) DO UPDATE SET account_id = excluded.account_id, wrote_at = excluded.wrote_at
   WHERE w.wrote_at <= excluded.wrote_at`,
);
// Deleting a message deletes its row of whatsapp_writers, too.
const NOTE_WHATSAPP_WRITERS = statement(
  'retention-note-whatsapp-writers',
  `INSERT INTO past_whatsapp_writers AS w (account_id, wrote_at, number_hash)
   SELECT account_id, wrote_at, ${hashOfNumber('number')} FROM whatsapp_writers
   WHERE message_id = ANY($1::uuid[]) ORDER BY 3
   ON CONFLICT (number_hash) DO UPDATE SET account_id = excluded.account_id, wrote_at = excluded.wrote_at
   WHERE w.wrote_at <= excluded.wrote_at`,
);
// Rows of an account that moves to another cell refuse changes, and would stop those of all other accounts (R503).
const forgetWriters = (name: string, table: string) =>
  statement(
    name,
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} w WHERE wrote_at < $1
         AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = w.account_id AND a.moving IS NOT NULL)
       ORDER BY wrote_at LIMIT $2 FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
  );
const FORGET_SMS_WRITERS = forgetWriters('sms-writers-forget', 'sms_writers');
const FORGET_WHATSAPP_WRITERS = forgetWriters('whatsapp-writers-forget', 'past_whatsapp_writers');
const REMOVE_MESSAGES = statement(
  'retention-remove-messages',
  `DELETE FROM messages WHERE id = ANY($1::uuid[])`,
);
const WAIT = statement(
  'retention-wait',
  `INSERT INTO retention_waiting (message_id) SELECT * FROM unnest($1::uuid[]) ON CONFLICT DO NOTHING`,
);
const ARE_WAITING = statement(
  'retention-are-waiting',
  `SELECT message_id FROM retention_waiting WHERE message_id = ANY($1::uuid[])`,
);
const STOP_WAITING = statement(
  'retention-stop-waiting',
  `DELETE FROM retention_waiting WHERE message_id = ANY($1::uuid[])`,
);
// A page counts rows of sids. The sids of a message must be deleted together, so a page never ends inside a message.
const FORGET_SIDS = statement(
  'sids-forget',
  `WITH page AS MATERIALIZED (
     SELECT message_id FROM provider_sids WHERE message_id > $1 AND message_id < $2 ORDER BY message_id LIMIT $3
   ), gone AS (
     DELETE FROM provider_sids s USING (SELECT DISTINCT message_id FROM page) p JOIN messages m ON m.id = p.message_id
     WHERE s.message_id = p.message_id AND m.scheduled_for IS NULL
   )
   SELECT message_id AS id FROM page ORDER BY message_id DESC LIMIT 1`,
);
const FORGET_SCHEDULED_SIDS = statement(
  'sids-forget-scheduled',
  `WITH page AS MATERIALIZED (
     SELECT scheduled_for, id FROM messages
     WHERE scheduled_for IS NOT NULL AND scheduled_for < $2 AND (scheduled_for, id) > ($4, $1)
     ORDER BY scheduled_for, id LIMIT $3
   ), gone AS (
     DELETE FROM provider_sids s USING page p WHERE s.message_id = p.id
   )
   SELECT id, scheduled_for AS at FROM page ORDER BY scheduled_for DESC, id DESC LIMIT 1`,
);
const FORGET_REPORTS = statement(
  'reports-forget',
  `DELETE FROM unmatched_reports WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM unmatched_reports WHERE received_at < $1 ORDER BY received_at LIMIT $2 FOR UPDATE SKIP LOCKED))
   RETURNING 1`,
);
const dueInbound = (days: string, condition: string) =>
  `SELECT i.id FROM accounts a CROSS JOIN LATERAL (
     SELECT id FROM inbound_messages
     WHERE account_id = a.id AND sent_at < $1::timestamptz - make_interval(hours => 24 * ${days}) ${condition}
     ORDER BY sent_at LIMIT $2
   ) i WHERE ${days} IS NOT NULL LIMIT $2`;
const ERASE_INBOUND = statement(
  'retention-erase-inbound',
  `UPDATE inbound_messages SET content = NULL WHERE id = ANY (ARRAY(
     ${dueInbound('coalesce(a.content_days, a.message_days)', 'AND content IS NOT NULL')})) AND content IS NOT NULL
   RETURNING 1`,
);
const REMOVE_INBOUND = statement(
  'retention-remove-inbound',
  `DELETE FROM inbound_messages WHERE id = ANY (ARRAY(
     (${dueInbound('a.message_days', '')}) UNION ALL
     (SELECT id FROM inbound_messages WHERE account_id IS NULL AND sent_at < $3 ORDER BY sent_at LIMIT $2)))
   RETURNING 1`,
);

interface AgedRow {
  id: string;
  seq: number;
  status: string;
  payload: Record<string, unknown> | null;
}

function mapAged(row: AgedRow): AgedMessage {
  return { id: row.id, seq: row.seq, isPending: row.status === 'pending', payload: row.payload };
}

/** Reads, erases and deletes the rows whose retention period has ended. */
export class PgRetentionStore implements RetentionStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async due(now: Date): Promise<readonly RetentionLane[]> {
    const rows = await this.#sql.query<{ account_id: string; channel: Channel }>(DUE, [now]);
    return rows.map((row) => ({ accountId: row.account_id, channel: row.channel }));
  }

  async claim({ accountId, channel }: RetentionLane): Promise<RetentionProgress | undefined> {
    await this.#sql.query(CREATE, [accountId, channel]);
    const [row] = await this.#sql.query<{
      erased_seq: number;
      removed_seq: number;
      content_days: number | null;
      message_days: number | null;
    }>(CLAIM, [accountId, channel]);
    return (
      row && {
        accountId,
        channel,
        contentDays: row.content_days,
        messageDays: row.message_days,
        erasedSeq: row.erased_seq,
        removedSeq: row.removed_seq,
      }
    );
  }

  async advance(
    lane: RetentionLane,
    { erasedSeq = 0, removedSeq = 0 }: { erasedSeq?: number; removedSeq?: number },
  ) {
    await this.#sql.query(ADVANCE, [lane.accountId, lane.channel, erasedSeq, removedSeq]);
  }

  async aged(
    lane: RetentionLane,
    afterSeq: number,
    before: Date,
    limit: number,
  ): Promise<readonly AgedMessage[]> {
    const values = [lane.accountId, lane.channel, afterSeq, limit, before];
    const rows = await this.#sql.query<AgedRow>(AGED, values);
    // Numbers have no gaps. So a missing number is a row that another transaction has locked. Stop before it.
    const end = rows.findIndex((row, index) => row.seq !== afterSeq + 1 + index);
    return (end === -1 ? rows : rows.slice(0, end)).map(mapAged);
  }

  async waiting(now: Date, afterId: string, limit: number): Promise<readonly AgedMessage[]> {
    return (await this.#sql.query<AgedRow>(WAITING, [now, afterId, limit])).map(mapAged);
  }

  async delivering(messageIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (messageIds.length === 0) return new Set();
    const deliveries = await this.#sql.query<{ id: string; message_id: string; is_open: boolean }>(
      DELIVERIES,
      [messageIds],
    );
    const closed = deliveries.filter((delivery) => !delivery.is_open).map(({ id }) => id);
    const rows = closed.length === 0 ? [] : await this.#sql.query<{ id: string }>(LOCK_DELIVERIES, [closed]);
    const locked = new Set(rows.map(({ id }) => id));
    return new Set(deliveries.filter(({ id }) => !locked.has(id)).map((delivery) => delivery.message_id));
  }

  async events(messageIds: readonly string[]): Promise<readonly ErasableEvent[]> {
    const rows = await this.#sql.query<EventRow>(EVENTS, [messageIds]);
    return rows.map((row) => ({ ...mapEvent(row), source: sourceOf(row) }));
  }

  async erase(
    payloads: ReadonlyMap<string, Readonly<Record<string, unknown>> | null>,
    events: readonly ErasableEvent[],
  ): Promise<void> {
    await this.#sql.query(ERASE_MESSAGES, [
      [...payloads.keys()],
      [...payloads.values()].map((payload) => payload && JSON.stringify(payload)),
    ]);
    // The content of the message is erased too, so the stored body is built without it.
    await eraseEvents(
      this.#sql,
      events.map(({ source, ...event }) => ({ ...event, source: source && { ...source, content: '' } })),
    );
  }

  async remove(messageIds: readonly string[]): Promise<void> {
    await this.#sql.query(NOTE_SMS_WRITERS, [messageIds]);
    await this.#sql.query(NOTE_WHATSAPP_WRITERS, [messageIds]);
    await this.#sql.query(REMOVE_EVENTS, [messageIds]);
    await this.#sql.query(REMOVE_MESSAGES, [messageIds]);
  }

  async wait(messageIds: readonly string[]): Promise<void> {
    if (messageIds.length > 0) await this.#sql.query(WAIT, [messageIds]);
  }

  async areWaiting(messageIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#sql.query<{ message_id: string }>(ARE_WAITING, [messageIds]);
    return new Set(rows.map((row) => row.message_id));
  }

  async stopWaiting(messageIds: readonly string[]): Promise<void> {
    if (messageIds.length > 0) await this.#sql.query(STOP_WAITING, [messageIds]);
  }

  async forgetSids(
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<SweepMark | undefined> {
    if (isScheduled) {
      const [last] = await this.#sql.query<SweepMark>(FORGET_SCHEDULED_SIDS, [
        mark.id,
        before,
        limit,
        mark.at,
      ]);
      return last && { at: last.at, id: last.id };
    }
    const [last] = await this.#sql.query<{ id: string }>(FORGET_SIDS, [mark.id, uuidFloor(before), limit]);
    return last && { at: mark.at, id: last.id };
  }

  async eraseInbound(now: Date, limit: number): Promise<number> {
    return (await this.#sql.query(ERASE_INBOUND, [now, limit])).length;
  }

  async removeInbound(now: Date, ownerlessBefore: Date, limit: number): Promise<number> {
    return (await this.#sql.query(REMOVE_INBOUND, [now, limit, ownerlessBefore])).length;
  }

  async forgetSmsWriters(before: Date, limit: number): Promise<number> {
    return (await this.#sql.query(FORGET_SMS_WRITERS, [before, limit])).length;
  }

  async forgetWhatsAppWriters(before: Date, limit: number): Promise<number> {
    return (await this.#sql.query(FORGET_WHATSAPP_WRITERS, [before, limit])).length;
  }

  async forgetReports(before: Date, limit: number): Promise<number> {
    return (await this.#sql.query(FORGET_REPORTS, [before, limit])).length;
  }
}
