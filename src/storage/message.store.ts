import type { Environment } from '../domain/caller.ts';
import type { Channel, Message, MessageStatus, Recipient } from '../domain/messages/message.ts';
import type {
  MessageFilter,
  MessageStore,
  MovedRecipient,
  Page,
  PageRequest,
  RecipientMove,
  StatusCounts,
  TimelineNote,
} from '../domain/ports/stores.ts';
import { uuidFloor } from '../domain/uuid.ts';
import { LOCK_MESSAGES } from './locks.ts';
import { type Sql, statement } from './sql.ts';

interface MessageRow {
  id: string;
  account_id: string;
  seq: number;
  channel: Channel;
  environment: Environment;
  status: MessageStatus;
  status_reason: string | null;
  sender: string;
  to: string[];
  sid: string | null;
  content: string;
  payload: Record<string, unknown> | null;
  cost_minor: number;
  unit_price_minor: number;
  currency: string;
  invalid_skipped: number;
  duplicates_removed: number;
  api_key_id: string | null;
  user_id: string | null;
  created_at: Date;
  scheduled_for: Date | null;
  expires_at: Date;
}

function mapMessage(row: MessageRow): Message {
  return {
    id: row.id,
    accountId: row.account_id,
    seq: row.seq,
    channel: row.channel,
    environment: row.environment,
    status: row.status,
    statusReason: row.status_reason,
    from: row.sender,
    to: row.to,
    sid: row.sid,
    content: row.content,
    payload: row.payload,
    costMinor: row.cost_minor,
    unitPriceMinor: row.unit_price_minor,
    currency: row.currency,
    invalidSkipped: row.invalid_skipped,
    duplicatesRemoved: row.duplicates_removed,
    apiKeyId: row.api_key_id,
    userId: row.user_id,
    createdAt: row.created_at,
    scheduledFor: row.scheduled_for,
    expiresAt: row.expires_at,
  };
}

interface RecipientRow {
  message_id: string;
  position: number;
  address: string;
  status: MessageStatus;
  cost_minor: number;
  provider: string | null;
  sid: string | null;
  error_code: string | null;
  error_message: string | null;
  sent_at: Date | null;
  delivered_at: Date | null;
  failed_at: Date | null;
  read_at: Date | null;
}

function mapRecipient(row: RecipientRow): Recipient {
  return {
    messageId: row.message_id,
    position: row.position,
    address: row.address,
    status: row.status,
    costMinor: row.cost_minor,
    provider: row.provider,
    sid: row.sid,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    sentAt: row.sent_at,
    deliveredAt: row.delivered_at,
    failedAt: row.failed_at,
    readAt: row.read_at,
  };
}

const MESSAGE_COLUMNS = `m.id, m.account_id, m.seq, m.channel, m.environment, m.status, m.status_reason, m.sender,
  m.content, m.payload, m.cost_minor, m.unit_price_minor, m.currency, m.invalid_skipped, m.duplicates_removed,
  m.api_key_id, m.user_id, m.created_at, m.scheduled_for, m.expires_at`;
const WITH_RECIPIENTS = `CROSS JOIN LATERAL (
    SELECT array_agg(address ORDER BY position) AS "to",
      (array_agg(sid ORDER BY position) FILTER (WHERE sid IS NOT NULL))[1] AS sid
    FROM recipients WHERE message_id = m.id) r`;
const RECIPIENT_COLUMNS = `message_id, position, address, status, cost_minor, provider, sid, error_code,
  error_message, sent_at, delivered_at, failed_at, read_at`;

