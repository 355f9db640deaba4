import type { Channel } from '../domain/messages/message.ts';
import { type Sql, statement } from './sql.ts';

/** A channel of an account, with what is kept of its messages: an end of the sequence. */
export interface ChannelList {
  readonly accountId: string;
  readonly channel: Channel;
  /** The messages up to this number are gone. */
  readonly removed: number;
  /** When the oldest message that is kept was created. */
  readonly keptSince: Date | null;
  /** The newest message's number. */
  readonly last: number;
}

/** Numbers above one, up to another. */
export interface SeqRange {
  readonly above: number;
  readonly upTo: number;
}
/** Both ends belong to the span of time. */
export interface TimeFilter {
  readonly from?: Date | undefined;
  readonly until?: Date | undefined;
}

const LIST = statement(
  'finder-list',
  `SELECT CASE $2 WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
     ELSE whatsapp_seq END AS last, coalesce(r.removed_seq, 0) AS removed, m.created_at AS kept_since
   FROM accounts a
   LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = $2
   LEFT JOIN messages m ON m.account_id = a.id AND m.channel = $2 AND m.seq = coalesce(r.removed_seq, 0) + 1
   WHERE a.id = $1`,
);
const LAST_BEFORE = statement(
  'finder-last-before',
  `SELECT (
     WITH RECURSIVE search (low, high) AS (
       -- Most ask about the end of the list: one look tells that all of it is before the time.
       SELECT CASE WHEN m.created_at < t.time THEN $3::bigint ELSE $5::bigint END, $3::bigint
       FROM (VALUES (1)) AS one LEFT JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = $3
       UNION ALL
       SELECT CASE WHEN m.created_at < t.time THEN m.seq ELSE s.low END,
         CASE WHEN m.created_at < t.time THEN s.high ELSE m.seq - 1 END
       FROM search s
       JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = (s.low + s.high + 1) / 2
       WHERE s.low < s.high
     ) SELECT low FROM search WHERE low = high
   ) AS last FROM unnest($4::timestamptz[]) WITH ORDINALITY AS t (time, place) ORDER BY t.place`,
);

/** A channel of an account, with what is kept of its messages. */
export async function channelList(sql: Sql, accountId: string, channel: Channel): Promise<ChannelList> {
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
export async function lastBefore(sql: Sql, list: ChannelList, times: readonly Date[]): Promise<number[]> {
  const { accountId, channel, removed, last } = list;
  if (times.length === 0) return [];
  const rows = await sql.query<{ last: number }>(LAST_BEFORE, [accountId, channel, last, times, removed]);
  return rows.map((row) => row.last);
}

/** The numbers of the messages that the span of time holds. */
export async function seqRange(sql: Sql, list: ChannelList, { from, until }: TimeFilter): Promise<SeqRange> {
  const end = until && new Date(until.getTime() + 1);
  const times = [from, end].filter((time) => time !== undefined);
  const found = await lastBefore(sql, list, times);
  const above = from ? (found[0] ?? 0) : list.removed;
  const upTo = end ? (found.at(-1) ?? 0) : list.last;
  return { above, upTo: Math.max(above, upTo) };
}
