import { MESSAGE_COLUMNS, STATUS_OF_MESSAGE, WITH_RECIPIENTS } from './message-rows.ts';
import { LAST_SEQ } from './seq-range.ts';
import { type Statement, statement } from './sql.ts';

/** How many messages the smallest blocks count; each larger size counts 32 of the one before. */
export const BLOCK = 64;
const FANOUT = 32;
const SIZES = [BLOCK * FANOUT ** 2, BLOCK * FANOUT, BLOCK] as const;
/** The smallest block that a message's `seq` is in, in SQL. */
export const BLOCK_OF_SEQ = `(seq - 1) / ${BLOCK}`;
/** A block behind every other, whatever its size. */
const NO_END = FANOUT ** 6;

/**
 * What all statements below take: $1 to $5 are a filter (account, channel, status, environment, API key; null is no
 * filter), $6 and $7 a range of numbers (above, up to; null is the newest). What is pending or sent is looked for among
 * the recipients that are not settled, which are few; but those of the sandbox are settled as sent. (CASE
 * keeps this order. With EXISTS, all that are not settled would be read where the planner takes them for few.)
 */
const MATCHING = `m.account_id = $1 AND m.channel = $2
  AND ($4::text IS NULL OR m.environment = $4) AND ($5::text IS NULL OR m.api_key_id = $5)
  AND CASE WHEN $3::text IS NULL THEN true
    WHEN $3 IN ('delivered', 'failed') OR m.environment = 'sandbox'
      OR (SELECT true FROM recipients r WHERE r.message_id = m.id AND r.settled = false LIMIT 1)
    THEN ${STATUS_OF_MESSAGE} = $3 ELSE false END`;

const SAYING = `($8::text IS NULL OR m.content ILIKE $8 OR m.sender ILIKE $8
  OR EXISTS (SELECT FROM recipients r WHERE r.message_id = m.id AND r.address ILIKE $8))`;

/** Where messages that match are looked for. */
interface Source {
  readonly from: string;
  readonly seq: string;
  readonly where: string;
}
const ALL: Source = { from: 'messages m', seq: 'm.seq', where: MATCHING };
const SANDBOX: Source = { ...ALL, where: `${MATCHING} AND m.environment = 'sandbox'` };
/** What failed stays so; its messages are read only where something `isAsked` of them. */
const failed = (isAsked: string): Source => ({
  from: `failed_messages f LEFT JOIN LATERAL (
    SELECT * FROM messages m WHERE (${isAsked}) AND m.account_id = $1 AND m.channel = $2 AND m.seq = f.seq OFFSET 0
  ) m ON true`,
  seq: 'f.seq',
  where: `f.account_id = $1 AND f.channel = $2 AND $3 = 'failed'
    AND ($4::text IS NULL OR m.environment = $4) AND ($5::text IS NULL OR m.api_key_id = $5)`,
});

/**
 * How many match in each block from `b.low` to before `b.high` of `b.size`, in what is folded and in what is not yet.
 * As a lateral query that groups, it is executed once a row, with the index.
 */
const COUNTED = `CROSS JOIN LATERAL (
    SELECT block, sum(matches)::int AS matches FROM (
      SELECT n.block, CASE $3::text WHEN 'pending' THEN n.pending WHEN 'sent' THEN n.sent
        WHEN 'delivered' THEN n.delivered WHEN 'failed' THEN n.failed
        ELSE n.pending + n.sent + n.delivered + n.failed END AS matches
      FROM message_blocks n
      WHERE n.account_id = $1 AND n.channel = $2 AND n.api_key_id = coalesce($5::text, '') AND n.size = b.size
        AND n.block >= b.low AND n.block < b.high AND ($4::text IS NULL OR n.environment = $4)
      UNION ALL
      SELECT d.block / (b.size / ${BLOCK}), d.matches FROM delta d
      WHERE d.block >= b.low * (b.size / ${BLOCK}) AND d.block < b.high * (b.size / ${BLOCK})
    ) counted GROUP BY block HAVING sum(matches) > 0
  ) c`;

