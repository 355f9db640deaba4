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

/**
 * Common table expressions, the last of which is `range`: the numbers `above` one, `up_to` another, of the messages that
 * a span of time holds, and that of the `last` message. They take the account as $1, the channel as $2 and `timesOf`
 * the filter as the parameter `times`. `created_at` never goes back along the numbers, so both ends are found by halving
 * what is left, both at once.
 */
export const rangeOf = (times: string) => `list AS MATERIALIZED (
    SELECT CASE $2::text WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
        ELSE whatsapp_seq END AS last, coalesce(r.removed_seq, 0) AS removed
    FROM accounts a LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = $2 WHERE a.id = $1
  ), search (place, time, low, high) AS (
    -- Most ask about the end of the list: one look tells that all of it is before the time.
    SELECT t.place, t.time, CASE WHEN m.created_at < t.time THEN list.last ELSE list.removed END, list.last
    FROM list CROSS JOIN unnest(${times}::timestamptz[]) WITH ORDINALITY AS t (time, place)
    LEFT JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = list.last
    WHERE t.time IS NOT NULL
    UNION ALL
    SELECT s.place, s.time, CASE WHEN m.created_at < s.time THEN m.seq ELSE s.low END,
      CASE WHEN m.created_at < s.time THEN s.high ELSE m.seq - 1 END
    FROM search s JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = (s.low + s.high + 1) / 2
    WHERE s.low < s.high
  ), range AS MATERIALIZED (
    SELECT coalesce(s.before_from, removed) AS above, coalesce(s.before_end, last) AS up_to, last
    FROM list CROSS JOIN (
      SELECT max(low) FILTER (WHERE place = 1) AS before_from, max(low) FILTER (WHERE place = 2) AS before_end
      FROM search WHERE low = high
    ) s
  )`;
const RANGE = statement('finder-range', `WITH RECURSIVE ${rangeOf('$3')} SELECT above, up_to FROM range`);

/** The first moment of a span of time, and the first after it. */
export function timesOf({ from, until }: TimeFilter): (Date | null)[] {
  return [from ?? null, until === undefined ? null : new Date(until.getTime() + 1)];
}

/** The numbers of the messages that the span of time holds; without one, of all that are kept. */
export async function seqRange(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: TimeFilter,
): Promise<SeqRange> {
  const values = [accountId, channel, timesOf(filter)];
  const [row] = await sql.query<{ above: number; up_to: number }>(RANGE, values);
  const above = row?.above ?? 0;
  return { above, upTo: Math.max(above, row?.up_to ?? 0) };
}
