import type { Channel, Message } from '../domain/messages/message.ts';
import type { MessageFilter, Page, PageRequest } from '../domain/ports/stores.ts';
import { MESSAGE_COLUMNS, type MessageRow, mapMessage, WITH_RECIPIENTS } from './message-rows.ts';
import { type Sql, statement } from './sql.ts';

/**
 * Histories (decision 20). Two facts make them cheap at any size: `seq` is dense within an account and channel, and
 * `created_at` never goes back along it (intake sees to both). So a span of time is a range of numbers, found by
 * bisection, its total is a difference, and page N of it is a range again.
 */
interface SeqRange {
  /** Numbers above this one, … */
  readonly above: number;
  /** … up to this one. */
  readonly upTo: number;
}

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
const LAST_BEFORE = statement(
  'message-last-before',
  `WITH RECURSIVE search (low, high) AS (
     SELECT 0::bigint, $3::bigint
     UNION ALL
     SELECT CASE WHEN m.created_at < $4 THEN m.seq ELSE s.low END,
       CASE WHEN m.created_at < $4 THEN s.high ELSE m.seq - 1 END
     FROM search s
     JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = (s.low + s.high + 1) / 2
     WHERE s.low < s.high
   ) SELECT low FROM search WHERE low = high`,
);
const BY_SEQS = statement(
  'message-by-seqs',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = ANY($3::bigint[]) ORDER BY m.seq DESC`,
);

/** One page of a channel's messages, newest first; a page past the end is empty. */
export async function messageHistory(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: MessageFilter,
  { page, limit }: PageRequest,
): Promise<Page<Message>> {
  const range = await seqRange(sql, accountId, channel, filter);
  const skipped = (page - 1) * limit;
  if (filter.status || filter.environment || filter.to !== undefined) {
    const { seqs, total } = await matchingSeqs(sql, accountId, channel, filter, range, skipped, limit);
    if (seqs.length === 0) return { rows: [], total };
    const rows = await sql.query<MessageRow>(BY_SEQS, [accountId, channel, seqs]);
    return { rows: rows.map(mapMessage), total };
  }
  const total = range.upTo - range.above;
  if (skipped >= total) return { rows: [], total };
  const newest = range.upTo - skipped;
  const oldest = Math.max(range.above, newest - limit);
  const rows = await sql.query<MessageRow>(SEQ_RANGE, [accountId, channel, oldest, newest]);
  return { rows: rows.map(mapMessage), total };
}

/** The numbers of the messages that the filter's span of time holds; both of its ends belong to it. */
async function seqRange(
  sql: Sql,
  accountId: string,
  channel: Channel,
  { from, until }: MessageFilter,
): Promise<SeqRange> {
  const [counter] = await sql.query<{ last: number }>(LAST_SEQ, [accountId, channel]);
  const last = counter?.last ?? 0;
  const lastBefore = async (time: Date): Promise<number> => {
    const [found] = await sql.query<{ low: number }>(LAST_BEFORE, [accountId, channel, last, time]);
    return found?.low ?? 0;
  };
  const above = from ? await lastBefore(from) : 0;
  const upTo = until ? await lastBefore(new Date(until.getTime() + 1)) : last;
  return { above, upTo: Math.max(above, upTo) };
}

/** What no index can serve without a price on every send is looked for in the range, message by message. */
async function matchingSeqs(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: MessageFilter,
  { above, upTo }: SeqRange,
  skipped: number,
  limit: number,
): Promise<{ seqs: readonly number[]; total: number }> {
  const matching = sql
    .table<MessageRow>('messages as m')
    .where('m.account_id', accountId)
    .where('m.channel', channel)
    .where('m.seq', '>', above)
    .where('m.seq', '<=', upTo);
  if (filter.status) matching.where('m.status', filter.status);
  if (filter.environment) matching.where('m.environment', filter.environment);
  if (filter.to !== undefined) {
    matching.whereIn('m.id', sql.table('recipients').where('address', filter.to).select('message_id'));
  }
  const total = await sql.count(matching);
  if (skipped >= total) return { seqs: [], total };
  const rows: { seq: number }[] = await matching
    .select('m.seq')
    .orderBy('m.seq', 'desc')
    .limit(limit)
    .offset(skipped);
  return { seqs: rows.map((row) => row.seq), total };
}
