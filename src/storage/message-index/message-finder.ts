import type { Environment } from '../../domain/caller.ts';
import type { Channel, MessageStatus } from '../../domain/messages/message.ts';
import { SEARCH_REACH } from '../../domain/ports/list-stores.ts';
import { containing } from '../postgres/like.ts';
import { type Sql, type Statement, statement } from '../postgres/sql.ts';
import { rangeOf, seqRange, type TimeFilter, timesOf } from './seq-range.ts';
import { KEY_PAGE, KEY_PAGE_OF_API_KEY, MATCHING, type PageStatements, statusKey } from './status-index.ts';

/**
 * Finds messages by their position in a channel's sequence, in lists of any size (R20). Intake guarantees that `seq`
 * has no gaps within an account and channel, and that `created_at` never decreases along `seq`. Therefore:
 * - A time span is a range of numbers, found by binary search. Its total is a difference of two numbers.
 * - Page N of a time span is a range of numbers too.
 *
 * Messages are also counted in blocks of numbers, by status, environment and API key. So a page with such a filter
 * reads only the blocks that it overlaps.
 */
export interface SeqFilter extends TimeFilter {
  /** Filter: the message has one of these statuses. */
  readonly status?: readonly MessageStatus[] | undefined;
  readonly environment?: Environment | undefined;
  readonly apiKeyId?: string | undefined;
  /**
   * A text that the message's text, its sender, or a recipient's address contains. An address is a phone number, an
   * email address, or platform and id of a device.
   */
  readonly search?: string | undefined;
  readonly sender?: string | undefined;
  /** Filter: one of the message's recipients has this error code. */
  readonly errorCode?: string | undefined;
  readonly provider?: string | undefined;
  /** Filter: one of the message's recipients has this status. */
  readonly recipientStatus?: MessageStatus | undefined;
}
export interface Part {
  readonly skipped: number;
  readonly limit: number;
}
/** A message, and its position (`seq`) in the list of its channel. */
export interface KeyRow {
  readonly id: string;
  readonly channel: Channel;
  readonly seq: number;
  readonly created_at: Date;
}
interface Found<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/**
 * SQL that is true if the filter is a search. A search reads the messages up to the number $7. It has one or more of
 * these conditions: $8 (a pattern for the text, the sender or an address), $9 (the sender), $10 (an error code), $11 (a
 * provider), $12 (a recipient's status). No index serves them, except the status `failed`. So a search reads only
 * `SEARCH_REACH` messages back from the end of its time span.
 */
const IS_SEARCHED = `coalesce($8::text, $9::text, $10::text, $11::text, nullif($12::text, 'failed')) IS NOT NULL`;
const newestWhere = (isBounded: string) => `WITH RECURSIVE ${rangeOf('$6')}, walked AS MATERIALIZED (
    SELECT least(up_to, $7::bigint) AS up_to,
      greatest(above, CASE WHEN ${isBounded} THEN least(up_to, $7::bigint) - ${SEARCH_REACH} END) AS above
    FROM range
  )`;
const WALKED = newestWhere(IS_SEARCHED);
const walked = (from: string, seq: string) => `FROM ${from}
  WHERE ${seq} > (SELECT above FROM walked) AND ${seq} <= (SELECT up_to FROM walked)
    AND ($8::text IS NULL OR m.content ILIKE $8 OR m.sender ILIKE $8
      OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.address ILIKE $8))
    AND ($9::text IS NULL OR m.sender = $9)
    AND (coalesce($10::text, $11::text, $12::text) IS NULL OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id
      AND ($10::text IS NULL OR r.error_code = $10) AND ($11::text IS NULL OR r.provider = $11)
      AND ($12::text IS NULL OR r.status = $12)))
    AND ${MATCHING}`;
const ALL = walked('messages m', 'm.seq');
/** The same search in one of the tables that list messages with failures. These messages are rare. */
const listed = (table: string) =>
  walked(
    `(SELECT * FROM ${table} WHERE account_id = $1 AND channel = $2) f CROSS JOIN LATERAL (
    SELECT * FROM messages m WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = f.seq OFFSET 0) m`,
    'f.seq',
  );
/** The search among messages whose recipients have all failed. */
const FAILED = listed('failed_messages');
/** The search among messages with a failed recipient. */
const WITH_FAILURES = listed('messages_with_failures');
const newestWalked = (from: string, seq: string) =>
  `${WALKED} SELECT m.id, m.channel, m.seq, m.created_at ${from} ORDER BY ${seq} DESC LIMIT $13`;
