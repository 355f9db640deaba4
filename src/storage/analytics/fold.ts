import { PREFIX_LENGTH } from '../../domain/messages/country.ts';
import { DELTAS_AT_ONCE, takeDeltas } from '../postgres/deltas.ts';
import { statement } from '../postgres/sql.ts';

/** Lengths of slots in minutes, smallest first. Each length divides the next one, and all slots begin in UTC. */
export const SLOT_MINUTES = [15, 60, 360, 1_440] as const;
/**
 * Number of messages of one account and channel that one statement counts, for the reason of `DELTAS_AT_ONCE`. When the
 * accounts so far have this many messages together, the others wait for the next statement.
 */
const AT_ONCE = 10_000;

const SEQS = ['sms', 'email', 'push', 'whatsapp'] as const;
/** Columns of GROUP BY for the counts of both messages and recipients. The quarter of an hour is added to them. */
const OF_BOTH = 'account_id, channel, environment, api_key_id, sender, prefix, provider';
const KEY = `${OF_BOTH}, status, error_code`;
const FIGURES = ['messages', 'recipients', 'cost_minor', 'refund_minor'] as const;
const LEVELS = SLOT_MINUTES.map((minutes) => `(${minutes})`).join();
const SLOT_OF_LEVEL = `date_bin(level.minutes * interval '1 minute', c.slot, '2000-01-01T00:00Z')`;
const sums = FIGURES.map((figure) => `sum(${figure})`);
const added = FIGURES.map((figure) => `${figure} = s.${figure} + excluded.${figure}`).join(', ');

/** One process folds at a time. Another process does not get the lock and skips its fold. */
export const FOLD_LOCK = statement('analytics-lock', 'SELECT pg_try_advisory_xact_lock(4872392) AS mine');

/**
 * Adds to the slots what happened since the marks, and moves the marks. It is one statement, so it reads everything in
 * one snapshot: the messages up to the accounts' counters, the deltas, and the end of the ledger. From a message it
 * counts only what never changes: the first status, the addresses and the costs. Every later change is a delta. Returns
 * whether messages or deltas are left to count. While deltas are left, no account agrees with its ledger.
 */
