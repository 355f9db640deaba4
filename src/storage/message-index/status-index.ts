import { MESSAGE_STATUSES, type MessageStatus } from '../../domain/messages/message.ts';
import { type Statement, statement } from '../postgres/sql.ts';
import { KEPT_RANGE, rangeOf } from './seq-range.ts';

/**
 * BLOCK is the number of messages in a block of the smallest size. FANOUT is the number of blocks in a block of the
 * next size. Block `b` of a size contains the numbers above `b * size`. The smallest blocks also have a bitmap for each
 * status, which marks the messages with that status. The lowest bit is the first message of the block.
 */
export const BLOCK = 64;
const FANOUT = 32;
const MIDDLE = BLOCK * FANOUT;
const LARGE = MIDDLE * FANOUT;
export const SIZES = [BLOCK, MIDDLE, LARGE] as const;
/** SQL for the smallest block that contains a message's `seq`. */
export const BLOCK_OF_SEQ = `(seq - 1) / ${BLOCK}`;
/**
 * SQL for the bits of the messages in a block that entered or left a status. If a message entered and left it, its bit
 * is set twice, so the result is 0.
 */
export const BITMAP_OF_SEQ = `bit_xor(1::bigint << ((seq - 1) % ${BLOCK})::int)`;
/**
 * SQL for the smallest blocks of all accounts that may contain a pending message, as `(account_id, channel, block)`.
 */
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
/**
 * This number stands for the end of the list. It is greater than every message number, and a block of each size ends
 * there.
 */
const NO_END = LARGE * FANOUT ** 5;

/**
 * Computes the status of a message in SQL from its `recipients`, by the rules of `messageStatus`
 * (src/domain/messages/status.ts). It is not stored in the message: that row is written once and never updated.
 */
export const STATUS_OF_RECIPIENTS = `CASE WHEN bool_or(status = 'pending') THEN 'pending' WHEN bool_or(status = 'sent') THEN 'sent'
      WHEN bool_or(status = 'delivered') THEN 'delivered' ELSE 'failed' END`;
/** SQL for the status of a row of `messages m`, for conditions. */
export const STATUS_OF_MESSAGE = `(SELECT ${STATUS_OF_RECIPIENTS} FROM recipients WHERE message_id = m.id)`;

const BETWEEN_STATUSES = '+';
/** Returns several statuses as one text parameter, in the order of `MESSAGE_STATUSES`. Null stands for all statuses. */
export function statusKey(statuses: readonly MessageStatus[] | undefined): string | null {
  const asked = MESSAGE_STATUSES.filter((status) => statuses?.includes(status));
  return asked.length === 0 || asked.length === MESSAGE_STATUSES.length ? null : asked.join(BETWEEN_STATUSES);
}
/** SQL that is true if the status is one of those in $3. */
const asked = (status: string) =>
  `($3::text IS NULL OR ${status} = ANY (string_to_array($3, '${BETWEEN_STATUSES}')))`;

/**
 * SQL for the filter of the parameters $1 to $5, over `messages m`: account, channel, statuses, environment, API key.
 * Null matches all.
 */
export const MATCHING = `m.account_id = $1 AND m.channel = $2 AND ($4::text IS NULL OR m.environment = $4)
  AND ($5::text IS NULL OR m.api_key_id = $5) AND ${asked(STATUS_OF_MESSAGE)}`;

/**
 * SQL for the blocks of part `p` that have matching messages, with the number of these. It includes deltas that are not
 * folded into blocks yet. As a lateral query with a GROUP BY it runs once for each part and uses the index.
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

/** One way to search a list. */
interface Way {
  /** The block sizes through which the search descends, smallest first. */
  readonly sizes: readonly number[];
  /**
   * Returns SQL for the smaller pieces into which a part `p` is split. `blocks` are its matching blocks, with the
   * columns `block`, `matches` and `bitmap`.
   */
  readonly taken: (blocks: string) => string;
  /** SQL for the message numbers on the page. */
  readonly page: string;
}

/**
 * SQL that is true if a part overlaps the page. `through` is the number of matches in the part and in all newer parts.
 * $7 is the offset of the page and $8 its limit.
 */
const ON_PAGE = 'through > $7::bigint AND through - matches < $7::bigint + $8::bigint';
/** SQL that is true if the range begins or ends inside a block. */
const AT_END = `p.size = ${BLOCK} AND (r.above > b.block * ${BLOCK} OR r.up_to < (b.block + 1) * ${BLOCK})`;
/** SQL for the bits of the block that lie inside the range. */
const IN_RANGE = `b.bitmap
          & CASE WHEN r.above > b.block * ${BLOCK} THEN -1::bigint << (r.above - b.block * ${BLOCK})::int ELSE -1 END
          & CASE WHEN r.up_to < (b.block + 1) * ${BLOCK} THEN ~(-1::bigint << (r.up_to - b.block * ${BLOCK})::int) ELSE -1 END`;