/** The newest $13 matching messages. Reads one message after another. */
const KEY_WALK = statement('key-walk', newestWalked(ALL, 'm.seq'));
const KEY_WALK_FAILED = statement('key-walk-failed', newestWalked(FAILED, 'f.seq'));
const KEY_WALK_WITH_FAILURES = statement('key-walk-with-failures', newestWalked(WITH_FAILURES, 'f.seq'));
/** The oldest $8 matching messages from number $7 on. Reads one message after another, in the time span $6. */
const KEY_CLIMB = statement(
  'key-climb',
  `WITH RECURSIVE ${rangeOf('$6')} SELECT m.id, m.channel, m.seq, m.created_at FROM messages m
   WHERE m.seq > (SELECT above FROM range) AND m.seq >= $7::bigint AND m.seq <= (SELECT up_to FROM range)
     AND ${MATCHING} ORDER BY m.seq LIMIT $8`,
);
/** The $13 costliest of the messages that a search reads. No stored count or index orders messages by cost. */
const COSTLIEST = statement(
  'costliest',
  `${newestWhere('true')} SELECT m.id, m.channel, m.seq, m.created_at, m.cost_minor ${ALL}
   ORDER BY m.cost_minor DESC, m.seq DESC LIMIT $13`,
);
/** The number of matching messages that a search reads. */
const WALKED_COUNT = statement('walked-count', `${WALKED} SELECT count(*) AS total ${ALL}`);
const WALKED_COUNT_FAILED = statement('walked-count-failed', `${WALKED} SELECT count(*) AS total ${FAILED}`);
const WALKED_COUNT_WITH_FAILURES = statement(
  'walked-count-with-failures',
  `${WALKED} SELECT count(*) AS total ${WITH_FAILURES}`,
);

/** Returns the newest `limit` matching messages with a number smaller than `before`. */
export async function findBefore(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
  before: number,
  limit: number,
): Promise<readonly KeyRow[]> {
  if (isWalked(filter)) {
    const walk = shortest(filter, KEY_WALK, KEY_WALK_FAILED, KEY_WALK_WITH_FAILURES);
    return sql.query<KeyRow>(walk, [...walking(accountId, channel, filter, before - 1), limit]);
  }
  const part = { skipped: 0, limit };
  return (await findPage<KeyRow>(sql, keyPages(filter), accountId, channel, filter, part, before - 1)).rows;
}

/**
 * Returns the oldest `limit` matching messages with the number `lowest` or a higher one, oldest first. The filter must
 * not be a search. Call it in one snapshot: for a filter that blocks serve, it first counts the matches, and then reads
 * a page by its offset.
 */
export async function findFrom(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
  lowest: number,
  limit: number,
): Promise<readonly KeyRow[]> {
  if (!isNarrow(filter)) {
    return sql.query<KeyRow>(KEY_CLIMB, [
      ...matching(accountId, channel, filter),
      timesOf(filter),
      lowest,
      limit,
    ]);
  }
  const page = (highest: number | null, part: Part) =>
    findPage<KeyRow>(sql, keyPages(filter), accountId, channel, filter, part, highest);
  const none = { skipped: 0, limit: 0 };
  const [all, below] = await Promise.all([page(null, none), page(lowest - 1, none)]);
  const matches = all.total - below.total;
  if (matches === 0) return [];
  const taken = Math.min(limit, matches);
  return (await page(null, { skipped: matches - taken, limit: taken })).rows.toReversed();
}

/** Returns the `limit` costliest of the matching messages that a search reads, costliest first. */
export async function findCostliest(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
  limit: number,
): Promise<readonly (KeyRow & { readonly cost_minor: number })[]> {
  return sql.query(COSTLIEST, [...walking(accountId, channel, filter, null), limit]);
}

/**
 * The oldest message that a search reads in the time span $3, among the numbers up to $4. No row if the search reads
 * all of them.
 */
const STOP = statement(
  'search-stop',
  `WITH RECURSIVE ${rangeOf('$3')}, walked AS MATERIALIZED (
     SELECT least(up_to, $4::bigint) - ${SEARCH_REACH} AS seq FROM range
     WHERE least(up_to, $4::bigint) - ${SEARCH_REACH} > above)
   SELECT m.created_at FROM walked JOIN messages m ON m.account_id = $1 AND m.channel = $2 AND m.seq = walked.seq + 1`,
);

