import type { Environment, Visibility } from '../../domain/caller.ts';
import {
  CHANNELS,
  type Channel,
  type Message,
  type MessageStatus,
  type Purpose,
  type Recipient,
  recipientCounts,
  type StatusReason,
} from '../../domain/messages/message.ts';
import type { Page, PageRequest } from '../../domain/paging.ts';
import type {
  ChannelCounter,
  MessageKey,
  MessageListFilter,
  MessageListStore,
  SearchSpan,
} from '../../domain/ports/list-stores.ts';
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
import {
  BITMAP_OF_SEQ,
  BLOCK_OF_SEQ,
  countMatching,
  findBefore,
  findCostliest,
  findFrom,
  findPage,
  isNarrow,
  type KeyRow as ListKeyRow,
  messagePages,
  type Part,
  type SeqFilter,
  type SeqRange,
  STATUS_OF_MESSAGE,
  STATUS_OF_RECIPIENTS,
  searchStop,
  seqRange,
} from '../message-index/index.ts';
import { containing } from '../postgres/like.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';
import { isHere } from './is-here.ts';

interface MessageRow {
  id: string;
  account_id: string;
  seq: number;
  channel: Channel;
  environment: Environment;
  status: MessageStatus;
  status_reason: StatusReason | null;
  sender: string;
  to: string[];
  sid: string | null;
  reached: number;
  delivered: number;
  failed: number;
  unregistered: number;
  read_at: Date | null;
  content: string;
  payload: Record<string, unknown> | null;
  cost_minor: number;
  unit_price_minor: number;
  currency: string;
  invalid_skipped: number;
  duplicates_removed: number;
  purpose: Purpose;
  suppressed_skipped: number;
  api_key_id: string | null;
  user_id: string | null;
  created_at: Date;
  scheduled_for: Date | null;
  held_until: Date | null;
  expires_at: Date;
}

/** Returns the message in a row of `MESSAGE_COLUMNS` with `WITH_RECIPIENTS`. */
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
    tally: {
      reached: row.reached,
      delivered: row.delivered,
      failed: row.failed,
      unregistered: row.unregistered,
      readAt: row.read_at,
    },
    content: row.content,
    payload: row.payload,
    costMinor: row.cost_minor,
    unitPriceMinor: row.unit_price_minor,
    currency: row.currency,
    invalidSkipped: row.invalid_skipped,
    duplicatesRemoved: row.duplicates_removed,
    purpose: row.purpose,
    suppressedSkipped: row.suppressed_skipped,
    apiKeyId: row.api_key_id,
    userId: row.user_id,
    createdAt: row.created_at,
    scheduledFor: row.scheduled_for,
    heldUntil: row.held_until,
    expiresAt: row.expires_at,
  };
}

export interface RecipientRow {
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
  claimed: boolean;
  refund_due_at: Date | null;
  held_until: Date | null;
  attempts: number | null;
}

/** Returns the recipient in a row of `RECIPIENT_COLUMNS`. */
export function mapRecipient(row: RecipientRow): Recipient {
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
    isClaimed: row.claimed,
    refundDueAt: row.refund_due_at,
    heldUntil: row.held_until,
    attempts: row.attempts ?? 0,
  };
}

/** Returns the recipient in a row that a change of status returned. */
function mapMoved(
  row: Pick<
    RecipientRow,
    'message_id' | 'position' | 'address' | 'cost_minor' | 'sid' | 'provider' | 'sent_at' | 'held_until'
  >,
): MovedRecipient {
  return {
    messageId: row.message_id,
    position: row.position,
    address: row.address,
    costMinor: row.cost_minor,
    sid: row.sid,
    provider: row.provider,
    sentAt: row.sent_at,
    heldUntil: row.held_until,
  };
}

/** SQL for the columns of `messages m`. */
const MESSAGE_COLUMNS = `m.id, m.account_id, m.seq, m.channel, m.environment, m.status_reason, m.sender, m.content, m.payload, m.cost_minor, m.unit_price_minor, m.currency, m.invalid_skipped, m.duplicates_removed, m.purpose, m.suppressed_skipped, m.api_key_id,
  m.user_id, m.created_at, m.scheduled_for, m.expires_at`;