/**
 * Uses the bitmaps of the smallest blocks. They show which messages match, so the matches inside the range can be
 * counted.
 */
const BY_BITMAP: Way = {
  sizes: [BLOCK, MIDDLE, LARGE],
  taken: (
    blocks,
  ) => `SELECT b.block, CASE WHEN ${AT_END} THEN bit_count((${IN_RANGE})::bit(${BLOCK}))::int ELSE b.matches END AS matches,
          CASE WHEN ${AT_END} THEN ${IN_RANGE} ELSE b.bitmap END AS bitmap
        FROM ${blocks} b CROSS JOIN asked r`,
  // The offset of a message within its part is the number of set bits above its own bit.
  page: `SELECT low + i + 1 FROM (
        SELECT low, bitmap, through, generate_series(0, ${BLOCK - 1}) AS i FROM part WHERE size = 0 AND ${ON_PAGE}
      ) l WHERE bitmap >> i & 1 = 1
        AND through - bit_count((bitmap & ~(-1::bigint << i))::bit(${BLOCK})) BETWEEN $7::bigint + 1 AND $7::bigint + $8::bigint`,
};
/**
 * Uses only the middle and the largest blocks. Inside a middle block, it reads messages one by one, but not more than
 * the page may need. That is faster than reading many small blocks.
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
/**
 * The smallest blocks do not count by API key, so messages are read one by one. A caller wants either a page or the
 * total, never both at once.
 */
const BY_API_KEY = oneByOne('messages m', 'm.seq', MATCHING, 'nullif($7::bigint + $8::bigint, 0)');
/** Failed messages are rare and have an index. Reading that index is faster than reading many blocks. */
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

/** Sandbox messages also have an index, for any status. */
const SANDBOX = oneByOne(
  'messages m',
  'm.seq',
  `m.account_id = $1 AND m.channel = $2 AND m.environment = 'sandbox' AND ($5::text IS NULL OR m.api_key_id = $5)`,
  'NULL',
);

/**
 * Returns SQL for the blocks that cover a range, using the largest blocks that fit. Large blocks do not reach the two
 * ends of the range. Blocks of the next smaller size cover the rest. Blocks have numbers from `low` up to but not
 * including `high`. Blocks of the smallest size may reach beyond the range.
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
 * Returns the SQL for a page. It covers the range with blocks, and the sum of their counts is the `total`. Parts that
 * overlap the page are split into smaller blocks, again and again. In a row of `part`, `size` is the size of the blocks
 * into which the next step splits it. Those are the blocks from `low` up to but not including `high`. A part of size 0
 * is not split further.
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
      -- The table is small, so all of it is read. OFFSET 0 makes PostgreSQL compare the account first.
      FROM (SELECT * FROM usage_deltas WHERE account_id = $1 OFFSET 0) own
      WHERE channel = $2 AND ${asked('status')}
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

/** All sets of statuses, except the empty set and the set of all. */
const STATUS_SETS: readonly (readonly MessageStatus[])[] = Array.from(
  { length: 2 ** MESSAGE_STATUSES.length - 2 },
  (_, index) => MESSAGE_STATUSES.filter((_status, bit) => ((index + 1) >> bit) & 1),
);
/** A statement for each set of statuses (by its `statusKey`), one for the sandbox, and one for all other filters. */
interface ByNarrow {
  readonly statuses: ReadonlyMap<string, Statement>;
  readonly sandbox: Statement;
  readonly any: Statement;
}
/**
 * `whole` has the statements for the whole list, `span` those for a time span. They are separate, so that a page of the
 * whole list does not contain the search for a time span.
 */
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
      statuses: new Map(
        STATUS_SETS.map((set) => {
          const key = set.join(BETWEEN_STATUSES);
          return [key, of(key, key === 'failed' ? FAILED : way, set)];
        }),
      ),
    };
  };
  return { whole: within('whole', KEPT_RANGE), span: within('span', rangeOf('$9')) };
}

/** What a page returns about a message `m`: the columns, and the joins that they need. */
export interface Shown {
  readonly columns: string;
  readonly joins: string;
}
/**
 * Returns the statements for a page of matching messages with their total, found through the blocks. Parameters: $1 to
 * $5 the filter (`MATCHING`), $6 the highest number, $7 the offset, $8 the limit. For a time span, $9 has its ends
 * (`rangeOf`).
 */
export const messagePages = (name: string, shown: Shown): PageStatements => pages(name, BY_BITMAP, shown);
const KEY: Shown = { columns: 'm.id, m.channel, m.seq, m.created_at', joins: '' };
/** A page of ids and numbers of messages, by status and environment. */
export const KEY_PAGE = messagePages('key-page', KEY);
/** A page of ids and numbers of messages sent with one API key. With limit 0, only their total. */
export const KEY_PAGE_OF_API_KEY = pages('key-page-of-api-key', BY_API_KEY, KEY);
