import type { Environment } from '../domain/caller.ts';
import type { Channel, MessageStatus } from '../domain/messages/message.ts';
import { SEARCH_REACH } from '../domain/ports/list-stores.ts';
import { containing } from './like.ts';
import {
  KEY_PAGES,
  KEY_PAGES_OF_API_KEY,
  KEY_WALKS,
  MESSAGE_PAGES,
  type PageStatements,
  WALKED_COUNTS,
} from './message-blocks.ts';
import type { MessageRow } from './message-rows.ts';
import { type SeqRange, seqRange, type TimeFilter } from './seq-range.ts';
import type { Sql, Statement } from './sql.ts';

/**
 * Finding messages by their place in a channel's sequence, at any size (decision 20). Three facts make it cheap.
 * `seq` is dense within an account and channel, and `created_at` never goes back along it (intake sees to both): so a
 * span of time is a range of numbers, found by bisection, its total is a difference, and page N of it is a range
 * again. Messages are counted in blocks of such numbers by status, environment and key: so where a filter asks for
 * those, only the blocks that hold the page are looked through. And what is rare has an index of its own: what
 * failed, and the sandbox.
 */
export interface SeqFilter extends TimeFilter {
  readonly status?: MessageStatus | undefined;
  readonly environment?: Environment | undefined;
  readonly apiKeyId?: string | undefined;
  /** Part of the text, the sender or a recipient's address. */
  readonly search?: string | undefined;
}
export interface Part {
  readonly skipped: number;
  readonly limit: number;
}
/** A message, and where it stands in the list of its channel. */
export interface KeyRow {
  readonly id: string;
  readonly channel: Channel;
  readonly seq: number;
  readonly created_at: Date;
}

/** The messages that match a status or an environment, by their place among those: a page that may be jumped to. */
export async function findPart(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
  { skipped, limit }: Part,
): Promise<{ readonly rows: readonly MessageRow[]; readonly total: number }> {
  const { above, upTo } = await openRange(sql, accountId, channel, filter);
  const values = [...matching(accountId, channel, filter), above, upTo, skipped, limit];
  return foundIn(await sql.query<Found<MessageRow>>(statementFor(MESSAGE_PAGES, filter), values));
}

/** The newest `limit` messages that match and have a smaller number than `before`. */
export async function findBefore(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
  before: number,
  limit: number,
): Promise<readonly KeyRow[]> {
  const whole = await openRange(sql, accountId, channel, filter);
  const upTo = Math.min(whole.upTo ?? Number.POSITIVE_INFINITY, before - 1);
  const range = within(filter, { above: whole.above, upTo });
  const values = [...matching(accountId, channel, filter), range.above, range.upTo];
  if (isWalked(filter)) {
    return sql.query<KeyRow>(statementFor(KEY_WALKS, filter), [...values, pattern(filter), limit]);
  }
  const rows = await sql.query<Found<KeyRow>>(keyPages(filter), [...values, 0, limit]);
  return foundIn(rows).rows;
}

/** How many messages match. */
export async function countMatching(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
): Promise<number> {
  const values = matching(accountId, channel, filter);
  if (!isWalked(filter)) {
    const { above, upTo } = await openRange(sql, accountId, channel, filter);
    return foundIn(await sql.query<Found<KeyRow>>(keyPages(filter), [...values, above, upTo, 0, 0])).total;
  }
  const range = within(filter, await seqRange(sql, accountId, channel, filter));
  if (filter.search === undefined && !isNarrow(filter)) return range.upTo - range.above;
  const counts = await sql.query<{ total: number }>(statementFor(WALKED_COUNTS, filter), [
    ...values,
    range.above,
    range.upTo,
    pattern(filter),
  ]);
  return counts[0]?.total ?? 0;
}

/** Whether the filter asks for what messages are counted by. */
export function isNarrow({ status, environment, apiKeyId }: SeqFilter): boolean {
  return status !== undefined || environment !== undefined || apiKeyId !== undefined;
}

/** Whether no count helps: any message fits, or its text must be looked at. */
function isWalked(filter: SeqFilter): boolean {
  return filter.search !== undefined || !isNarrow(filter);
}

/** The numbers of the span of time that is asked for; where none is, `upTo` is null: up to the newest. */
async function openRange(
  sql: Sql,
  accountId: string,
  channel: Channel,
  filter: SeqFilter,
): Promise<{ readonly above: number; readonly upTo: number | null }> {
  if (filter.from === undefined && filter.until === undefined) return { above: 0, upTo: null };
  const range = await seqRange(sql, accountId, channel, filter);
  return filter.until === undefined ? { above: range.above, upTo: null } : range;
}

/** A search reaches so far back from the end of its span of time, since no index holds parts of texts. */
function within({ search }: SeqFilter, { above, upTo }: SeqRange): SeqRange {
  return { above: search === undefined ? above : Math.max(above, upTo - SEARCH_REACH), upTo };
}

function matching(accountId: string, channel: Channel, filter: SeqFilter): unknown[] {
  const { status, environment, apiKeyId } = filter;
  return [accountId, channel, status ?? null, environment ?? null, apiKeyId ?? null];
}

function pattern({ search }: SeqFilter): string | null {
  return search === undefined ? null : containing(search);
}

function keyPages(filter: SeqFilter): Statement {
  return statementFor(filter.apiKeyId === undefined ? KEY_PAGES : KEY_PAGES_OF_API_KEY, filter);
}

function statementFor(statements: PageStatements, { status, environment }: SeqFilter): Statement {
  return status === 'failed'
    ? statements.failed
    : environment === 'sandbox'
      ? statements.sandbox
      : statements.all;
}

/** A row tells the total beside what it is about, which is nothing where the page is empty. */
type Found<Row> = { readonly total: number } & { readonly [Column in keyof Row]: Row[Column] | null };

function foundIn<Row extends { id: string }>(rows: readonly Found<Row>[]) {
  return { rows: rows.filter((row) => row.id !== null) as unknown as Row[], total: rows[0]?.total ?? 0 };
}
