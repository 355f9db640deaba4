import type { Visibility } from '../../domain/caller.ts';
import type { Channel, Message, MessageStatus, Recipient } from '../../domain/messages/message.ts';
import type { Page, PageRequest } from '../../domain/paging.ts';
import type {
  LockedMessage,
  MessageFilter,
  MessageStore,
  MovedRecipient,
  PostponedRecipient,
  RecipientKey,
  RecipientMove,
  StatusMove,
  TimelineNote,
} from '../../domain/ports/message-stores.ts';
import type { SweepMark } from '../../domain/ports/sweep-stores.ts';
import { uuidFloor } from '../../domain/uuid.ts';
import { messageHistory } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { countMoves } from './count-moves.ts';
import { LOCK_MESSAGES } from './locks.ts';
import {
  countsOf,
  MESSAGE_COLUMNS,
  MESSAGES_BY_IDS,
  type MessageRow,
  mapMessage,
  mapMoved,
  mapRecipient,
  RECIPIENT_COLUMNS,
  type RecipientRow,
  STATUS_OF_MESSAGE,
  WITH_RECIPIENTS,
} from './message-rows.ts';

const FIND = statement(
  'message-find',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS} WHERE m.account_id = $1 AND m.id = $2
     AND ($3::text IS NULL OR m.environment = $3)`,
);
const BY_IDS = statement('message-by-ids', MESSAGES_BY_IDS);
const RECIPIENTS = statement(
  'recipients-of',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE message_id = ANY($1::uuid[]) ORDER BY message_id, position`,
);
const BULK = statement('message-bulk', 'SELECT bulk FROM messages WHERE id = $1');
const PENDING_RECIPIENTS = statement(
  'recipients-pending',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE message_id = ANY($1::uuid[]) AND status = 'pending'
   AND coalesce(attempts, 0) <= $2 ORDER BY message_id, position`,
);
const JOINED = 'r.message_id = ANY($1::uuid[]) AND r.message_id = n.message_id AND r.position = n.position';
const MANY = 'generate_subscripts($1::uuid[], 1)';
const MOVE = statement(
  'recipient-move',
  `UPDATE recipients r SET status = n.target,
     provider = coalesce(n.provider, r.provider), sid = coalesce(n.sid, r.sid),
     error_code = n.error_code, error_message = n.error_message,
     sent_at = CASE WHEN n.target = 'sent' THEN n.at ELSE r.sent_at END,
     delivered_at = CASE WHEN n.target = 'delivered' THEN n.at ELSE r.delivered_at END,
     failed_at = CASE WHEN n.target = 'failed' THEN n.at ELSE r.failed_at END
   FROM ROWS FROM (${MANY}, unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::timestamptz[], $6::text[],
     $7::text[], $8::text[], $9::text[]))
     AS n (index, message_id, position, source, target, at, provider, sid, error_code, error_message)
   WHERE ${JOINED} AND r.status = n.source
   RETURNING r.message_id, r.position, r.address, r.cost_minor, r.sid`,
);
const KEYS = `ROWS FROM (${MANY}, unnest($1::uuid[], $2::smallint[])) AS n (index, message_id, position)`;
const CLAIM = statement(
  'recipient-claim',
  `UPDATE recipients r SET claimed = true FROM ${KEYS}
   WHERE ${JOINED} AND r.status = 'pending' AND NOT r.claimed RETURNING r.message_id, r.position`,
);
const POSTPONE = statement(
  'recipient-postpone',
  `UPDATE recipients r SET attempts = n.attempts, claimed = r.claimed AND NOT n.free
   FROM ROWS FROM (${MANY}, unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::boolean[]))
     AS n (index, message_id, position, attempts, free)
   WHERE ${JOINED} AND r.status = 'pending' AND coalesce(r.attempts, 0) < n.attempts
   RETURNING r.message_id, r.position`,
);
const MARK_READ = statement(
  'recipient-mark-read',
  `UPDATE recipients r SET read_at = $3 FROM ${KEYS}
   WHERE ${JOINED} AND r.status = 'delivered' AND r.read_at IS NULL
   RETURNING r.message_id, r.position, r.address, r.cost_minor, r.sid`,
);
const NOTE = statement(
  'timeline-note',
  `INSERT INTO timeline_notes (id, account_id, message_id, position, at, status, detail)
   SELECT gen_random_uuid(), n.* FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::text[],
     $6::text[]) AS n (account_id, message_id, position, at, status, detail)
   WHERE $7::int IS NULL OR NOT EXISTS (
     SELECT FROM timeline_notes t WHERE t.message_id = n.message_id AND t.position = n.position
       AND t.status = n.status AND t.detail = n.detail OFFSET $7::int - 1)`,
);

interface KeyRow {
  message_id: string;
  position: number;
}

const NOTES_OF = statement(
  'timeline-notes-of',
  'SELECT at, status, detail, position FROM timeline_notes WHERE message_id = $1 ORDER BY at',
);

const keyOf = (row: KeyRow): RecipientKey => ({ messageId: row.message_id, position: row.position });

/** Messages, their recipients and timelines. */
export class PgMessageStore implements MessageStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find({ accountId, environment }: Visibility, id: string): Promise<Message | undefined> {
    const [row] = await this.#sql.queryOnDisk<MessageRow>(FIND, [accountId, id, environment ?? null]);
    return row && mapMessage(row);
  }

  async history(
    { accountId, environment }: Visibility,
    channel: Channel,
    filter: MessageFilter,
    request: PageRequest,
  ): Promise<Page<Message>> {
    return messageHistory(this.#sql, accountId, channel, { ...filter, environment }, request);
  }

  async #byIds(ids: readonly string[]): Promise<Map<string, Message>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#sql.query<MessageRow>(BY_IDS, [ids]);
    return new Map(rows.map((row) => [row.id, mapMessage(row)]));
  }

  async recipients(messageIds: readonly string[]): Promise<readonly Recipient[]> {
    const rows = await this.#sql.queryOnDisk<RecipientRow>(RECIPIENTS, [messageIds]);
    return rows.map(mapRecipient);
  }

  async bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const [row] = await this.#sql.query<{ bulk: Record<string, unknown> | null }>(BULK, [messageId]);
    return row?.bulk ?? undefined;
  }

  async timelineNotes(messageId: string) {
    return this.#sql.queryOnDisk<{ at: Date; status: string; detail: string; position: number }>(NOTES_OF, [
      messageId,
    ]);
  }

  async pending(messageIds: readonly string[], attempts: number) {
    const rows = await this.#sql.query<RecipientRow>(PENDING_RECIPIENTS, [messageIds, attempts]);
    const byMessage = Map.groupBy(rows.map(mapRecipient), (recipient) => recipient.messageId);
    const messages = await this.#byIds([...byMessage.keys()]);
    return [...byMessage].flatMap(([id, recipients]) => {
      const message = messages.get(id);
      return message ? [{ message, recipients }] : [];
    });
  }

  async lock(messageIds: readonly string[]): Promise<ReadonlyMap<string, LockedMessage>> {
    // Both are sent when this returns, so that later statements run after them.
    const locked = this.#sql.execute(LOCK_MESSAGES, [messageIds]);
    // A statement of its own: it must see what was committed while the lock waited.
    const [rows] = await Promise.all([this.#sql.query<MessageRow>(BY_IDS, [messageIds]), locked]);
    return new Map(rows.map((row) => [row.id, { ...mapMessage(row), counts: countsOf(row) }]));
  }

  async lockAndMove(messageIds: readonly string[], moves: readonly RecipientMove[]) {
    const [messages, moved] = await Promise.all([this.lock(messageIds), this.#move(moves)]);
    return { messages, moved };
  }

  async #move(moves: readonly RecipientMove[]): Promise<readonly MovedRecipient[]> {
    if (moves.length === 0) return [];
    const rows = await this.#sql.query<RecipientRow>(MOVE, [
      moves.map((move) => move.messageId),
      moves.map((move) => move.position),
      moves.map((move) => move.from),
      moves.map((move) => move.to),
      moves.map((move) => move.at),
      moves.map((move) => move.provider),
      moves.map((move) => move.sids[0] ?? null),
      moves.map((move) => move.error?.code ?? null),
      moves.map((move) => move.error?.message ?? null),
    ]);
    return rows.map(mapMoved);
  }

  async markRead(recipients: readonly RecipientKey[], at: Date): Promise<readonly MovedRecipient[]> {
    const rows = await this.#sql.query<RecipientRow>(MARK_READ, [
      recipients.map((recipient) => recipient.messageId),
      recipients.map((recipient) => recipient.position),
      at,
    ]);
    return rows.map(mapMoved);
  }

  async claim(recipients: readonly RecipientKey[]): Promise<readonly RecipientKey[]> {
    const messageIds = recipients.map((recipient) => recipient.messageId);
    await this.#sql.execute(LOCK_MESSAGES, [messageIds]);
    // A statement of its own: it must see what was committed while the lock waited.
    const rows = await this.#sql.query<KeyRow>(CLAIM, [
      messageIds,
      recipients.map((recipient) => recipient.position),
    ]);
    return rows.map(keyOf);
  }

  async postpone(recipients: readonly PostponedRecipient[]): Promise<readonly RecipientKey[]> {
    if (recipients.length === 0) return [];
    const rows = await this.#sql.query<KeyRow>(POSTPONE, [
      recipients.map((recipient) => recipient.messageId),
      recipients.map((recipient) => recipient.position),
      recipients.map((recipient) => recipient.attempts),
      recipients.map((recipient) => recipient.isFree),
    ]);
    return rows.map(keyOf);
  }

  async countMoves(moves: readonly StatusMove[]): Promise<void> {
    await countMoves(this.#sql, moves);
  }

  async note(notes: readonly TimelineNote[], mostAlike?: number): Promise<void> {
    if (notes.length === 0) return;
    await this.#sql.execute(NOTE, [
      notes.map((note) => note.accountId),
      notes.map((note) => note.messageId),
      notes.map((note) => note.position),
      notes.map((note) => note.at),
      notes.map((note) => note.status),
      notes.map((note) => note.detail),
      mostAlike ?? null,
    ]);
  }

  async agedBefore(
    status: MessageStatus,
    isScheduled: boolean,
    mark: SweepMark,
    before: Date,
    limit: number,
  ): Promise<readonly Message[]> {
    const aged = this.#sql
      .table('messages as m')
      .where('environment', 'production')
      .whereRaw(`${STATUS_OF_MESSAGE} = ?`, [status])
      .limit(limit);
    if (isScheduled) {
      aged
        .where('scheduled_for', '<', before)
        .whereRaw('(scheduled_for, id) > (?, ?)', [mark.at, mark.id])
        .orderBy(['scheduled_for', 'id']);
    } else {
      // UUIDs of version 7 begin with the time, so the primary key serves the range.
      aged
        .where('id', '>', mark.id)
        .where('id', '<', uuidFloor(before))
        .whereNull('scheduled_for')
        .orderBy('id');
    }
    const rows: { id: string }[] = await aged.select('id');
    const messages = await this.#byIds(rows.map((row) => row.id));
    return rows.flatMap((row) => messages.get(row.id) ?? []);
  }

  async setStatusReason(messageIds: readonly string[], reason: string): Promise<void> {
    if (messageIds.length === 0) return;
    await this.#sql
      .table('messages')
      .whereIn('id', [...messageIds])
      .update({ status_reason: reason });
  }

  async clearStatusReason(messageIds: readonly string[], reason: string): Promise<void> {
    if (messageIds.length === 0) return;
    await this.#sql
      .table('messages')
      .whereIn('id', [...messageIds])
      .where({ status_reason: reason })
      .update({ status_reason: null });
  }
}
