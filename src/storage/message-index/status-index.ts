import { MESSAGE_STATUSES, type MessageStatus } from '../../domain/messages/message.ts';
import { type Statement, statement } from '../postgres/sql.ts';
import { MESSAGE_COLUMNS, STATUS_OF_MESSAGE, WITH_RECIPIENTS } from '../stores/message-rows.ts';
import { KEPT_RANGE, rangeOf } from './seq-range.ts';

/**
 * How many messages the smallest blocks count, and how many of each size make one of the next. Block `b` of a size
 * begins above the number `b * size`. The smallest blocks tell which of their messages have a status, too: its `bitmap`
 * are bits, the lowest that of the first message.
 */
export const BLOCK = 64;
const FANOUT = 32;
const MIDDLE = BLOCK * FANOUT;
const LARGE = MIDDLE * FANOUT;
export const SIZES = [BLOCK, MIDDLE, LARGE] as const;
/** The smallest block that a message's `seq` is in, in SQL. */
export const BLOCK_OF_SEQ = `(seq - 1) / ${BLOCK}`;
/** The bitmap in their block that messages come to or leave; who is told of twice has gone on. */
export const BITMAP_OF_SEQ = `bit_xor(1::bigint << ((seq - 1) % ${BLOCK})::int)`;
/** The smallest blocks, `(account_id, channel, block)` of all accounts, that may hold a pending message. */
export const PENDING_BLOCKS = `(
    SELECT a.id AS account_id, c.channel, s.block FROM accounts a
    CROSS JOIN unnest(ARRAY['sms', 'email', 'push', 'whatsapp']) AS c (channel)
    CROSS JOIN LATERAL (
      SELECT block FROM message_blocks WHERE account_id = a.id AND channel = c.channel AND api_key_id = ''
        AND size = ${LARGE} AND pending <> 0 OFFSET 0) l
    CROSS JOIN LATERAL (
      SELECT block FROM message_blocks WHERE account_id = a.id AND channel = c.channel AND api_key_id = ''
        AND size = ${BLOCK} AND pending <> 0
        AND block >= l.block * ${LARGE / BLOCK} AND block < (l.block + 1) * ${LARGE / BLOCK} OFFSET 0) s
    UNION SELECT account_id, channel, block FROM usage_deltas WHERE status = 'pending')`;
/** Above every number, and where a block of each size ends. */
const NO_END = LARGE * FANOUT ** 5;

/** The filter that $1 to $5 are, over `messages m`: account, channel, status, environment, API key; null is none. */
export const MATCHING = `m.account_id = $1 AND m.channel = $2 AND ($4::text IS NULL OR m.environment = $4)
  AND ($5::text IS NULL OR m.api_key_id = $5) AND ($3::text IS NULL OR ${STATUS_OF_MESSAGE} = $3)`;

/**
 * Of part `p` the blocks in which some match, and how many, in what is folded and in what is not yet. As a lateral query
 * that groups, it is executed once a part, with the index.
 */
function counted(statuses: readonly MessageStatus[]): string {
  const matches = statuses.map((status) => `n.${status}`).join(' + ');
  return `(
        SELECT block::bigint, sum(matches)::int AS matches, bit_xor(bitmap) AS bitmap FROM (
          SELECT n.block, ${matches} AS matches, ${statuses.map((status) => `n.${status}_bitmap`).join(' # ')} AS bitmap
          FROM message_blocks n
          WHERE n.account_id = $1 AND n.channel = $2 AND n.api_key_id = coalesce($5::text, '') AND n.size = p.size
            AND n.block >= p.low AND n.block < p.high AND ($4::text IS NULL OR n.environment = $4) AND ${matches} <> 0
          UNION ALL
          SELECT u.block / (p.size / ${BLOCK}), u.matches, u.bitmap FROM unfolded u
          WHERE p.size > 1 AND u.block >= p.low * (p.size / ${BLOCK}) AND u.block < p.high * (p.size / ${BLOCK})
        ) told GROUP BY block HAVING sum(matches) > 0
      )`;
}

/** How a list is looked through. */
interface Way {
  /** Of the blocks that it is taken apart into, the smallest first. */
  readonly sizes: readonly number[];
  /** What part `p` is taken apart into, given the blocks that match: `block`, `matches`, `bitmap`. */
  readonly taken: (blocks: string) => string;
  /** The numbers on the page. */
  readonly page: string;
}

/** Whether some of a part are on the page: `through` is how many match in it and in all newer ones. */
const ON_PAGE = 'through > $7::bigint AND through - matches < $7::bigint + $8::bigint';
/** Whether the range begins or ends within a block. */
const AT_END = `p.size = ${BLOCK} AND (r.above > b.block * ${BLOCK} OR r.up_to < (b.block + 1) * ${BLOCK})`;
/** The bits from the range's first message in it on, and those up to its last. */
const IN_RANGE = `b.bitmap
          & CASE WHEN r.above > b.block * ${BLOCK} THEN -1::bigint << (r.above - b.block * ${BLOCK})::int ELSE -1 END
          & CASE WHEN r.up_to < (b.block + 1) * ${BLOCK} THEN ~(-1::bigint << (r.up_to - b.block * ${BLOCK})::int) ELSE -1 END`;
