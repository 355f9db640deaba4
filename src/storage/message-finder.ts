import { SEARCH_REACH } from '../domain/ports/list-stores.ts';
import { type ChannelList, lastBefore, type SeqRange, seqRange } from './channel-list.ts';
import { containing } from './like.ts';
import {
  type CountFilter,
  countsByHour,
  countsBySpan,
  floorOf,
  HOUR_MS,
  onPage,
  type Part,
  type Span,
  withHours,
} from './message-counts.ts';
import { STATUS_OF_MESSAGE } from './message-rows.ts';
import { type Sql, type Statement, statement } from './sql.ts';

/**
 * Finding messages by their place in a channel's sequence, at any size (decision 20). Three facts make it cheap.
 * `seq` is dense within an account and channel, and `created_at` never goes back along it (intake sees to both): so a
 * span of time is a range of numbers, found by bisection, its total is a difference, and page N of it is a range
 * again. Messages are counted by day, hour, status, environment and key: so where a filter asks for those, only the
 * hours that hold the page are looked through. And what is rare has an index of its own: what failed, and the sandbox.
 */
export interface SeqFilter extends CountFilter {
  /** Part of the text, the sender or a recipient's address. */
  readonly search?: string | undefined;
}

/** A range that holds at most so many messages that match, where that is known. */
interface CountedRange extends SeqRange {
  readonly most: number | null;
}
export interface Found {
  /** In falling order. */
  readonly seqs: readonly number[];
  readonly total: number;
}

/** Up to here it is cheaper to skip in an index than to find the hours that hold the page. */
const SKIPPED_IN_INDEX = 500;

const CREATED_AT = statement(
  'finder-created-at',
  'SELECT created_at FROM messages WHERE account_id = $1 AND channel = $2 AND seq = $3',
);
const MATCHING = `m.account_id = $1 AND m.channel = $2 AND ($3::text IS NULL OR ${STATUS_OF_MESSAGE} = $3)
  AND ($4::text IS NULL OR m.environment = $4) AND ($5::text IS NULL OR m.api_key_id = $5)
  AND ($6::text IS NULL OR m.content ILIKE $6 OR m.sender ILIKE $6
    OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.address ILIKE $6))`;
/** Statements over the messages of `from`, whose numbers are `seq`. */
function over(name: string, from: string, seq: string, where: string): { seqs: Statement; count: Statement } {
  return {
    seqs: statement(
      `finder-seqs${name}`,
      `SELECT f.seq FROM unnest($7::bigint[], $8::bigint[], $9::bigint[])
         WITH ORDINALITY AS p (above, up_to, most, place)
       CROSS JOIN LATERAL (
         SELECT ${seq} AS seq FROM ${from} WHERE ${where} AND ${seq} > p.above AND ${seq} <= p.up_to
         ORDER BY ${seq} DESC LIMIT least(p.most, $10::bigint + $11::bigint)
       ) f ORDER BY p.place, f.seq DESC OFFSET $10 LIMIT $11`,
    ),
    count: statement(
      `finder-count${name}`,
      `SELECT count(*) AS count FROM ${from} WHERE ${where} AND ${seq} > $7 AND ${seq} <= $8`,
    ),
  };
}
const ALL = over('', 'messages m', 'm.seq', MATCHING);
const SANDBOX = over('-sandbox', 'messages m', 'm.seq', `${MATCHING} AND m.environment = 'sandbox'`);
const FAILED = over(
  '-failed',
  `failed_messages f CROSS JOIN LATERAL (
     SELECT * FROM messages m WHERE m.account_id = f.account_id AND m.channel = f.channel AND m.seq = f.seq
     OFFSET 0) m`,
  'f.seq',
  `f.account_id = $1 AND f.channel = $2 AND ${MATCHING}`,
);

/** The messages that match, by their place among those: a page that may be jumped to. */
export async function findPart(sql: Sql, list: ChannelList, filter: SeqFilter, part: Part): Promise<Found> {
  const range = within(filter, await seqRange(sql, list, filter));
  if (!isNarrow(filter)) return { seqs: newest(range, part), total: range.upTo - range.above };
  if (range.above === range.upTo || !list.keptSince) return { seqs: [], total: 0 };
  if (filter.search !== undefined) {
    const total = await count(sql, list, filter, range);
    return { seqs: await seqsIn(sql, list, filter, [{ ...range, most: total }], part), total };
  }
  const spans = await spansOf(sql, list, filter, range);
  const total = spans.reduce((sum, { count }) => sum + count, 0);
  if (isIndexed(filter) && part.skipped < SKIPPED_IN_INDEX) {
    return { seqs: await seqsIn(sql, list, filter, [{ ...range, most: total }], part), total };
  }
  const days = onPage(spans, part);
  const page = onPage(await withHours(sql, list, filter, days.spans), days.part);
  const ranges = await rangesOf(sql, list, range, page.spans);
  return { seqs: await seqsIn(sql, list, filter, ranges, page.part), total };
}

/** The newest `limit` messages that match and have a smaller number than `before`. */
export async function findBefore(
  sql: Sql,
  list: ChannelList,
  filter: SeqFilter,
  before: number,
  limit: number,
): Promise<readonly number[]> {
  const whole = within(filter, await seqRange(sql, list, filter));
  const range = { above: whole.above, upTo: Math.min(whole.upTo, before - 1) };
  if (range.upTo <= range.above) return [];
  const part = { skipped: 0, limit };
  if (!isNarrow(filter)) return newest(range, part);
  const ranges =
    isIndexed(filter) || filter.search !== undefined
      ? [{ ...range, most: null }]
      : await newestHours(sql, list, filter, range, limit);
  return seqsIn(sql, list, filter, ranges, part);
}

