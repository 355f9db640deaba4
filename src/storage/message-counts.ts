import type { Environment } from '../domain/caller.ts';
import type { MessageStatus } from '../domain/messages/message.ts';
import type { ChannelList, TimeFilter } from './channel-list.ts';
import { type Sql, statement } from './sql.ts';

/** What messages are counted by. */
export interface CountFilter extends TimeFilter {
  readonly status?: MessageStatus | undefined;
  readonly environment?: Environment | undefined;
  readonly apiKeyId?: string | undefined;
}
export interface Part {
  readonly skipped: number;
  readonly limit: number;
}
/** An hour or a day, and how many messages in it match. */
export interface Span {
  readonly start: Date;
  readonly hours: 1 | 24;
  readonly count: number;
}

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const WANTED = `account_id = $1 AND channel = $2 AND ($3::text IS NULL OR status = $3)
     AND ($4::text IS NULL OR environment = $4) AND ($5::text IS NULL OR api_key_id = $5)`;
/** The counts that match, of each hour or day, in `counts` and in what is not folded into them yet. */
const counted = (counts: string, start: string, ofDelta: string) => `(
     SELECT ${start} AS start, account_id, channel, status, environment, api_key_id, messages FROM ${counts}
     UNION ALL
     SELECT ${ofDelta}, account_id, channel, status, environment, api_key_id, messages FROM usage_deltas
   ) counted WHERE ${WANTED}`;
const BY_HOUR = counted('usage_hours', 'hour', 'hour');
const BY_DAY = counted('usage_days', 'day', `date_trunc('day', hour, 'UTC')`);
const HOURS = statement(
  'finder-hours',
  `SELECT start, 1 AS hours, sum(messages)::bigint AS count FROM ${BY_HOUR} AND start >= $6 AND start <= $7
   GROUP BY start HAVING sum(messages) > 0 ORDER BY start DESC LIMIT $8`,
);
// Days from $7 until $8, and hours from $6 before them and until $9 after them.
const SPANS = statement(
  'finder-spans',
  `SELECT start, 24 AS hours, sum(messages)::bigint AS count FROM ${BY_DAY} AND start >= $7 AND start < $8
   GROUP BY start HAVING sum(messages) > 0
   UNION ALL
   SELECT start, 1 AS hours, sum(messages)::bigint AS count FROM ${BY_HOUR} AND start >= $6 AND start < $7
   GROUP BY start HAVING sum(messages) > 0
   UNION ALL
   SELECT start, 1 AS hours, sum(messages)::bigint AS count FROM ${BY_HOUR} AND start >= $8 AND start <= $9
   GROUP BY start HAVING sum(messages) > 0
   ORDER BY start DESC`,
);

/**
 * How many messages match in each day of the filter's span of time, and in each hour of the days that it begins and
 * ends in, the newest first. `first` is when the list begins.
 */
export async function countsBySpan(
  sql: Sql,
  list: ChannelList,
  filter: CountFilter,
  first: Date,
): Promise<Span[]> {
  const last = filter.until && floorOf(filter.until, HOUR_MS);
  const firstDay = new Date(Math.ceil(first.getTime() / DAY_MS) * DAY_MS);
  const endOfDays = last && floorOf(last, DAY_MS);
  const hasDays = endOfDays === undefined || endOfDays >= firstDay;
  return sql.query<Span>(SPANS, [
    ...counting(list, filter),
    first,
    hasDays ? firstDay : first,
    hasDays ? (endOfDays ?? 'infinity') : first,
    last ?? 'infinity',
  ]);
}

/** How many messages match in each hour from `first` to `last` in which some do, the newest hours first. */
export async function countsByHour(
  sql: Sql,
  list: ChannelList,
  filter: CountFilter,
  { first, last, limit }: { readonly first: Date; readonly last: Date; readonly limit: number | null },
): Promise<Span[]> {
  return sql.query<Span>(HOURS, [...counting(list, filter), first, last, limit]);
}

/** The spans with the hours of each day in its place. */
export async function withHours(
  sql: Sql,
  list: ChannelList,
  filter: CountFilter,
  spans: readonly Span[],
): Promise<Span[]> {
  const days = spans.filter(({ hours }) => hours === 24);
  const [newest, oldest] = [days[0], days.at(-1)];
  if (!newest || !oldest) return [...spans];
  const last = new Date(newest.start.getTime() + DAY_MS - HOUR_MS);
  const hours = await countsByHour(sql, list, filter, { first: oldest.start, last, limit: null });
  return [...spans.filter((span) => span.hours === 1), ...hours].sort(
    (left, right) => right.start.getTime() - left.start.getTime(),
  );
}

/** The spans that hold a part of all that they count, and which part of what those hold it is. */
export function onPage(spans: readonly Span[], { skipped, limit }: Part): { spans: Span[]; part: Part } {
  let before = 0;
  let seen = 0;
  const held: Span[] = [];
  for (const span of spans) {
    if (seen + span.count <= skipped) before += span.count;
    else if (span.count > 0 && seen < skipped + limit) held.push(span);
    seen += span.count;
  }
  return { spans: held, part: { skipped: skipped - before, limit } };
}

function counting({ accountId, channel }: ChannelList, { status, environment, apiKeyId }: CountFilter) {
  return [accountId, channel, status ?? null, environment ?? null, apiKeyId ?? null];
}

/** The beginning of the hour or day that a time is in. */
export function floorOf(time: Date, stepMs: number): Date {
  return new Date(Math.floor(time.getTime() / stepMs) * stepMs);
}
