import type { Environment } from '../../domain/caller.ts';
import type { Channel, Message } from '../../domain/messages/message.ts';
import type { Page, PageRequest } from '../../domain/paging.ts';
import type { MessageFilter } from '../../domain/ports/message-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import {
  MESSAGE_COLUMNS,
  type MessageRow,
  mapMessage,
  STATUS_OF_MESSAGE,
  WITH_RECIPIENTS,
} from '../stores/message-rows.ts';
import { findPart, isNarrow, type Part } from './message-finder.ts';
import { type SeqRange, seqRange } from './seq-range.ts';

const BY_SEQS = statement(
  'message-by-seqs',
  `SELECT ${MESSAGE_COLUMNS}, r.* FROM messages m ${WITH_RECIPIENTS}
   WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = ANY($3::bigint[]) ORDER BY m.seq DESC`,
);

type Filter = MessageFilter & { readonly environment?: Environment | undefined };

interface Found {
  /** In descending order. */
  readonly seqs: readonly number[];
  readonly total: number;
}

/** One page of a channel's messages, newest first; empty after the last page. */
export async function messageHistory(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: Filter,
  { page, limit }: PageRequest,
): Promise<Page<Message>> {
  const part = { skipped: (page - 1) * limit, limit };
  if (filter.to === undefined && isNarrow(filter)) {
    const { rows, total } = await findPart(sql, accountId, channel, filter, part);
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

/** Numbers have no gaps, so a part of a range is a range. */
function newest({ above, upTo }: SeqRange, { skipped, limit }: Part): Found {
  const first = upTo - skipped;
  const length = Math.max(0, Math.min(limit, first - above));
  return { seqs: Array.from({ length }, (_, index) => first - index), total: upTo - above };
}

/** The same expressions as in the indexes recipients_to and messages_push_to. */
const SENT_TO = `hashtextextended(address, uuid_hash_extended(account_id, 0))
  = hashtextextended(?, uuid_hash_extended(?::uuid, 0)) AND account_id = ? AND address = ?`;
const NAMED_IN_PUSH = `coalesce(payload -> 'userIds', '[]') || coalesce(payload -> 'deviceIds', '[]') @> to_jsonb(?::text)
  AND account_id = ? AND channel = 'push'`;

/** Messages to one recipient are few: an index finds them, and the other filters are applied to each. */
async function toRecipient(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: Filter,
  { skipped, limit }: Part,
): Promise<Found> {
  const to = filter.to ?? '';
  const named = sql
    .table('recipients')
    .whereRaw(SENT_TO, [to, accountId, accountId, to])
    .select('message_id');
  // The recipients of a push message are users, not the devices that it was sent to.
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
  // After the last page no row has the total.
  return { seqs: rows.map((row) => row.seq), total: rows[0]?.total ?? (await sql.count(matching)) };
}