/** The smallest blocks tell where messages are, and so how many of theirs are in the range. */
const BY_BITMAP: Way = {
  sizes: [BLOCK, MIDDLE, LARGE],
  taken: (
    blocks,
  ) => `SELECT b.block, CASE WHEN ${AT_END} THEN bit_count((${IN_RANGE})::bit(${BLOCK}))::int ELSE b.matches END AS matches,
          CASE WHEN ${AT_END} THEN ${IN_RANGE} ELSE b.bitmap END AS bitmap
        FROM ${blocks} b CROSS JOIN asked r`,
  // As many match in its part, but older, as there are bits below its own.
  page: `SELECT low + i + 1 FROM (
        SELECT low, bitmap, through, generate_series(0, ${BLOCK - 1}) AS i FROM part WHERE size = 0 AND ${ON_PAGE}
      ) l WHERE bitmap >> i & 1 = 1
        AND through - bit_count((bitmap & ~(-1::bigint << i))::bit(${BLOCK})) BETWEEN $7::bigint + 1 AND $7::bigint + $8::bigint`,
};
/**
 * Without the smallest blocks: messages are looked at one by one, no more than the page may need; and then no blocks are
 * looked for in each of many parts.
 */
const oneByOne = (from: string, seq: string, where: string, most: string): Way => ({
  sizes: [1, MIDDLE, LARGE],
  taken: (blocks) => `SELECT block, matches, NULL::bigint AS bitmap FROM ${blocks} b WHERE p.size > 1
        UNION ALL
        (SELECT ${seq} - 1, 1, NULL FROM ${from}
         WHERE p.size = 1 AND ${where} AND ${seq} > p.low AND ${seq} <= p.high ORDER BY ${seq} DESC
         LIMIT least(p.matches, $7::bigint + $8::bigint - (p.through - p.matches), ${most}))`,
  page: 'SELECT low + 1 FROM part WHERE size = 0 AND through > $7::bigint AND through <= $7::bigint + $8::bigint',
});
/** No smallest blocks are counted by API key. Nobody asks for a page and the total at once. */
const BY_API_KEY = oneByOne('messages m', 'm.seq', MATCHING, 'nullif($8::bigint, 0)');
/** What failed is rare, and stays so: it has an index, in which it is cheaper to skip than to read many blocks. */
const FAILED = oneByOne(
  `failed_messages f LEFT JOIN LATERAL (
           SELECT * FROM messages m WHERE ($4::text IS NOT NULL OR $5::text IS NOT NULL)
             AND m.account_id = $1 AND m.channel = $2 AND m.seq = f.seq OFFSET 0
         ) m ON true`,
  'f.seq',
  `f.account_id = $1 AND f.channel = $2 AND ($4::text IS NULL OR m.environment = $4)
           AND ($5::text IS NULL OR m.api_key_id = $5)`,
  'NULL',
);

/** So has the sandbox, whatever the status. */
const SANDBOX = oneByOne(
  'messages m',
  'm.seq',
  `m.account_id = $1 AND m.channel = $2 AND m.environment = 'sandbox' AND ($5::text IS NULL OR m.api_key_id = $5)`,
  'NULL',
);

/**
 * The blocks that a range is covered with, the largest that fit: of each size those from `low` to before `high` that the
 * next larger size leaves over at its ends; of the smallest those, too, that only begin or end in it.
 */
function cover(sizes: readonly number[]): string {
  const top = sizes.length - 1;
  const bounds = sizes.map((size, level) => {
    const [down, up] = [
      (number: string) => `${number} / ${size}`,
      (number: string) => `(${number} + ${size - 1}) / ${size}`,
    ];
    const [low, high] = level === 0 ? [down, up] : [up, down];
    return `${low('above')} AS low${level}, ${high('up_to')} AS high${level}`;
  });
  const leftOver = sizes.slice(1).flatMap((size, level) => {
    const ratio = size / (sizes[level] ?? 1);
    return [
      `(${sizes[level]}, low${level}, least(low${level + 1} * ${ratio}, high${level}))`,
      `(${sizes[level]}, greatest(low${level + 1}, high${level + 1}) * ${ratio}, high${level})`,
    ];
  });
  return `(SELECT ${bounds.join(', ')} FROM asked WHERE above < up_to) ends
      CROSS JOIN LATERAL (VALUES ${leftOver.join(', ')}, (${sizes[top]}, low${top}, high${top})) AS b (size, low, high)
      WHERE b.low < b.high`;
}

