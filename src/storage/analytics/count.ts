import type { AnalyticsGroup } from '../../domain/analytics/analytics.ts';
import type { AnalyticsCount, Span } from '../../domain/ports/analytics-store.ts';
import { statement } from '../postgres/sql.ts';
import { SLOT_MINUTES } from './fold.ts';

const MINUTE_MS = 60_000;
const COLUMN_OF: Readonly<Record<AnalyticsGroup, string>> = {
  channel: 'channel',
  status: 'status',
  api_key: 'api_key_id',
  sender: 'sender',
  country: 'prefix',
  error_code: 'error_code',
  provider: 'provider',
  environment: 'environment',
};
const GROUPS = Object.keys(COLUMN_OF) as AnalyticsGroup[];
/**
 * SQL for the columns of the groups. The parameters of the statements: $1 the account, $2 to $5 the parts of the spans,
 * $6 the environment, $7 the columns to group by.
 */
const grouped = (groups: readonly AnalyticsGroup[]) =>
  groups.map(
    (group) =>
      `CASE WHEN '${COLUMN_OF[group]}' = ANY($7::text[]) THEN s.${COLUMN_OF[group]} END AS ${COLUMN_OF[group]}`,
  );
const from = (table: string) => `unnest($2::int[], $3::int[], $4::timestamptz[], $5::timestamptz[])
     AS part (span, minutes, low, high)
   CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE account_id = $1 AND minutes = part.minutes
     AND slot >= part.low AND slot < part.high OFFSET 0) s
   WHERE $6::text IS NULL OR s.environment = $6`;

/**
 * The figures by span and group. Each row also has the number of the last ledger entry that the figures contain. If
 * there are no figures, the only row has just this number.
 */
export const COUNT = statement(
  'analytics-count',
  `SELECT k.ledger_seq, f.* FROM (SELECT (SELECT ledger_seq FROM analytics_marks WHERE account_id = $1) AS ledger_seq) k
   LEFT JOIN LATERAL (
     SELECT part.span, ${grouped(GROUPS).join(', ')}, sum(s.messages)::bigint AS messages,
       sum(s.recipients)::bigint AS recipients,
       coalesce(sum(s.recipients) FILTER (WHERE s.status = 'delivered'), 0)::bigint AS delivered,
       coalesce(sum(s.recipients) FILTER (WHERE s.status = 'failed'), 0)::bigint AS failed,
       sum(s.cost_minor)::bigint AS cost_minor, sum(s.refund_minor)::bigint AS refund_minor
     FROM ${from('analytics_slots s')} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
     HAVING sum(s.messages) <> 0 OR sum(s.recipients) <> 0 LIMIT $8
   ) f ON true`,
);
export const LATENCIES = statement(
  'analytics-latencies',
  `SELECT part.span, ${grouped(GROUPS.filter((group) => group !== 'status' && group !== 'error_code')).join(', ')},
     s.measure, s.bucket, sum(s.recipients)::bigint AS recipients
   FROM ${from('analytics_latencies s')} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9`,
);
/**
 * The starts of intervals before $2. The interval that contains $1 has the number 0, and the numbers $5 to $6 are
 * returned.
 */
export const INTERVALS = statement(
  'analytics-intervals',
  `SELECT DISTINCT s.at FROM (SELECT date_trunc($3::text, $1::timestamptz, $4::text) AS at) f
   CROSS JOIN generate_series($5::int, $6::int) n
   CROSS JOIN LATERAL (SELECT CASE $3 WHEN 'hour' THEN date_trunc('hour', f.at + n * interval '1 hour', $4)
     ELSE ((f.at AT TIME ZONE $4) + n * ('1 ' || $3)::interval) AT TIME ZONE $4 END AS at) s
   WHERE s.at < $2 ORDER BY 1`,
);

/** Returns the parameters of `LATENCIES`. `COUNT` has the same parameters, and the limit as the last one. */
export function valuesOf(accountId: string, { spans, groupBy, environment }: AnalyticsCount): unknown[] {
  const columns = groupBy.map((group) => COLUMN_OF[group]);
  return [accountId, ...partColumnsOf(spans), environment ?? null, columns];
}

/** Returns the parts of spans as columns: numbers of the spans, lengths of the slots in minutes, starts and ends. */
export function partColumnsOf(spans: readonly Span[]): unknown[] {
  const parts = spans.flatMap((span, index) => partsOf(span).map((part) => ({ ...part, span: index })));
  return [
    parts.map(({ span }) => span),
    parts.map(({ minutes }) => minutes),
    parts.map(({ low }) => new Date(low)),
    parts.map(({ high }) => new Date(high)),
  ];
}

interface Part {
  readonly minutes: number;
  readonly low: number;
  high: number;
}

/** Splits a span into parts, each with the largest slots that fit. */
function partsOf({ from: start, to }: Span): readonly Part[] {
  const parts: Part[] = [];
  let at = start.getTime();
  while (at < to.getTime()) {
    const fits = (minutes: number) =>
      at % (minutes * MINUTE_MS) === 0 && at + minutes * MINUTE_MS <= to.getTime();
    const minutes = SLOT_MINUTES.findLast(fits) ?? SLOT_MINUTES[0];
    const end = at + minutes * MINUTE_MS;
    const last = parts.at(-1);
    if (last?.minutes === minutes) last.high = end;
    else parts.push({ minutes, low: at, high: end });
    at = end;
  }
  return parts;
}
