import type { PreparedMessage } from '../../domain/messages/message.ts';
import { type Sql, statement } from '../postgres/sql.ts';

const HOLD = statement(
  'intake-hold',
  `UPDATE recipients r SET held_until = n.until
   FROM unnest($1::uuid[], $2::smallint[], $3::timestamptz[]) AS n (message_id, position, until)
   WHERE r.message_id = n.message_id AND r.position = n.position`,
);

/**
 * Stores until when recipients are held in quiet hours (R385), in the transaction of `sql`. Send it after the messages
 * are written. Sends nothing if nobody is held, so that other messages pay nothing for it.
 */
export function writeHolds(sql: Sql, batch: readonly PreparedMessage[]): void {
  const held = batch
    .filter(({ heldUntil }) => heldUntil !== null)
    .flatMap(({ id, recipients }) =>
      recipients.flatMap(({ heldUntil }, position) => (heldUntil ? [{ id, position, heldUntil }] : [])),
    );
  if (held.length === 0) return;
  sql.send(HOLD, [
    held.map(({ id }) => id),
    held.map(({ position }) => position),
    held.map(({ heldUntil }) => heldUntil),
  ]);
}
