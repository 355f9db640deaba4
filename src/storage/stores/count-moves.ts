import type { StatusMove } from '../../domain/ports/message-stores.ts';
import { BITMAP_OF_SEQ, BLOCK_OF_SEQ } from '../message-index/index.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const HOUR_MS = 3_600_000;
const CLEAR_REASON = statement(
  'message-clear-reason',
  `UPDATE messages SET status_reason = NULL WHERE id = ANY($1::uuid[]) AND status_reason IS NOT NULL`,
);
// For each message its kind, its number and its cost; there are few kinds.
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

/** Counts the moves of messages in the usage. A `statusReason` of the old status is cleared. */
export async function countMoves(sql: Sql, moves: readonly StatusMove[]): Promise<void> {
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