export const FOLD = statement(
  'analytics-fold',
  `WITH behind AS MATERIALIZED (
     SELECT a.id, a.ledger_seq, ${SEQS.flatMap((channel) => [
       `coalesce(k.${channel}_seq, 0) AS ${channel}_from`,
       `least(a.${channel}_seq, coalesce(k.${channel}_seq, 0) + ${AT_ONCE}) AS ${channel}_to`,
     ]).join(
       ', ',
     )}, ${SEQS.map((channel) => `a.${channel}_seq <= coalesce(k.${channel}_seq, 0) + ${AT_ONCE}`).join(' AND ')} AS is_whole
     FROM accounts a LEFT JOIN analytics_marks k ON k.account_id = a.id
     WHERE (${SEQS.map((channel) => `a.${channel}_seq`).join()}, a.ledger_seq)
       IS DISTINCT FROM (${SEQS.map((channel) => `k.${channel}_seq`).join()}, k.ledger_seq)
   ), account AS MATERIALIZED (
     SELECT * FROM (
       SELECT *, sum(messages) OVER (ORDER BY id) - messages AS before
       FROM (SELECT *, ${SEQS.map((channel) => `${channel}_to - ${channel}_from`).join(' + ')} AS messages FROM behind) b) b
     WHERE before < ${AT_ONCE}
   ), deltas AS MATERIALIZED (
     SELECT count(*) > ${DELTAS_AT_ONCE} AS has_more FROM (SELECT FROM analytics_deltas LIMIT ${DELTAS_AT_ONCE} + 1) d
   ), accepted AS (
     SELECT m.account_id, date_bin('15 minutes', m.created_at, '2000-01-01T00:00Z') AS slot, m.channel, m.environment,
       coalesce(m.api_key_id, '') AS api_key_id, m.sender, r.prefix, r.recipients, r.cost_minor, r.is_first
     FROM account a
     CROSS JOIN LATERAL (VALUES ${SEQS.map((channel) => `('${channel}', ${channel}_from, ${channel}_to)`).join()})
       AS lane (channel, above, up_to)
     CROSS JOIN LATERAL (SELECT * FROM messages m WHERE m.account_id = a.id AND m.channel = lane.channel
       AND m.seq > lane.above AND m.seq <= lane.up_to OFFSET 0) m
     CROSS JOIN LATERAL (
       SELECT CASE WHEN m.channel IN ('sms', 'whatsapp') THEN left(address, ${PREFIX_LENGTH}) ELSE '' END AS prefix,
         count(*) AS recipients, sum(cost_minor) AS cost_minor, bool_or(position = 0) AS is_first
       FROM recipients WHERE message_id = m.id GROUP BY 1) r
   ), taken AS (${takeDeltas('analytics_deltas')}
   ), counted AS MATERIALIZED (
     SELECT account_id, slot, channel, environment, api_key_id, sender, n.prefix, '' AS provider,
       CASE environment WHEN 'sandbox' THEN 'sent' ELSE 'pending' END AS status, '' AS error_code,
       NULL::smallint AS submit_bucket, NULL::smallint AS report_bucket, n.messages::bigint, n.recipients,
       n.cost_minor, 0::bigint AS refund_minor
     FROM accepted a CROSS JOIN LATERAL (
       VALUES (a.prefix, 0, a.recipients, a.cost_minor), ('', a.is_first::int, 0, 0)) AS n (prefix, messages, recipients, cost_minor)
     UNION ALL
     SELECT account_id, slot, channel, environment, api_key_id, sender, prefix, provider, status, error_code,
       submit_bucket, report_bucket, messages, recipients, cost_minor, refund_minor FROM taken
   ), slots AS (
     INSERT INTO analytics_slots AS s (minutes, slot, ${KEY}, ${FIGURES.join(', ')})
     SELECT level.minutes, ${SLOT_OF_LEVEL}, ${KEY}, ${sums.join(', ')}
     FROM counted c CROSS JOIN (VALUES ${LEVELS}) AS level (minutes)
     GROUP BY level.minutes, 2, ${KEY} HAVING ${sums.map((sum) => `${sum} <> 0`).join(' OR ')}
     ON CONFLICT (account_id, minutes, slot, channel, environment, api_key_id, sender, status, prefix, provider, error_code)
       DO UPDATE SET ${added}
   ), latencies AS (
     INSERT INTO analytics_latencies AS s (minutes, slot, ${OF_BOTH}, measure, bucket, recipients)
     SELECT level.minutes, ${SLOT_OF_LEVEL}, ${OF_BOTH}, b.measure, b.bucket, sum(recipients)
     FROM counted c CROSS JOIN LATERAL (VALUES ('submit', submit_bucket), ('report', report_bucket)) AS b (measure, bucket)
     CROSS JOIN (VALUES ${LEVELS}) AS level (minutes)
     WHERE b.bucket IS NOT NULL GROUP BY level.minutes, 2, ${OF_BOTH}, b.measure, b.bucket
     ON CONFLICT (account_id, minutes, slot, channel, environment, api_key_id, sender, prefix, provider, measure, bucket)
       DO UPDATE SET recipients = s.recipients + excluded.recipients
   ), marks AS (
     INSERT INTO analytics_marks (account_id, ${SEQS.map((channel) => `${channel}_seq`).join(', ')}, ledger_seq)
     SELECT id, ${SEQS.map((channel) => `${channel}_to`).join(', ')}, CASE WHEN is_whole AND NOT has_more THEN ledger_seq END
     FROM account CROSS JOIN deltas
     ON CONFLICT (account_id) DO UPDATE SET
       ${[...SEQS.map((channel) => `${channel}_seq`), 'ledger_seq'].map((column) => `${column} = excluded.${column}`).join(', ')}
   )
   SELECT has_more OR (SELECT count(*) FROM behind) > (SELECT count(*) FROM account WHERE is_whole) AS is_behind FROM deltas`,
);