/** SQL for what a message shows of its recipients: status, addresses, counts and times. */
const OF_RECIPIENTS = `${STATUS_OF_RECIPIENTS} AS status, array_agg(address ORDER BY position) AS "to",
      (array_agg(sid ORDER BY position) FILTER (WHERE sid IS NOT NULL))[1] AS sid,
      count(*) FILTER (WHERE status IN ('sent', 'delivered')) AS reached,
      count(*) FILTER (WHERE status = 'delivered') AS delivered,
      count(*) FILTER (WHERE status = 'failed') AS failed,
      count(*) FILTER (WHERE error_code = 'unregistered') AS unregistered, min(read_at) AS read_at,
      max(held_until) AS held_until`;
/** SQL that joins the recipients to `messages m`. */
const WITH_RECIPIENTS = `CROSS JOIN LATERAL (
    SELECT ${OF_RECIPIENTS}
    FROM recipients WHERE message_id = m.id) r`;
/** SQL for the messages with the ids $1, in any order. It reads the recipients of all messages at once. */
const MESSAGES_BY_IDS = `SELECT ${MESSAGE_COLUMNS},
    r.status, r."to", r.sid, r.reached, r.delivered, r.failed, r.unregistered, r.read_at, r.held_until
  FROM (
    SELECT message_id, ${OF_RECIPIENTS}
    FROM recipients WHERE message_id = ANY($1::uuid[]) GROUP BY message_id) r
  CROSS JOIN LATERAL (SELECT * FROM messages WHERE id = r.message_id OFFSET 0) m`;
/** The columns of `RecipientRow`, for queries of the table `recipients` without an alias. */
export const RECIPIENT_COLUMNS = `message_id, position, address, status, cost_minor, provider, sid, error_code,
  error_message, sent_at, delivered_at, failed_at, read_at, claimed, attempts, held_until,
  (SELECT due_at FROM deferred_refunds d
   WHERE d.message_id = recipients.message_id AND d.position = recipients.position) AS refund_due_at`;

