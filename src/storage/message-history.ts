import type { Channel, Message } from '../domain/messages/message.ts';
import type { Page, PageRequest } from '../domain/ports/page.ts';
import type { MessageFilter } from '../domain/ports/stores.ts';
import {
  MESSAGE_COLUMNS,
  type MessageRow,
  mapMessage,
  STATUS_OF_MESSAGE,
  WITH_RECIPIENTS,
} from './message-rows.ts';
import { type Sql, statement } from './sql.ts';

/**
 * Histories (decision 20). Three facts make them cheap at any size. `seq` is dense within an account and channel, and
 * `created_at` never goes back along it (intake sees to both): so a span of time is a range of numbers, found by
 * bisection, its total is a difference, and page N of it is a range again. And messages are counted by hour, status
 * and environment: so where a filter asks for those, only the hours that hold the page are looked through.
 */
interface SeqRange {
  /** Numbers above this one, … */
  readonly above: number;
  /** … up to this one. */
  readonly upTo: number;
}

/** A channel of an account, with what is kept of its messages: an end of the sequence. */
interface List {
  readonly accountId: string;
  readonly channel: Channel;
  /** The messages up to this number are gone. */
  readonly removed: number;
  /** When the oldest message that is kept was created. */
  readonly keptSince: Date | null;
  /** The newest message's number. */
  readonly last: number;
}

interface Part {
  readonly skipped: number;
  readonly limit: number;
}

const HOUR_MS = 3_600_000;

