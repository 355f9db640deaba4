import type { Channel } from '../domain/messages/message.ts';
import { type Sql, statement } from './sql.ts';

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

/** The newest message's number, of `accounts`, in the channel $2. */
export const LAST_SEQ = `CASE $2::text WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
  ELSE whatsapp_seq END`;
const RANGE = statement(
  'finder-range',
  `SELECT a.last, a.removed, ARRAY(
     SELECT (
       WITH RECURSIVE search (low, high) AS (
         -- Most ask about the end of the list: one look tells that all of it is before the time.
         SELECT CASE WHEN m.created_at < t.time THEN a.last ELSE a.removed END, a.last
         FROM (VALUES (1)) AS one LEFT JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = a.last
         UNION ALL
         SELECT CASE WHEN m.created_at < t.time THEN m.seq ELSE s.low END,
           CASE WHEN m.created_at < t.time THEN s.high ELSE m.seq - 1 END
         FROM search s
         JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = (s.low + s.high + 1) / 2
         WHERE s.low < s.high
       ) SELECT low FROM search WHERE low = high
     ) FROM unnest($3::timestamptz[]) WITH ORDINALITY AS t (time, place) ORDER BY t.place
   )::text[] AS before
   FROM (
     SELECT ${LAST_SEQ} AS last, coalesce(r.removed_seq, 0) AS removed FROM accounts a
     LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = $2 WHERE a.id = $1
   ) AS a`,
);

/** The numbers of the messages that the span of time holds; without one, of all that are kept. */
export async function seqRange(
  sql: Sql,
  accountId: string,
  channel: Channel,
  { from, until }: TimeFilter,
): Promise<SeqRange> {
  const end = until && new Date(until.getTime() + 1);
  const times = [from, end].filter((time) => time !== undefined);
  const rows = await sql.query<{ last: number; removed: number; before: string[] }>(RANGE, [
    accountId,
    channel,
    times,
  ]);
  const { last = 0, removed = 0, before = [] } = rows[0] ?? {};
  const above = from ? Number(before[0] ?? 0) : removed;
  const upTo = end ? Number(before.at(-1) ?? 0) : last;
  return { above, upTo: Math.max(above, upTo) };
}