/** A page of the messages that match, with their total, found by what the blocks count of them. */
export interface PageStatements {
  readonly all: Statement;
  readonly sandbox: Statement;
  readonly failed: Statement;
}

/** What a page shows of a message `m`, and what it needs for that. */
interface Shown {
  readonly columns: string;
  readonly joins: string;
  /** Whether the page comes with the total; otherwise a page of none does. */
  readonly hasTotal: boolean;
}

/** Messages with their recipients, by status and environment. */
export const MESSAGE_PAGES = pages('messages', SIZES, {
  columns: `${MESSAGE_COLUMNS}, r.*`,
  joins: WITH_RECIPIENTS,
  hasTotal: true,
});
const KEY: Shown = { columns: 'm.id, m.channel, m.seq, m.created_at', joins: '', hasTotal: false };
/** Keys of messages, by status and environment. */
export const KEY_PAGES = pages('keys', SIZES, KEY);
/** Keys of messages sent with one API key: the smallest blocks are not counted by those. */
export const KEY_PAGES_OF_API_KEY = pages('keys-of-api-key', SIZES.slice(0, -1), KEY);

/**
 * The newest messages in a range that match and whose text, sender or a recipient is like $8, at most $9, and how many
 * there are, one message after another.
 */
export const KEY_WALKS = sources('walk', failed('true'), ({ from, seq, where }) => {
  return `SELECT ${KEY.columns} FROM ${from} WHERE ${where} AND ${SAYING} AND ${seq} > $6 AND ${seq} <= $7
    ORDER BY ${seq} DESC LIMIT $9`;
});
export const WALKED_COUNTS = sources('walked-count', failed('true'), ({ from, seq, where }) => {
  return `SELECT count(*) AS total FROM ${from} WHERE ${where} AND ${SAYING} AND ${seq} > $6 AND ${seq} <= $7`;
});

function sources(name: string, ofFailed: Source, text: (source: Source) => string): PageStatements {
  return {
    all: statement(`blocks-${name}`, text(ALL)),
    sandbox: statement(`blocks-${name}-sandbox`, text(SANDBOX)),
    failed: statement(`blocks-${name}-failed`, text(ofFailed)),
  };
}

function pages(name: string, sizes: readonly number[], shown: Shown): PageStatements {
  const ofFailed = failed('$4::text IS NOT NULL OR $5::text IS NOT NULL');
  // To skip in the index of what failed is cheaper than to read about the smallest blocks.
  const ofIndex = sizes.slice(0, 2);
  return sources(name, ofFailed, (source) => pageText(source === ofFailed ? ofIndex : sizes, source, shown));
}

/**
 * The range is covered with the largest blocks that fit, as if it went on where it ends with the list, and what is
 * left at its ends is counted message by message: `total` is the sum. `through` is how many match in a part and all
 * newer ones; so the parts that hold the page are known, and are taken apart into smaller blocks, and at last into
 * messages.
 */