const SNAPSHOT = statement('history-snapshot', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
const LIST = statement(
  'history-list',
  `SELECT CASE $2 WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
     ELSE whatsapp_seq END AS last, coalesce(r.removed_seq, 0) AS removed, m.created_at AS kept_since
   FROM accounts a
   LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = $2
   LEFT JOIN messages m ON m.account_id = a.id AND m.channel = $2 AND m.seq = coalesce(r.removed_seq, 0) + 1
   WHERE a.id = $1`,
);
const SEQ_RANGE = statement(
  'message-seq-range',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq > $3 AND m.seq <= $4 ORDER BY m.seq DESC`,
);
const LAST_BEFORE = statement(
  'message-last-before',
  `SELECT (
     WITH RECURSIVE search (low, high) AS (
       SELECT $5::bigint, $3::bigint
       UNION ALL
       SELECT CASE WHEN m.created_at < t.time THEN m.seq ELSE s.low END,
         CASE WHEN m.created_at < t.time THEN s.high ELSE m.seq - 1 END
       FROM search s
       JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = (s.low + s.high + 1) / 2
       WHERE s.low < s.high
     ) SELECT low FROM search WHERE low = high
   ) AS last FROM unnest($4::timestamptz[]) WITH ORDINALITY AS t (time, place) ORDER BY t.place`,
);
const BY_SEQS = statement(
  'message-by-seqs',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = ANY($3::bigint[]) ORDER BY m.seq DESC`,
);
const HOURS = statement(
  'history-hours',
  `SELECT hour, sum(messages)::bigint AS count FROM (
     SELECT account_id, channel, status, environment, hour, messages FROM usage_hours
     UNION ALL
     SELECT account_id, channel, status, environment, hour, messages FROM usage_deltas
   ) counted
   WHERE account_id = $1 AND channel = $2 AND ($3::text IS NULL OR status = $3)
     AND ($4::text IS NULL OR environment = $4) AND hour >= $5 AND hour <= $6
   GROUP BY hour HAVING sum(messages) > 0 ORDER BY hour DESC`,
);
const MATCHING = `m.account_id = $1 AND m.channel = $2 AND ($3::text IS NULL OR ${STATUS_OF_MESSAGE} = $3)
  AND ($4::text IS NULL OR m.environment = $4)`;
const COUNT = statement(
  'history-count',
  `SELECT count(*) AS count FROM messages m WHERE ${MATCHING} AND m.seq > $5 AND m.seq <= $6`,
);
const SEQS = statement(
  'history-seqs',
  `SELECT f.seq FROM unnest($5::bigint[], $6::bigint[]) WITH ORDINALITY AS r (above, up_to, place)
   CROSS JOIN LATERAL (
     SELECT m.seq FROM messages m WHERE ${MATCHING} AND m.seq > r.above AND m.seq <= r.up_to
     ORDER BY m.seq DESC LIMIT $7::bigint + $8::bigint
   ) f ORDER BY r.place, f.seq DESC OFFSET $7 LIMIT $8`,
);

/** One page of a channel's messages, newest first; a page past the end is empty. */
export async function messageHistory(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: MessageFilter,
  { page, limit }: PageRequest,
): Promise<Page<Message>> {
  const part = { skipped: (page - 1) * limit, limit };
  if (filter.to !== undefined) {
    const found = await toRecipient(sql, accountId, channel, filter, part);
    return withSeqs(sql, accountId, channel, found);
  }
  if (filter.status || filter.environment) {
    // Counts and messages must be of one moment, or a page would not be where the counts say.
    return sql.transaction(async (inside) => {
      await inside.query(SNAPSHOT, []);
      const list = await listOf(inside, accountId, channel);
      const found = await counted(inside, list, filter, part);
      return withSeqs(inside, accountId, channel, found);
    });
  }
  const { above, upTo } = await seqRange(sql, await listOf(sql, accountId, channel), filter);
  const total = upTo - above;
  if (part.skipped >= total) return { rows: [], total };
  const newest = upTo - part.skipped;
  const oldest = Math.max(above, newest - limit);
  const rows = await sql.query<MessageRow>(SEQ_RANGE, [accountId, channel, oldest, newest]);
  return { rows: rows.map(mapMessage), total };
}

interface Found {
  readonly seqs: readonly number[];
  readonly total: number;
}

async function withSeqs(
  sql: Sql,
  accountId: string,
  channel: Channel,
  { seqs, total }: Found,
): Promise<Page<Message>> {
  if (seqs.length === 0) return { rows: [], total };
  const rows = await sql.query<MessageRow>(BY_SEQS, [accountId, channel, seqs]);
  return { rows: rows.map(mapMessage), total };
}

async function listOf(sql: Sql, accountId: string, channel: Channel): Promise<List> {
  const [row] = await sql.query<{ last: number; removed: number; kept_since: Date | null }>(LIST, [
    accountId,
    channel,
  ]);
  return {
    accountId,
    channel,
    removed: row?.removed ?? 0,
    keptSince: row?.kept_since ?? null,
    last: row?.last ?? 0,
  };
}

/** For each time, the number of the last message created before it, or of the last that is gone. */
async function lastBefore(sql: Sql, list: List, times: readonly Date[]): Promise<number[]> {
  const { accountId, channel, removed, last } = list;
  const rows = await sql.query<{ last: number }>(LAST_BEFORE, [accountId, channel, last, times, removed]);
  return rows.map((row) => row.last);
}

/** The numbers of the messages that the filter's span of time holds; both of its ends belong to it. */
async function seqRange(sql: Sql, list: List, { from, until }: MessageFilter): Promise<SeqRange> {
  if (!from && !until) return { above: list.removed, upTo: list.last };
  const end = until ? new Date(until.getTime() + 1) : undefined;
  const found = await lastBefore(
    sql,
    list,
    [from, end].filter((time) => time !== undefined),
  );
  const above = from ? (found[0] ?? 0) : list.removed;
  const upTo = end ? (found.at(-1) ?? 0) : list.last;
  return { above, upTo: Math.max(above, upTo) };
}

/** Status and environment, with or without a span of time: the counts tell which hours hold the page. */
async function counted(sql: Sql, list: List, filter: MessageFilter, part: Part): Promise<Found> {
  const range = await seqRange(sql, list, filter);
  const matching = [list.accountId, list.channel, filter.status ?? null, filter.environment ?? null];
  if (range.above === range.upTo || !list.keptSince) return { seqs: [], total: 0 };
  // The counts remember messages that are gone: what is kept begins like a span of time.
  const from = filter.from && filter.from > list.keptSince ? filter.from : list.keptSince;
  const first = hourOf(from);
  const last = filter.until && hourOf(filter.until);
  const rows = await sql.query<{ hour: Date; count: number }>(HOURS, [
    ...matching,
    first,
    last ?? 'infinity',
  ]);
  const isBegun = list.removed > 0 || (filter.from !== undefined && filter.from > list.keptSince);
  const ends = new Set([isBegun ? first.getTime() : undefined, last?.getTime()]);
  const atEnds = rows.filter(({ hour }) => ends.has(hour.getTime()));
  const cut = await hoursIn(sql, list, range, atEnds);
  const counts = new Map<Date, number>(rows.map((row) => [row.hour, row.count]));
  for (const [hour, { above, upTo }] of cut) {
    // Of the hours at the ends only a part was asked for.
    const [row] = await sql.query<{ count: number }>(COUNT, [...matching, above, upTo]);
    counts.set(hour, row?.count ?? 0);
  }
  let total = 0;
  let before = 0;
  const onPage: { hour: Date }[] = [];
  for (const [hour, count] of counts) {
    if (total + count <= part.skipped) before += count;
    else if (count > 0 && total < part.skipped + part.limit) onPage.push({ hour });
    total += count;
  }
  if (onPage.length === 0) return { seqs: [], total };
  const ranges = [...(await hoursIn(sql, list, range, onPage)).values()];
  const seqs = await sql.query<{ seq: number }>(SEQS, [
    ...matching,
    ranges.map(({ above }) => above),
    ranges.map(({ upTo }) => upTo),
    part.skipped - before,
    part.limit,
  ]);
  return { seqs: seqs.map((row) => row.seq), total };
}

function hourOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS);
}