/**
 * Returns the time of the oldest message that a search reads in a channel. The search begins below the number `before`,
 * or without `before` at the end of the time span. Undefined if the search reaches the start of the time span.
 */
export async function searchStop(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: TimeFilter,
  before: number | undefined,
): Promise<Date | undefined> {
  const highest = before === undefined ? null : before - 1;
  const [row] = await sql.queryOnDisk<{ created_at: Date }>(STOP, [
    accountId,
    channel,
    timesOf(filter),
    highest,
  ]);
  return row?.created_at;
}

/** Returns the number of matching messages. */
export async function countMatching(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
): Promise<number> {
  if (!isNarrow(filter) && !isSearched(filter)) {
    const { above, upTo } = await seqRange(sql, accountId, channel, filter);
    return upTo - above;
  }
  if (!isWalked(filter)) {
    const none = { skipped: 0, limit: 0 };
    return (await findPage<KeyRow>(sql, keyPages(filter), accountId, channel, filter, none)).total;
  }
  const count = shortest(filter, WALKED_COUNT, WALKED_COUNT_FAILED, WALKED_COUNT_WITH_FAILURES);
  const [row] = await sql.queryOnDisk<{ total: number }>(count, walking(accountId, channel, filter, null));
  return row?.total ?? 0;
}

/** Returns one of the three statements: the one that reads the shortest list that contains all matches. */
function shortest(filter: SeqFilter, all: Statement, failed: Statement, withFailures: Statement): Statement {
  if (statusKey(filter.status) === 'failed') return failed;
  return filter.recipientStatus === 'failed' ? withFailures : all;
}

/** True if the filter has a condition by which blocks count: status, environment or API key. */
export function isNarrow({ status, environment, apiKeyId }: SeqFilter): boolean {
  return statusKey(status) !== null || environment !== undefined || apiKeyId !== undefined;
}

/**
 * True if messages are read one by one, because the counts in blocks do not help. Either every message matches, or the
 * filter is a search.
 */
function isWalked(filter: SeqFilter): boolean {
  return isSearched(filter) || !isNarrow(filter);
}

/** True if the filter can only be checked by reading messages. */
function isSearched({ search, sender, errorCode, provider, recipientStatus }: SeqFilter): boolean {
  return [search, sender, errorCode, provider, recipientStatus].some((value) => value !== undefined);
}

/** Returns $1 to $5, which all statements here share. */
function matching(accountId: string, channel: Channel, filter: SeqFilter): unknown[] {
  const { status, environment, apiKeyId } = filter;
  return [accountId, channel, statusKey(status), environment ?? null, apiKeyId ?? null];
}

/** Returns $1 to $12 for the statements that read message by message. */
function walking(accountId: string, channel: Channel, filter: SeqFilter, highest: number | null): unknown[] {
  const pattern = filter.search === undefined ? null : containing(filter.search);
  const { sender = null, errorCode = null, provider = null, recipientStatus = null } = filter;
  const exact = [sender, errorCode, provider, recipientStatus];
  return [...matching(accountId, channel, filter), timesOf(filter), highest, pattern, ...exact];
}

function keyPages({ apiKeyId }: SeqFilter): PageStatements {
  return apiKeyId === undefined ? KEY_PAGE : KEY_PAGE_OF_API_KEY;
}

/**
 * Returns one page of the matching messages, and their total. Only messages with a number up to `highest` match. The
 * SQL statements, made by `messagePages`, decide the columns.
 */
export async function findPage<Row extends { id: string }>(
  sql: Sql,
  statements: PageStatements,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
  { skipped, limit }: Part,
  highest: number | null = null,
): Promise<Found<Row>> {
  const key = statusKey(filter.status);
  const narrow = ({ statuses, sandbox, any }: PageStatements['whole']) =>
    (key === null ? undefined : statuses.get(key)) ?? (filter.environment === 'sandbox' ? sandbox : any);
  const values = [...matching(accountId, channel, filter), highest, skipped, limit];
  const rows = await (filter.from === undefined && filter.until === undefined
    ? sql.queryOnDisk<PageRow<Row>>(narrow(statements.whole), values)
    : sql.queryOnDisk<PageRow<Row>>(narrow(statements.span), [...values, timesOf(filter)]));
  return { rows: rows.filter((row) => row.id !== null) as unknown as Row[], total: rows[0]?.total ?? 0 };
}

/** A row of a page. Each row also has the total. If the page is empty, its only row has just the total. */
type PageRow<Row> = { readonly total: number } & { readonly [Column in keyof Row]: Row[Column] | null };
