/** Statements that count and log the attempts of deliveries. */
import { statement } from '../postgres/sql.ts';

/** True if the delivery has not changed since its attempt `n` was taken. */
const AWAITED = `d.status IN ('pending', 'retrying') AND d.next_retry_at IS NOT DISTINCT FROM n.due_at`;
const DECIDES = `${AWAITED} OR n.status = 'success' AND d.status <> 'canceled'`;
/** A canceled delivery shows the answer too, beside the reason of the cancellation. */
const ANSWERS = `d.status = 'canceled' OR ${DECIDES}`;
const recording = (name: string, set: (column: string, when: string) => string, where: string) =>
  statement(
    name,
    `WITH attempt AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::timestamptz[], $6::text[],
       $7::timestamptz[], $8::int[], $9::int[], $10::text[])
       AS n (id, account_id, due_at, status, next_retry_at, response_body, at, http_status, duration_ms, error_message)
   ), done AS (
     UPDATE webhook_deliveries d SET attempts = d.attempts + 1,
       ${set('status', DECIDES)}, ${set('next_retry_at', DECIDES)}, ${set('error_message', DECIDES)},
       ${set('http_status', ANSWERS)}, ${set('response_body', ANSWERS)}
     FROM attempt n WHERE d.id = n.id AND ${where}
     RETURNING d.id, d.attempts, d.next_retry_at
   ), logged AS (
     INSERT INTO webhook_attempts (delivery_id, account_id, at, number, http_status, duration_ms, error_message)
     SELECT n.id, n.account_id, n.at, done.attempts, n.http_status, n.duration_ms, n.error_message
     FROM attempt n JOIN done ON done.id = n.id
   )
   SELECT id, attempts, next_retry_at FROM done`,
  );
/** Attempts of deliveries that waited for them: nearly all, so without a condition that would prevent the index. */
export const RECORD = recording('deliveries-record', (column) => `${column} = n.${column}`, AWAITED);
/**
 * Attempts of other deliveries: a success still decides. A commit whose answer was lost is retried, so attempts that
 * are already logged are skipped.
 */
export const RECORD_BESIDE = recording(
  'deliveries-record-beside',
  (column, when) => `${column} = CASE WHEN ${when} THEN n.${column} ELSE d.${column} END`,
  'n.at <> ALL (ARRAY(SELECT a.at FROM webhook_attempts a WHERE a.delivery_id = n.id))',
);
