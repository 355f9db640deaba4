import type { PreparedMessage } from '../../domain/messages/message.ts';
import { type Sql, statement } from '../postgres/sql.ts';

// The costs and routes of a message are one text each, because PostgreSQL has no arrays of arrays of different lengths.
const HOLD = statement(
  'intake-review',
  `WITH n AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[], $7::text[])
       AS n (message_id, account_id, held_at, cost_minor, block, costs, routes)
   ), held AS (
     INSERT INTO held_reviews (message_id, account_id, held_at, cost_minor, block, costs, routes)
     SELECT message_id, account_id, held_at, cost_minor, block, costs::bigint[],
       ARRAY(SELECT json_array_elements_text(routes::json)) FROM n
   )
   UPDATE messages m SET status_reason = 'held_for_review' FROM n WHERE m.id = n.message_id`,
);

/**
 * Stores the messages that wait for a review (R393), in the transaction of `sql`. Send it after the messages are
 * written. Sends nothing if no message is held, so that other messages pay nothing for it.
 */
export function writeReviews(sql: Sql, batch: readonly PreparedMessage[]): void {
  const held = batch.flatMap(({ id, accountId, createdAt, recipients, review }) =>
    review ? [{ id, accountId, createdAt, recipients, review }] : [],
  );
  if (held.length === 0) return;
  sql.send(HOLD, [
    held.map(({ id }) => id),
    held.map(({ accountId }) => accountId),
    held.map(({ createdAt }) => createdAt),
    held.map(({ review }) => review.costMinor),
    held.map(({ review }) => review.block),
    held.map(({ review }) => `{${review.costs.join(',')}}`),
    held.map(({ recipients }) => JSON.stringify(recipients.map(({ routeKey }) => routeKey))),
  ]);
}