/** How many messages match. */
export async function countMatching(sql: Sql, list: ChannelList, filter: SeqFilter): Promise<number> {
  return (await findPart(sql, list, filter, { skipped: 0, limit: 0 })).total;
}

/** A search reaches so far back from the end of its span of time, since no index holds parts of texts. */
function within({ search }: SeqFilter, { above, upTo }: SeqRange): SeqRange {
  return { above: search === undefined ? above : Math.max(above, upTo - SEARCH_REACH), upTo };
}

/** Whether the filter asks for more than a span of time. */
function isNarrow({ status, environment, apiKeyId, search }: SeqFilter): boolean {
  return [status, environment, apiKeyId, search].some((value) => value !== undefined);
}

/** Whether an index holds what matches, and little else. */
function isIndexed({ status, environment }: SeqFilter): boolean {
  return status === 'failed' || environment === 'sandbox';
}

function newest({ above, upTo }: SeqRange, { skipped, limit }: Part): number[] {
  const first = upTo - skipped;
  return Array.from({ length: Math.max(0, Math.min(limit, first - above)) }, (_, index) => first - index);
}

function matching({ accountId, channel }: ChannelList, filter: SeqFilter): unknown[] {
  const { status, environment, apiKeyId, search } = filter;
  const pattern = search === undefined ? null : containing(search);
  return [accountId, channel, status ?? null, environment ?? null, apiKeyId ?? null, pattern];
}

function statementsFor({ status, environment }: SeqFilter) {
  return status === 'failed' ? FAILED : environment === 'sandbox' ? SANDBOX : ALL;
}

async function seqsIn(
  sql: Sql,
  list: ChannelList,
  filter: SeqFilter,
  ranges: readonly CountedRange[],
  { skipped, limit }: Part,
): Promise<readonly number[]> {
  if (ranges.length === 0 || limit === 0) return [];
  const rows = await sql.query<{ seq: number }>(statementsFor(filter).seqs, [
    ...matching(list, filter),
    ranges.map(({ above }) => above),
    ranges.map(({ upTo }) => upTo),
    ranges.map(({ most }) => most),
    skipped,
    limit,
  ]);
  return rows.map((row) => row.seq);
}

async function count(sql: Sql, list: ChannelList, filter: SeqFilter, { above, upTo }: SeqRange) {
  const values = [...matching(list, filter), above, upTo];
  const [row] = await sql.query<{ count: number }>(statementsFor(filter).count, values);
  return row?.count ?? 0;
}

/** How many messages match in the days of a filter's span of time, and in the hours at its ends, the newest first. */
async function spansOf(sql: Sql, list: ChannelList, filter: SeqFilter, range: SeqRange): Promise<Span[]> {
  const keptSince = list.keptSince ?? new Date(0);
  const isBegun = list.removed > 0 || (filter.from !== undefined && filter.from > keptSince);
  // The counts remember messages that are gone: what is kept begins like a span of time.
  const first = floorOf(filter.from && filter.from > keptSince ? filter.from : keptSince, HOUR_MS);
  const spans = await countsBySpan(sql, list, filter, first);
  const last = filter.until && floorOf(filter.until, HOUR_MS);
  const ends = new Set([isBegun ? first.getTime() : undefined, last?.getTime()]);
  const isCut = ({ start, hours }: Span) => hours === 1 && ends.has(start.getTime());
  const cut = await rangesOf(sql, list, range, spans.filter(isCut));
  const counts: number[] = [];
  // Of the hours at the ends only a part was asked for.
  for (const part of cut) counts.push(await count(sql, list, filter, part));
  return spans.map((span) => (isCut(span) ? { ...span, count: counts.shift() ?? 0 } : span));
}

/** The newest hours of `range` that together hold `limit` messages that match, or all of them. */
async function newestHours(
  sql: Sql,
  list: ChannelList,
  filter: SeqFilter,
  range: SeqRange,
  limit: number,
): Promise<CountedRange[]> {
  const values = [list.accountId, list.channel, range.upTo];
  const [top] = await sql.query<{ created_at: Date }>(CREATED_AT, values);
  if (!top || !list.keptSince) return [];
  const newestHour = floorOf(top.created_at, HOUR_MS);
  const first = floorOf(filter.from && filter.from > list.keptSince ? filter.from : list.keptSince, HOUR_MS);
  const hours = await countsByHour(sql, list, filter, { first, last: newestHour, limit: limit + 1 });
  let sure = 0;
  const wanted = hours.filter(({ start, count }) => {
    if (sure >= limit) return false;
    // Nobody knows how many of the newest hour's are within a range that ends before the list does.
    if (range.upTo === list.last || start.getTime() !== newestHour.getTime()) sure += count;
    return true;
  });
  return rangesOf(sql, list, range, wanted);
}

/** The numbers of the messages of each span, as far as they are in `range`. */
async function rangesOf(
  sql: Sql,
  list: ChannelList,
  range: SeqRange,
  spans: readonly Span[],
): Promise<CountedRange[]> {
  const times = spans.flatMap(({ start, hours }) => [start, new Date(start.getTime() + hours * HOUR_MS)]);
  const bounds = await lastBefore(sql, list, times);
  return spans.map(({ count }, index) => {
    const above = Math.max(range.above, bounds[2 * index] ?? 0);
    const upTo = Math.min(range.upTo, bounds[2 * index + 1] ?? 0);
    return { above, upTo: Math.max(above, upTo), most: count };
  });
}
