import { shiftedTime } from '../../domain/iso-time.ts';
import type { Channel } from '../../domain/messages/message.ts';
import { type Sql, statement } from '../postgres/sql.ts';

/** The message numbers greater than `above` and at most `upTo`. */
export interface SeqRange {
  readonly above: number;
  readonly upTo: number;
}
/** A time span. Both ends are included. */
export interface TimeFilter {
  readonly from?: Date | undefined;
  readonly until?: Date | undefined;
}

/**
 * SQL for the stored messages of account $1 and channel $2. Their numbers are greater than `removed`, the last number
 * that retention deleted, and at most `last`.
 */
const KEPT = `SELECT CASE $2::text WHEN 'sms' THEN sms_seq WHEN 'email' THEN email_seq WHEN 'push' THEN push_seq
        ELSE whatsapp_seq END AS last, coalesce(r.removed_seq, 0) AS removed
    FROM accounts a LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = $2 WHERE a.id = $1`;
/**
 * A common table expression `range` for all stored messages: numbers greater than `above` and at most `up_to`. `last`
 * is the highest number of the channel.
 */
export const KEPT_RANGE = `range AS (SELECT removed AS above, last AS up_to, last FROM (${KEPT}) list)`;
/** When this many numbers are left, the binary search ends and reads them one by one, which is faster. */
const FEW = 32;
/**
 * SQL that estimates the number of a message with the searched time, as if messages were sent evenly. The estimate is
 * first a little too low and then a little too high. Two such estimates usually exclude most of the range on both
 * sides.
 */
const GUESS = `s.low + (s.turn % 3 - 1.5::float8) * sqrt(s.high - s.low) + (s.high - s.low)
        * date_part('epoch', s.time - s.low_at) / date_part('epoch', s.high_at - s.low_at)`;
/**
 * SQL for the next number to look at. The first nine steps alternate: one step halves the range, and two steps use
 * estimates. If messages were sent unevenly, estimates do not help. So every later step halves the range.
 */
const MIDDLE = `CASE WHEN s.turn % 3 > 0 AND s.turn < 9
        THEN greatest(s.low + 1, least(s.high, (${GUESS})::bigint)) ELSE (s.low + s.high + 1) / 2 END`;
/**
 * Common table expressions whose last one is the `range` of a time span. `times` is the SQL parameter with the result
 * of `timesOf`. `created_at` never decreases along the numbers, so one recursive query finds both ends by binary search
 * between `low` and `high`.
 */
export const rangeOf = (times: string) => `list AS MATERIALIZED (${KEPT}
  ), search (place, time, turn, low, low_at, high, high_at) AS (
    -- Often all messages or none are before the time. The two ends of the list show that without a search.
    SELECT t.place, t.time, 0, CASE WHEN newest.created_at < t.time THEN last ELSE removed END, oldest.created_at,
      CASE WHEN oldest.created_at < t.time THEN last ELSE removed END, newest.created_at
    FROM list CROSS JOIN unnest(${times}::timestamptz[]) WITH ORDINALITY AS t (time, place)
    LEFT JOIN messages oldest ON oldest.account_id = $1 AND oldest.channel = $2 AND oldest.seq = removed + 1
    LEFT JOIN messages newest ON newest.account_id = $1 AND newest.channel = $2 AND newest.seq = last
    WHERE t.time IS NOT NULL
    UNION ALL
    SELECT s.place, s.time, s.turn + 1, CASE WHEN m.created_at < s.time THEN m.seq ELSE s.low END,
      CASE WHEN m.created_at < s.time THEN m.created_at ELSE s.low_at END,
      CASE WHEN m.created_at < s.time THEN s.high ELSE m.seq - 1 END,
      CASE WHEN m.created_at < s.time THEN s.high_at ELSE m.created_at END
    FROM search s JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = ${MIDDLE}
    WHERE s.high - s.low > ${FEW}
  ), range AS (
    SELECT coalesce(s.before_from, removed) AS above, coalesce(s.before_end, last) AS up_to, last
    FROM list CROSS JOIN (
      SELECT max(before) FILTER (WHERE place = 1) AS before_from, max(before) FILTER (WHERE place = 2) AS before_end
      FROM (
        SELECT place, coalesce((
          SELECT m.seq FROM messages m WHERE m.account_id = $1 AND m.channel = $2 AND m.seq > low AND m.seq <= high
            AND m.created_at < time ORDER BY m.seq DESC LIMIT 1
        ), low) AS before
        FROM search WHERE high - low <= ${FEW} OFFSET 0
      ) found
    ) s
  )`;
const RANGE = statement('finder-range', `WITH RECURSIVE ${rangeOf('$3')} SELECT above, up_to FROM range`);

/** Returns the first moment of a time span, and the first moment after it. */
export function timesOf({ from, until }: TimeFilter): (Date | null)[] {
  return [from ?? null, until === undefined ? null : shiftedTime(until, 1)];
}

/**
 * Returns the numbers of the messages in the time span. Without a time span, returns the numbers of all stored
 * messages.
 */
export async function seqRange(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: TimeFilter,
): Promise<SeqRange> {
  const values = [accountId, channel, timesOf(filter)];
  const [row] = await sql.queryOnDisk<{ above: number; up_to: number }>(RANGE, values);
  const above = row?.above ?? 0;
  return { above, upTo: Math.max(above, row?.up_to ?? 0) };
}