/** Locks messages in the order of their ids, so that two transactions do not deadlock. */
export const LOCK_MESSAGES = statement(
  'message-lock',
  `SELECT id FROM messages WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
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
   RETURNING r.message_id, r.position, r.address, r.cost_minor, r.sid, r.provider, r.sent_at, r.held_until`,
);
const KEYS = `ROWS FROM (${MANY}, unnest($1::uuid[], $2::smallint[])) AS n (index, message_id, position)`;
const CLAIM = statement(
  'recipient-claim',
  `UPDATE recipients r SET claimed = true FROM ${KEYS}
   WHERE ${JOINED} AND r.status = 'pending' AND NOT r.claimed RETURNING r.message_id, r.position`,
);
const POSTPONE = statement(
  'recipient-postpone',
  `UPDATE recipients r SET attempts = n.attempts, claimed = r.claimed AND NOT n.free,
     held_until = coalesce(n.held_until, r.held_until)
   FROM ROWS FROM (${MANY}, unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::boolean[], $5::timestamptz[]))
     AS n (index, message_id, position, attempts, free, held_until)
   WHERE ${JOINED} AND r.status = 'pending' AND coalesce(r.attempts, 0) < n.attempts
   RETURNING r.message_id, r.position`,
);
const MARK_READ = statement(
  'recipient-mark-read',
  `UPDATE recipients r SET read_at = $3 FROM ${KEYS}
   WHERE ${JOINED} AND r.status = 'delivered' AND r.read_at IS NULL
   RETURNING r.message_id, r.position, r.address, r.cost_minor, r.sid, r.provider, r.sent_at, r.held_until`,
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

/** Stores messages, their recipients and timelines. */
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
    // Send both statements before this method returns. Then later statements of the caller run after them.
    const locked = this.#sql.execute(LOCK_MESSAGES, [messageIds]);
    // Read in a separate statement. It must see what other transactions committed while this one waited for the lock.
    const [rows] = await Promise.all([this.#sql.query<MessageRow>(BY_IDS, [messageIds]), locked]);
    const messages = rows.map(mapMessage);
    return new Map(messages.map((message) => [message.id, { ...message, counts: recipientCounts(message) }]));
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
    // Claim in a separate statement. It must see what other transactions committed while this one waited for the lock.
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
      recipients.map((recipient) => recipient.heldUntil),
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
    purpose?: Purpose,
  ): Promise<readonly Message[]> {
    const aged = this.#sql
      .table('messages as m')
      .where('environment', 'production')
      .whereRaw(`${STATUS_OF_MESSAGE} = ?`, [status])
      .whereRaw(isHere('m.account_id'))
      .limit(limit);
    if (purpose) aged.where({ purpose });
    if (isScheduled) {
      aged
        .where('scheduled_for', '<', before)
        .whereRaw('(scheduled_for, id) > (?, ?)', [mark.at, mark.id])
        .orderBy(['scheduled_for', 'id']);
    } else {
      // UUIDs of version 7 begin with the time, so the primary key can find ids of a time range.
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

const HOUR_MS = 3_600_000;
const CLEAR_REASON = statement(
  'message-clear-reason',
  `UPDATE messages SET status_reason = NULL WHERE id = ANY($1::uuid[]) AND status_reason IS NOT NULL`,
);
// Counts status changes in the usage. Messages with the same hour, channel, statuses, … are of one kind. There are few
// kinds, so for each message only the number of its kind is sent.
const COUNT_MOVES = statement(
  'usage-count-moves',
  `INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, bitmap, messages, cost_minor)
   SELECT kind.account_id, kind.hour, kind.channel, kind.environment, step.status, kind.api_key_id, moved.block,
     moved.bitmap, step.sign * moved.messages, step.sign * moved.cost_minor
   FROM (
     SELECT kind, ${BLOCK_OF_SEQ} AS block, ${BITMAP_OF_SEQ} AS bitmap, count(*) AS messages, sum(cost_minor) AS cost_minor
     FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS message (kind, seq, cost_minor) GROUP BY 1, 2
   ) moved
   JOIN unnest($4::uuid[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
     WITH ORDINALITY AS kind (account_id, hour, channel, environment, api_key_id, source, target, kind)
     ON kind.kind = moved.kind
   CROSS JOIN LATERAL (VALUES (kind.source, -1), (kind.target, 1)) AS step (status, sign)`,
);

/**
 * Counts status changes of messages in the usage. If a message has a `statusReason`, it explains the old status and is
 * cleared.
 */
async function countMoves(sql: Sql, moves: readonly StatusMove[]): Promise<void> {
  if (moves.length === 0) return;
  const explained = moves.filter(({ message }) => message.statusReason !== null);
  if (explained.length > 0) await sql.execute(CLEAR_REASON, [explained.map(({ message }) => message.id)]);
  const kinds = new Map<
    string,
    { readonly number: number; readonly hour: Date; readonly like: StatusMove }
  >();
  const numbers = moves.map((move) => {
    const { message, to } = move;
    const hour = Math.floor(message.createdAt.getTime() / HOUR_MS) * HOUR_MS;
    const key = `${message.accountId} ${hour} ${message.channel} ${message.environment} ${message.apiKeyId ?? ''} ${message.status} ${to}`;
    const kind = kinds.get(key) ?? { number: kinds.size + 1, hour: new Date(hour), like: move };
    kinds.set(key, kind);
    return kind.number;
  });
  const few = [...kinds.values()];
  await sql.execute(COUNT_MOVES, [
    numbers,
    moves.map(({ message }) => message.seq),
    moves.map(({ message }) => message.costMinor),
    few.map(({ like }) => like.message.accountId),
    few.map(({ hour }) => hour),
    few.map(({ like }) => like.message.channel),
    few.map(({ like }) => like.message.environment),
    few.map(({ like }) => like.message.apiKeyId ?? ''),
    few.map(({ like }) => like.message.status),
    few.map(({ like }) => like.to),
  ]);
}

const BY_SEQS = statement(
  'message-by-seqs',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = ANY($3::bigint[]) ORDER BY m.seq DESC`,
);

const MESSAGE_PAGE = messagePages('message-page', {
  columns: `${MESSAGE_COLUMNS}, r.*`,
  joins: WITH_RECIPIENTS,
});

type HistoryFilter = MessageFilter & { readonly environment?: Environment | undefined };

interface FoundSeqs {
  /** Numbers of messages in descending order. */
  readonly seqs: readonly number[];
  readonly total: number;
}

/** Returns one page of a channel's messages, newest first. After the last page it is empty. */
async function messageHistory(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: HistoryFilter,
  { page, limit }: PageRequest,
): Promise<Page<Message>> {
  const part = { skipped: (page - 1) * limit, limit };
  const narrow: SeqFilter = { ...filter, status: filter.status && [filter.status] };
  if (filter.to === undefined && isNarrow(narrow)) {
    const { rows, total } = await findPage<MessageRow>(sql, MESSAGE_PAGE, accountId, channel, narrow, part);
    return { rows: rows.map(mapMessage), total };
  }
  const { seqs, total } =
    filter.to === undefined
      ? newest(await seqRange(sql, accountId, channel, filter), part)
      : await toRecipient(sql, accountId, channel, filter, part);
  if (seqs.length === 0) return { rows: [], total };
  const rows = await sql.queryOnDisk<MessageRow>(BY_SEQS, [accountId, channel, seqs]);
  return { rows: rows.map(mapMessage), total };
}

/** Returns the numbers of the messages on a page. Numbers have no gaps, so the page is a part of the range. */
function newest({ above, upTo }: SeqRange, { skipped, limit }: Part): FoundSeqs {
  const first = upTo - skipped;
  const length = Math.max(0, Math.min(limit, first - above));
  return { seqs: Array.from({ length }, (_, index) => first - index), total: upTo - above };
}

/**
 * SQL for messages to one address. The expressions must be the same as in the indexes recipients_to and
 * messages_push_to.
 */
const SENT_TO = `hashtextextended(address, uuid_hash_extended(account_id, 0))
  = hashtextextended(?, uuid_hash_extended(?::uuid, 0)) AND account_id = ? AND address = ?`;
const NAMED_IN_PUSH = `coalesce(payload -> 'userIds', '[]') || coalesce(payload -> 'deviceIds', '[]') @> to_jsonb(?::text)
  AND account_id = ? AND channel = 'push'`;

/**
 * Returns a page of the messages to one recipient. There are few of them: an index finds them, and the other filters
 * are applied to each.
 */
async function toRecipient(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: HistoryFilter,
  { skipped, limit }: Part,
): Promise<FoundSeqs> {
  const to = filter.to ?? '';
  const named = sql
    .table('recipients')
    .whereRaw(SENT_TO, [to, accountId, accountId, to])
    .select('message_id');
  // A push message is sent to users or devices, but the addresses of its recipients name only devices. So search its
  // payload too.
  if (channel === 'push') {
    named.union(sql.table('messages').whereRaw(NAMED_IN_PUSH, [to, accountId]).select('id'));
  }
  const matching = sql
    .table<MessageRow>('messages as m')
    .where('m.account_id', accountId)
    .where('m.channel', channel)
    .whereIn('m.id', named);
  if (filter.status) matching.whereRaw(`${STATUS_OF_MESSAGE} = ?`, [filter.status]);
  if (filter.environment) matching.where('m.environment', filter.environment);
  if (filter.from) matching.where('m.created_at', '>=', filter.from);
  if (filter.until) matching.where('m.created_at', '<=', filter.until);
  const rows: { seq: number; total: number }[] = await matching
    .clone()
    .select('m.seq', sql.raw('count(*) OVER () AS total'))
    .orderBy('m.seq', 'desc')
    .limit(limit)
    .offset(skipped);
  // A page after the last one has no row, and so no total. Count with a second query.
  return { seqs: rows.map((row) => row.seq), total: rows[0]?.total ?? (await sql.count(matching)) };
}

const COUNTERS = statement(
  'list-message-counters',
  `SELECT c.channel, c.last, c.last - coalesce(r.removed_seq, 0) AS kept FROM accounts a
   CROSS JOIN LATERAL (VALUES ('sms', a.sms_seq), ('email', a.email_seq), ('push', a.push_seq),
     ('whatsapp', a.whatsapp_seq)) AS c (channel, last)
   LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = c.channel WHERE a.id = $1`,
);
const LIST_FILTER = `m.account_id = $1 AND ($2::text[] IS NULL OR ${STATUS_OF_MESSAGE} = ANY ($2))
  AND ($3::text IS NULL OR m.environment = $3) AND ($4::timestamptz IS NULL OR m.created_at >= $4)
  AND ($5::timestamptz IS NULL OR m.created_at <= $5) AND ($6::text IS NULL OR m.api_key_id = $6)
  AND ($7::text IS NULL OR m.content ILIKE $7 OR m.sender ILIKE $7
    OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.address ILIKE $7))
  AND ($9::text[] IS NULL OR m.channel = ANY ($9)) AND ($10::text IS NULL OR m.sender = $10)
  AND (coalesce($11::text, $12::text, $13::text) IS NULL OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id
    AND ($11::text IS NULL OR r.error_code = $11) AND ($12::text IS NULL OR r.provider = $12)
    AND ($13::text IS NULL OR r.status = $13)))`;
const NEWEST_KEYS = statement(
  'list-newest-keys',
  `SELECT f.* FROM unnest($2::text[], $3::bigint[]) AS c (channel, before) CROSS JOIN LATERAL (
     SELECT m.id, m.channel, m.seq, m.created_at FROM messages m
     WHERE m.account_id = $1 AND m.channel = c.channel AND m.seq < c.before ORDER BY m.seq DESC LIMIT $4
   ) f ORDER BY f.channel, f.seq DESC`,
);
const OLDEST_KEYS = statement(
  'list-oldest-keys',
  `SELECT f.* FROM unnest($2::text[], $3::bigint[]) AS c (channel, least) CROSS JOIN LATERAL (
     SELECT m.id, m.channel, m.seq, m.created_at FROM messages m
     WHERE m.account_id = $1 AND m.channel = c.channel AND m.seq >= c.least ORDER BY m.seq LIMIT $4
   ) f ORDER BY f.channel, f.seq`,
);
const LISTED_NOTES = statement(
  'list-timeline-notes',
  `SELECT message_id, position, at, status, detail FROM timeline_notes
   WHERE account_id = $1 AND message_id = ANY($2::uuid[]) ORDER BY at, id`,
);
const LISTED = statement(
  'list-messages',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE ${LIST_FILTER} AND m.id = ANY($8::uuid[]) ORDER BY m.id`,
);
const LISTED_RECIPIENTS = statement(
  'list-recipients',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE account_id = $1 AND message_id = ANY($2::uuid[])
   ORDER BY message_id, position`,
);

const RECIPIENTS_AT = statement(
  'list-recipients-at',
  `SELECT ${RECIPIENT_COLUMNS} FROM recipients WHERE account_id = $1
     AND (message_id, position) IN (SELECT * FROM unnest($2::uuid[], $3::smallint[]))`,
);

/** Reads lists of messages, and the recipients and timeline notes of many messages. */
export class PgMessageListStore implements MessageListStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async counters(accountId: string): Promise<ReadonlyMap<Channel, ChannelCounter>> {
    const rows = await this.#sql.queryOnDisk<ChannelCounter & { channel: Channel }>(COUNTERS, [accountId]);
    const counters = new Map(rows.map(({ channel, last, kept }) => [channel, { last, kept }]));
    return new Map(CHANNELS.map((channel) => [channel, counters.get(channel) ?? { last: 0, kept: 0 }]));
  }

  async keys(
    accountId: string,
    filter: MessageListFilter,
    before: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]> {
    return this.#keys(NEWEST_KEYS, findBefore, accountId, filter, before, limit);
  }

  async keysFrom(
    accountId: string,
    filter: MessageListFilter,
    from: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]> {
    return this.#keys(OLDEST_KEYS, findFrom, accountId, filter, from, limit);
  }

  /**
   * If the filter has only channels, reads the keys of all channels with the statement `whole`. Otherwise reads the
   * keys of each channel with `find`.
   */
  async #keys(
    whole: Statement,
    find: typeof findBefore,
    accountId: string,
    filter: MessageListFilter,
    ends: ReadonlyMap<Channel, number>,
    limit: number,
  ): Promise<readonly MessageKey[]> {
    const { channel: _channel, ...narrowing } = filter;
    const isFiltered = Object.values(narrowing).some((value) => value !== undefined);
    const rows = isFiltered
      ? (
          await this.#ofEach([...ends], (sql, [channel, end]) =>
            find(sql, accountId, channel, seqFilter(filter), end, limit),
          )
        ).flat()
      : await this.#sql.query<ListKeyRow>(whole, [accountId, [...ends.keys()], [...ends.values()], limit]);
    return rows.map((row) => ({ id: row.id, channel: row.channel, seq: row.seq, createdAt: row.created_at }));
  }

  async costliest(accountId: string, filter: MessageListFilter, limit: number): Promise<readonly string[]> {
    const found = await this.#ofEach(filter.channel ?? CHANNELS, (sql, channel) =>
      findCostliest(sql, accountId, channel, seqFilter(filter), limit),
    );
    return found
      .flat()
      .sort((left, right) => right.cost_minor - left.cost_minor || (left.id < right.id ? 1 : -1))
      .slice(0, limit)
      .map(({ id }) => id);
  }

  async searchStop(
    accountId: string,
    { from, to }: SearchSpan,
    before: ReadonlyMap<Channel, number | undefined>,
  ): Promise<Date | undefined> {
    const stops = await this.#ofEach([...before], (sql, [channel, end]) =>
      searchStop(sql, accountId, channel, { from, until: to }, end),
    );
    const times = stops.filter((stop) => stop !== undefined);
    return times.sort((left, right) => right.getTime() - left.getTime())[0];
  }

  async count(accountId: string, filter: MessageListFilter): Promise<number> {
    const channels = filter.channel ?? CHANNELS;
    const counts = await this.#ofEach(channels, (sql, channel) =>
      countMatching(sql, accountId, channel, seqFilter(filter)),
    );
    return counts.reduce((total, count) => total + count, 0);
  }

  /** Runs `read` for each element in one snapshot. The statements are sent together. */
  #ofEach<Asked, Found>(
    asked: readonly Asked[],
    read: (sql: Sql, asked: Asked) => Promise<Found>,
  ): Promise<Found[]> {
    return this.#sql.snapshot((sql) => Promise.all(asked.map((one) => read(sql, one))));
  }

  async findMany(
    accountId: string,
    ids: readonly string[],
    filter: MessageListFilter = {},
  ): Promise<readonly Message[]> {
    if (ids.length === 0) return [];
    return (await this.#sql.queryOnDisk<MessageRow>(LISTED, listFilter(accountId, filter, ids))).map(
      mapMessage,
    );
  }

  async recipients(accountId: string, messageIds: readonly string[]): Promise<readonly Recipient[]> {
    return (await this.#sql.queryOnDisk<RecipientRow>(LISTED_RECIPIENTS, [accountId, messageIds])).map(
      mapRecipient,
    );
  }

  async recipientsAt(accountId: string, keys: readonly RecipientKey[]): Promise<readonly Recipient[]> {
    const columns = [keys.map(({ messageId }) => messageId), keys.map(({ position }) => position)];
    const rows = await this.#sql.queryOnDisk<RecipientRow>(RECIPIENTS_AT, [accountId, ...columns]);
    return rows.map(mapRecipient);
  }

  async timelineNotes(accountId: string, messageIds: readonly string[]) {
    const rows = await this.#sql.queryOnDisk<{
      message_id: string;
      position: number;
      at: Date;
      status: string;
      detail: string;
    }>(LISTED_NOTES, [accountId, messageIds]);
    return rows.map(({ message_id, ...note }) => ({ ...note, messageId: message_id }));
  }
}

function listFilter(accountId: string, filter: MessageListFilter, ids: readonly string[]): unknown[] {
  return [
    accountId,
    filter.status ?? null,
    filter.environment ?? null,
    filter.from ?? null,
    filter.to ?? null,
    filter.apiKeyId ?? null,
    filter.search ? containing(filter.search) : null,
    ids,
    filter.channel ?? null,
    filter.sender ?? null,
    filter.errorCode ?? null,
    filter.provider ?? null,
    filter.recipientStatus ?? null,
  ];
}

function seqFilter({ channel: _channel, search, to, ...rest }: MessageListFilter): SeqFilter {
  return { ...rest, search: search || undefined, until: to };
}
