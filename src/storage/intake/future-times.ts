import { CHANNELS } from '../../domain/messages/message.ts';
import { BLOCK_OF_SEQ, STATUS_OF_MESSAGE } from '../message-index/index.ts';
import { CLOCK_TOLERANCE_MS } from '../postgres/database-clock.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const tolerance = `interval '${CLOCK_TOLERANCE_MS} milliseconds'`;
/**
 * Earliest and latest acceptance time. A proposed time may come from a clock that is wrong for a moment. For example,
 * the clock of a machine that was suspended is slow until the database has answered.
 */
export const EARLIEST = `date_trunc('milliseconds', now()) - ${tolerance}`;
export const LATEST = `date_trunc('milliseconds', now()) + ${tolerance}`;
/** Number of messages whose times are set back in one transaction. */
const PIECE = 5_000;

// Search from the highest number down. Times never decrease along the numbers, so the first hit is the last message
// that is not in the future.
const LAST_IN_TIME = statement(
  'future-last-in-time',
  `SELECT seq FROM messages WHERE account_id = $1 AND channel = $2 AND created_at <= ${LATEST}
   ORDER BY seq DESC LIMIT 1`,
);
const LOCK_PIECE = statement(
  'future-lock',
  `SELECT id, seq FROM messages WHERE id IN (
     SELECT id FROM messages WHERE account_id = $1 AND channel = $2 AND seq > $3 ORDER BY seq LIMIT ${PIECE})
   ORDER BY id FOR NO KEY UPDATE`,
);
// Also moves the messages in the usage counts. The blocks of the message index do not change, because they contain no
// times.
const SET_BACK = statement(
  'future-set-back',
  `WITH moved AS (
     UPDATE messages m SET created_at = ${LATEST}
     FROM (SELECT id, created_at FROM messages WHERE id = ANY($1::uuid[])) was
     WHERE m.id = was.id AND m.created_at > ${LATEST}
     RETURNING m.account_id, m.channel, m.environment, coalesce(m.api_key_id, '') AS api_key_id, m.seq, m.cost_minor,
       ${STATUS_OF_MESSAGE} AS status, was.created_at AS before, m.created_at AS after
   )
   INSERT INTO usage_deltas (account_id, hour, channel, environment, status, api_key_id, block, bitmap, messages, cost_minor)
   SELECT account_id, date_trunc('hour', at, 'UTC'), channel, environment, status, api_key_id, ${BLOCK_OF_SEQ}, 0,
     sum(sign), sum(sign * cost_minor)
   FROM moved CROSS JOIN LATERAL (VALUES (before, -1), (after, 1)) AS step (at, sign)
   GROUP BY 1, 2, 3, 4, 5, 6, 7`,
);
const SET_ACCOUNT_BACK = statement(
  'future-set-account-back',
  `UPDATE accounts SET last_accepted_at = ${LATEST} WHERE id = $1 AND last_accepted_at > ${LATEST}`,
);

/**
 * Some messages may have a time in the future, because of a wrong clock. Gives them the latest time that is allowed now
 * (R260), so that the account can accept messages again. Works in pieces of 5,000 messages from the oldest on, so that
 * times never decrease along the numbers. Any number of processes may do it at the same time.
 */
export async function setTimesBack(sql: Sql, accountId: string): Promise<void> {
  for (const channel of CHANNELS) {
    const [last] = await sql.query<{ seq: number }>(LAST_IN_TIME, [accountId, channel]);
    let above: number | undefined = last?.seq ?? 0;
    while (above !== undefined) above = await setPieceBack(sql, [accountId, channel, above]);
  }
  await sql.query(SET_ACCOUNT_BACK, [accountId]);
}

/** Returns the last number of the piece. Undefined after the last piece. */
function setPieceBack(sql: Sql, piece: readonly unknown[]): Promise<number | undefined> {
  return sql.transaction(async (inside) => {
    const rows = await inside.query<{ id: string; seq: number }>(LOCK_PIECE, piece);
    if (rows.length === 0) return undefined;
    await inside.execute(SET_BACK, [rows.map(({ id }) => id)]);
    return Math.max(...rows.map(({ seq }) => seq));
  });
}