function pageText(
  sizes: readonly number[],
  { from, seq, where }: Source,
  { columns, joins, hasTotal }: Shown,
): string {
  const smallest = sizes.at(-1) ?? BLOCK;
  const levels = sizes.toReversed();
  const rounded = levels.slice(1).map(
    (_, level) => `CROSS JOIN LATERAL (SELECT (low${level} + ${FANOUT - 1}) / ${FANOUT} AS low${level + 1},
      high${level} / ${FANOUT} AS high${level + 1}) AS level${level + 1}`,
  );
  const covers = levels.flatMap((size, level) => {
    const [low, high] = [`low${level}`, `high${level}`];
    if (level === levels.length - 1) return [`(${size}, ${low}, ${high})`];
    const [lowAbove, highAbove] = [`low${level + 1}`, `high${level + 1}`];
    return [
      `(${size}, ${low}, least(${lowAbove} * ${FANOUT}, ${high}))`,
      `(${size}, greatest(${highAbove}, ${lowAbove}) * ${FANOUT}, ${high})`,
    ];
  });
  const onPage = (parts: string) =>
    `SELECT * FROM ${parts} WHERE through > $8::bigint AND through - matches < $8::bigint + $9::bigint`;
  const apart = sizes.slice(1).map(
    (size, index) => `, kept${index} AS MATERIALIZED (${onPage(`parts${index}`)}
    ), parts${index + 1} AS MATERIALIZED (
      SELECT * FROM kept${index} WHERE size IS DISTINCT FROM ${sizes[index]}
      UNION ALL
      SELECT ${size}, c.block, c.block * ${size}::bigint, (c.block + 1) * ${size}::bigint, c.matches,
        b.before + sum(c.matches) OVER (PARTITION BY b.low ORDER BY c.block DESC)
      FROM (
        SELECT ${size} AS size, block * ${FANOUT} AS low, (block + 1) * ${FANOUT} AS high, through - matches AS before
        FROM kept${index} WHERE size = ${sizes[index]}
      ) b ${COUNTED}
    )`,
  );
  return `WITH ends AS MATERIALIZED (
      SELECT above, up_to, (above + ${smallest - 1}) / ${smallest} AS low0,
        coalesce(up_to / ${smallest}, ${NO_END}) AS high0
      FROM (
        SELECT greatest($6::bigint, r.removed_seq) AS above, nullif(least($7::bigint, ${LAST_SEQ}), ${LAST_SEQ}) AS up_to
        FROM accounts a LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = $2 WHERE a.id = $1
      ) AS range
    ), delta AS MATERIALIZED (
      SELECT block, sum(messages)::int AS matches FROM usage_deltas
      WHERE account_id = $1 AND channel = $2 AND block IS NOT NULL AND ($3::text IS NULL OR status = $3)
        AND ($4::text IS NULL OR environment = $4) AND ($5::text IS NULL OR api_key_id = $5)
      GROUP BY block
    ), part AS MATERIALIZED (
      SELECT b.size, c.block::bigint AS block, c.block * b.size::bigint AS above, (c.block + 1) * b.size::bigint AS up_to,
        c.matches
      FROM (
        SELECT b.* FROM ends ${rounded.join(' ')} CROSS JOIN LATERAL (VALUES ${covers.join(', ')}) AS b (size, low, high)
        WHERE b.low < b.high
      ) b ${COUNTED}
      UNION ALL
      SELECT NULL, NULL, e.above, e.up_to,
        (SELECT count(*)::int FROM (
          SELECT FROM ${from} WHERE ${where} AND ${seq} > e.above AND ${seq} <= e.up_to
          ORDER BY ${seq} DESC ${hasTotal ? '' : 'LIMIT nullif($9::bigint, 0)'}) matching)
      FROM (
        SELECT above, least(low0 * ${smallest}, up_to) AS up_to FROM ends
        WHERE above % ${smallest} <> 0 AND (up_to IS NULL OR up_to > above)
        UNION ALL
        SELECT high0 * ${smallest}, up_to FROM ends WHERE up_to % ${smallest} <> 0 AND high0 >= low0
      ) e
    ), parts0 AS MATERIALIZED (
      SELECT *, sum(matches) OVER (ORDER BY above DESC) AS through FROM part
    ) ${apart.join(' ')}, last AS MATERIALIZED (${onPage(`parts${sizes.length - 1}`)}
    ), page AS MATERIALIZED (
      SELECT f.seq FROM last l CROSS JOIN LATERAL (
        SELECT ${seq} AS seq FROM ${from} WHERE ${where} AND ${seq} > l.above AND ${seq} <= l.up_to
        ORDER BY ${seq} DESC LIMIT least(l.matches, $8::bigint + $9::bigint - (l.through - l.matches))
      ) f ORDER BY f.seq DESC OFFSET $8::bigint - (SELECT min(through - matches) FROM last) LIMIT $9
    )
    SELECT t.total, f.* FROM (SELECT coalesce(sum(matches), 0) AS total FROM part) t LEFT JOIN LATERAL (
      SELECT ${columns} FROM page p CROSS JOIN LATERAL (
        SELECT * FROM messages m WHERE m.account_id = $1 AND m.channel = $2 AND m.seq = p.seq OFFSET 0
      ) m ${joins}
    ) f ON true ORDER BY f.seq DESC`;
}