/**
 * Covers the range with blocks, as if it went on where it ends with the list: what these count is the `total`. So the
 * parts that hold the page are known; they are taken apart into smaller ones, and these again. A row of `part` tells
 * into blocks of what `size`, from `low` to before `high`, the next turn takes it apart; 0 is none.
 */
function pageText(
  range: string,
  { sizes, taken, page }: Way,
  statuses: readonly MessageStatus[],
  shown: Shown,
): string {
  const smaller = sizes.slice(1).map((size, level) => `WHEN ${size} THEN ${sizes[level]}`);
  return `WITH RECURSIVE ${range}, asked AS MATERIALIZED (
      SELECT above, coalesce(nullif(least(up_to, $6::bigint), last), ${NO_END}) AS up_to FROM range
    ), unfolded AS MATERIALIZED (
      SELECT block, sum(messages)::int AS matches, bit_xor(bitmap) AS bitmap
      -- All are read, those of other accounts too: the account is what is compared first.
      FROM (SELECT * FROM usage_deltas WHERE account_id = $1 OFFSET 0) own
      WHERE channel = $2 AND ($3::text IS NULL OR status = $3)
        AND ($4::text IS NULL OR environment = $4) AND ($5::text IS NULL OR api_key_id = $5)
      GROUP BY block
    ), part (size, low, high, matches, through, bitmap) AS (
      SELECT b.size, b.low, b.high, NULL::int, NULL::bigint, NULL::bigint FROM ${cover(sizes)}
      UNION ALL
      SELECT s.smaller, c.above / greatest(s.smaller, 1), (c.above + c.size) / greatest(s.smaller, 1),
        c.matches, c.through, c.bitmap
      FROM (
        SELECT p.size, t.block * p.size AS above, t.matches, t.bitmap, coalesce(p.through - p.matches, 0)
          + sum(t.matches) OVER (PARTITION BY p.through ORDER BY t.block * p.size DESC ROWS UNBOUNDED PRECEDING) AS through
        FROM (SELECT * FROM part WHERE size > 0 AND (through IS NULL OR ${ON_PAGE})) p CROSS JOIN LATERAL (
          ${taken(counted(statuses))}
        ) t
      ) c CROSS JOIN LATERAL (SELECT CASE c.size ${smaller.join(' ')} ELSE 0 END AS smaller) s
    )
    SELECT t.total, f.* FROM (SELECT coalesce(max(through), 0) AS total FROM part) t LEFT JOIN LATERAL (
      SELECT ${shown.columns} FROM messages m ${shown.joins}
      WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = ANY (ARRAY(${page}))
    ) f ON true ORDER BY f.seq DESC`;
}

/** A statement for each status, one for the sandbox whatever the status, and one for everything else. */
type ByNarrow = { readonly [Narrow in MessageStatus | 'sandbox' | 'any']: Statement };
/** Of the whole list or of a span of time: what finds the span would be made ready for each page, also where there is none. */
export interface PageStatements {
  readonly whole: ByNarrow;
  readonly span: ByNarrow;
}
function pages(name: string, way: Way, shown: Shown): PageStatements {
  const within = (part: string, range: string): ByNarrow => {
    const of = (narrow: string, through: Way, statuses: readonly MessageStatus[] = MESSAGE_STATUSES) =>
      statement(`${name}-${part}-${narrow}`, pageText(range, through, statuses, shown));
    return {
      any: of('any', way),
      sandbox: of('sandbox', SANDBOX),
      pending: of('pending', way, ['pending']),
      sent: of('sent', way, ['sent']),
      delivered: of('delivered', way, ['delivered']),
      failed: of('failed', FAILED, ['failed']),
    };
  };
  return { whole: within('whole', KEPT_RANGE), span: within('span', rangeOf('$9')) };
}

/** What a page shows of a message `m`, and what it needs for that. */
interface Shown {
  readonly columns: string;
  readonly joins: string;
}
const KEY: Shown = { columns: 'm.id, m.channel, m.seq, m.created_at', joins: '' };
/**
 * A page of the messages that match, with their total, found by what the blocks tell of them. They take the filter
 * (`MATCHING`), $6 the highest number that is asked for, $7 how many to skip and $8 how many to show, and of a span of
 * time $9 its ends (`rangeOf`). This one shows messages with their recipients, by status and environment.
 */
export const MESSAGE_PAGE = pages('message-page', BY_BITMAP, {
  columns: `${MESSAGE_COLUMNS}, r.*`,
  joins: WITH_RECIPIENTS,
});
/** Keys of messages, by status and environment. */
export const KEY_PAGE = pages('key-page', BY_BITMAP, KEY);
/** Keys of messages sent with one API key; without a page, their total. */
export const KEY_PAGE_OF_API_KEY = pages('key-page-of-api-key', BY_API_KEY, KEY);