const FIND = statement(
  'message-find',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS} WHERE m.account_id = $1 AND m.id = $2`,
);
const BY_IDS = statement(
  'message-by-ids',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS} WHERE m.id = ANY($1::uuid[])`,
);
const LAST_SEQ = statement(
  'message-last-seq',
  `SELECT CASE $2 WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
     ELSE whatsapp_seq END AS last FROM accounts WHERE id = $1`,
);
const SEQ_RANGE = statement(
  'message-seq-range',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq > $3 AND m.seq <= $4 ORDER BY m.seq DESC`,
);
const RECIPIENTS = statement(
  'recipients-of',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE message_id = ANY($1::uuid[]) ORDER BY message_id, position`,
);
const PENDING_RECIPIENTS = statement(
  'recipients-pending',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE message_id = ANY($1::uuid[]) AND status = 'pending'
   ORDER BY message_id, position`,
);
const MOVE = statement(
  'recipient-move',
  `UPDATE recipients r SET status = n.target,
     provider = coalesce(n.provider, r.provider), sid = coalesce(n.sid, r.sid),
     error_code = n.error_code, error_message = n.error_message,
     sent_at = CASE WHEN n.target = 'sent' THEN n.at ELSE r.sent_at END,
     delivered_at = CASE WHEN n.target = 'delivered' THEN n.at ELSE r.delivered_at END,
     failed_at = CASE WHEN n.target = 'failed' THEN n.at ELSE r.failed_at END
   FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[],
     $8::text[], $9::text[]) AS n (message_id, position, source, target, at, provider, sid, error_code, error_message)
   WHERE r.message_id = n.message_id AND r.position = n.position AND r.status = n.source
   RETURNING r.message_id, r.position, r.address, r.cost_minor, r.sid`,
);
const STATUS_COUNTS = statement(
  'recipient-status-counts',
  `SELECT message_id, status, count(*) AS count FROM recipients WHERE message_id = ANY($1::uuid[])
   GROUP BY message_id, status`,
);
const SET_STATUS = statement(
  'message-set-status',
  `UPDATE messages m SET status = n.status FROM unnest($1::uuid[], $2::text[]) AS n (id, status)
   WHERE m.id = n.id`,
);
const NOTE = statement(
  'timeline-note',
  `INSERT INTO timeline_notes (id, account_id, message_id, position, at, status, detail)
   SELECT gen_random_uuid(), * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::text[],
     $6::text[])`,
);

/** Messages, their recipients and what happened to them. */
export class PgMessageStore implements MessageStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async find(accountId: string, id: string): Promise<Message | undefined> {
    const [row] = await this.#sql.query<MessageRow>(FIND, [accountId, id]);
    return row && mapMessage(row);
  }

  async history(
    accountId: string,
    channel: Channel,
    filter: MessageFilter,
    request: PageRequest,
  ): Promise<Page<Message>> {
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    return isFiltered
      ? this.#filteredHistory(accountId, channel, filter, request)
      : this.#plainHistory(accountId, channel, request);
  }

  /** The sequence is dense, so page N is a range and the total a stored number, whatever the size. */
  async #plainHistory(accountId: string, channel: Channel, request: PageRequest): Promise<Page<Message>> {
    const [counter] = await this.#sql.query<{ last: number }>(LAST_SEQ, [accountId, channel]);
    const total = counter?.last ?? 0;
    const newest = total - (request.page - 1) * request.limit;
    if (newest <= 0) return { rows: [], total };
    const rows = await this.#sql.query<MessageRow>(SEQ_RANGE, [
      accountId,
      channel,
      newest - request.limit,
      newest,
    ]);
    return { rows: rows.map(mapMessage), total };
  }

  async #filteredHistory(
    accountId: string,
    channel: Channel,
    filter: MessageFilter,
    { page, limit }: PageRequest,
  ): Promise<Page<Message>> {
    const matching = this.#sql
      .table<MessageRow>('messages as m')
      .where('m.account_id', accountId)
      .where('m.channel', channel);
    if (filter.status) matching.where('m.status', filter.status);
    if (filter.environment) matching.where('m.environment', filter.environment);
    if (filter.from) matching.where('m.created_at', '>=', filter.from);
    if (filter.until) matching.where('m.created_at', '<=', filter.until);
    if (filter.to) {
      matching.whereExists(
        this.#sql
          .table('recipients')
          .whereRaw('recipients.message_id = m.id')
          .where('recipients.address', filter.to)
          .select(this.#sql.raw('1')),
      );
    }
    const total = await this.#sql.count(matching);
    const rows: { id: string }[] = await matching
      .clone()
      .select('m.id')
      .orderBy('m.seq', 'desc')
      .limit(limit)
      .offset((page - 1) * limit);
    const messages = await this.#byIds(rows.map((row) => row.id));
    return { rows: rows.flatMap((row) => messages.get(row.id) ?? []), total };
  }

  async #byIds(ids: readonly string[]): Promise<Map<string, Message>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#sql.query<MessageRow>(BY_IDS, [ids]);
    return new Map(rows.map((row) => [row.id, mapMessage(row)]));
  }

  async recipients(messageIds: readonly string[]): Promise<readonly Recipient[]> {
    const rows = await this.#sql.query<RecipientRow>(RECIPIENTS, [messageIds]);
    return rows.map(mapRecipient);
  }

  async timelineNotes(messageId: string) {
    const rows: { at: Date; status: string; detail: string; position: number }[] = await this.#sql
      .table('timeline_notes')
      .where({ message_id: messageId })
      .orderBy('at')
      .select('at', 'status', 'detail', 'position');
    return rows;
  }

  async pending(messageIds: readonly string[]) {
    const rows = await this.#sql.query<RecipientRow>(PENDING_RECIPIENTS, [messageIds]);
    const byMessage = Map.groupBy(rows.map(mapRecipient), (recipient) => recipient.messageId);
    const messages = await this.#byIds([...byMessage.keys()]);
    return [...byMessage].flatMap(([id, recipients]) => {
      const message = messages.get(id);
      return message ? [{ message, recipients }] : [];
    });
  }

  async lock(messageIds: readonly string[]): Promise<ReadonlyMap<string, Message>> {
    await this.#sql.query(LOCK_MESSAGES, [messageIds]);
    return this.#byIds(messageIds);
  }

  async move(moves: readonly RecipientMove[]): Promise<readonly MovedRecipient[]> {
    if (moves.length === 0) return [];
    const rows = await this.#sql.query<RecipientRow>(MOVE, [
      moves.map((move) => move.messageId),
      moves.map((move) => move.position),
      moves.map((move) => move.from),
      moves.map((move) => move.to),
      moves.map((move) => move.at),
      moves.map((move) => move.provider),
      moves.map((move) => move.sid),
      moves.map((move) => move.error?.code ?? null),
      moves.map((move) => move.error?.message ?? null),
    ]);
    return rows.map((row) => ({
      messageId: row.message_id,
      position: row.position,
      address: row.address,
      costMinor: row.cost_minor,
      sid: row.sid,
    }));
  }

  async statusCounts(messageIds: readonly string[]): Promise<ReadonlyMap<string, StatusCounts>> {
    const rows = await this.#sql.query<{ message_id: string; status: MessageStatus; count: number }>(
      STATUS_COUNTS,
      [messageIds],
    );
    const counts = new Map<string, Partial<Record<MessageStatus, number>>>();
    for (const row of rows) {
      const own = counts.get(row.message_id) ?? {};
      own[row.status] = row.count;
      counts.set(row.message_id, own);
    }
    return counts;
  }

  async setStatus(statuses: ReadonlyMap<string, MessageStatus>): Promise<void> {
    if (statuses.size > 0) await this.#sql.query(SET_STATUS, [[...statuses.keys()], [...statuses.values()]]);
  }

  async note(notes: readonly TimelineNote[]): Promise<void> {
    if (notes.length === 0) return;
    await this.#sql.query(NOTE, [
      notes.map((note) => note.accountId),
      notes.map((note) => note.messageId),
      notes.map((note) => note.position),
      notes.map((note) => note.at),
      notes.map((note) => note.status),
      notes.map((note) => note.detail),
    ]);
  }

  async createdBefore(status: MessageStatus, afterId: string, before: Date, limit: number) {
    const rows: { id: string }[] = await this.#sql
      .table('messages')
      // UUIDs of version 7 begin with the time, so the primary key serves the range.
      .where('id', '>', afterId)
      .where('id', '<', uuidFloor(before))
      .where({ status, environment: 'production' })
      .orderBy('id')
      .limit(limit)
      .select('id');
    const messages = await this.#byIds(rows.map((row) => row.id));
    return rows.flatMap((row) => messages.get(row.id) ?? []);
  }

  async setStatusReason(messageIds: readonly string[], reason: string): Promise<void> {
    if (messageIds.length === 0) return;
    await this.#sql.table('messages').whereIn('id', [...messageIds]).update({ status_reason: reason });
  }
}