/** The numbers of the messages of each hour, as far as they are in `range`. */
async function hoursIn(
  sql: Sql,
  list: List,
  range: SeqRange,
  hours: readonly { readonly hour: Date }[],
): Promise<Map<Date, SeqRange>> {
  if (hours.length === 0) return new Map();
  const times = hours.flatMap(({ hour }) => [hour, new Date(hour.getTime() + HOUR_MS)]);
  const bounds = await lastBefore(sql, list, times);
  return new Map(
    hours.map(({ hour }, index) => {
      const above = Math.max(range.above, bounds[2 * index] ?? 0);
      const upTo = Math.min(range.upTo, bounds[2 * index + 1] ?? 0);
      return [hour, { above, upTo: Math.max(above, upTo) }];
    }),
  );
}

const NAMED_IN_PUSH = `m.payload -> 'userIds' @> to_jsonb(?::text) OR m.payload -> 'deviceIds' @> to_jsonb(?::text)`;

/** Messages to one recipient are few: the index on addresses gives them, and the rest is looked at one by one. */
async function toRecipient(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: MessageFilter,
  { skipped, limit }: Part,
): Promise<Found> {
  const to = filter.to ?? '';
  const matching = sql
    .table<MessageRow>('messages as m')
    .where('m.account_id', accountId)
    .where('m.channel', channel)
    .where((either) => {
      either.whereIn('m.id', sql.table('recipients').where('address', to).select('message_id'));
      // Push messages show whom they were sent to, not the devices that this led to.
      if (channel === 'push') either.orWhereRaw(NAMED_IN_PUSH, [to, to]);
    });
  if (filter.status) matching.whereRaw(`${STATUS_OF_MESSAGE} = ?`, [filter.status]);
  if (filter.environment) matching.where('m.environment', filter.environment);
  if (filter.from) matching.where('m.created_at', '>=', filter.from);
  if (filter.until) matching.where('m.created_at', '<=', filter.until);
  const total = await sql.count(matching);
  if (skipped >= total) return { seqs: [], total };
  const rows: { seq: number }[] = await matching
    .select('m.seq')
    .orderBy('m.seq', 'desc')
    .limit(limit)
    .offset(skipped);
  return { seqs: rows.map((row) => row.seq), total };
}
