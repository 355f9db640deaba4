import type { Knex } from 'knex';
import * as messageBlocks from './20261121002200_message_blocks.ts';
import { soon } from './soon.ts';

/** Counted while the version before serves, so outside any transaction; it can be taken up again. */
export const config = { transaction: false };

/** Each counts 32 of the one before it. */
const SIZES = [64, 2048, 65_536] as const;
const [LEAF, MIDDLE] = SIZES;
/** How many blocks of the middle size are counted anew in one transaction. */
const STEP = 8;

const PLACE = 'account_id, channel, api_key_id, size, block, environment';
const STATUSES = ['pending', 'sent', 'delivered', 'failed'] as const;
const each = (column: (status: string) => string) => STATUSES.map(column).join(', ');
const COUNTS = each((status) => status);
const PLACES = each((status) => `${status}_places`);
const COLUMNS = `${COUNTS}, ${PLACES}`;
/** A count and places by status, from rows that have a status, a number of messages and their places. */
const byStatus = (messages: string) =>
  `${each((status) => `coalesce(sum(${messages}) FILTER (WHERE status = '${status}'), 0) AS ${status}`)},
    ${each((status) => `coalesce(bit_xor(places) FILTER (WHERE status = '${status}'), 0) AS ${status}_places`)}`;
/** The same from rows that have both by status; the larger sizes have no places. */
const SUMS = `${each((status) => `sum(${status})`)},
  ${each((status) => `CASE WHEN l.size = ${LEAF} THEN bit_xor(${status}_places) ELSE 0 END`)}`;
/** Adds rows of `PLACE` and `COLUMNS`, at the end of an INSERT. */
const ADDED = `ON CONFLICT (${PLACE}) DO UPDATE SET ${each((status) => `${status} = b.${status} + excluded.${status}`)},
  ${each((status) => `${status}_places = b.${status}_places # excluded.${status}_places`)}`;
const CHANGED = STATUSES.map((status) => `sum(${status}) <> 0 OR bit_xor(${status}_places) <> 0`).join(
  ' OR ',
);

/**
 * The smallest blocks tell which of their 64 messages have a status, too: a bit each. So what has one is found without
 * looking at any other message. A message that moves turns its bit in the two statuses, in `usage_deltas` and, when
 * these are folded, in its block: like counts, turns may come in any order.
 *
 * A process of the version before tells no places: blocks that it has counted in are looked through again
 * (`uncounted_blocks`), like everything that was there before this step.
 */
export async function up(knex: Knex): Promise<void> {
  await soon(
    knex,
    `
    ALTER TABLE usage_deltas ADD COLUMN IF NOT EXISTS places bigint;
    ALTER TABLE message_blocks ${each((status) => `ADD COLUMN IF NOT EXISTS ${status}_places bigint NOT NULL DEFAULT 0`)};

    CREATE OR REPLACE FUNCTION count_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        WITH counted AS MATERIALIZED (
          SELECT account_id, channel, api_key_id, block, environment, ${byStatus('messages::int')}
          FROM taken WHERE block IS NOT NULL GROUP BY 1, 2, 3, 4, 5
        )
        INSERT INTO message_blocks AS b (${PLACE}, ${COLUMNS})
        SELECT account_id, channel, CASE WHEN l.by_key THEN api_key_id ELSE '' END, l.size, block / (l.size / ${LEAF}),
          environment, ${SUMS}
        FROM counted
        JOIN (VALUES ${SIZES.map((size) => `(${size}, false)${size === LEAF ? '' : `, (${size}, true)`}`).join(', ')})
          AS l (size, by_key) ON NOT (l.by_key AND api_key_id = '')
        GROUP BY 1, 2, 3, l.size, 5, 6
        ${ADDED};
        INSERT INTO uncounted_blocks (account_id, channel, block)
        SELECT DISTINCT account_id, channel, block / ${MIDDLE / LEAF} FROM taken WHERE block IS NOT NULL AND places IS NULL
        ON CONFLICT DO NOTHING;
        -- Ids begin with the time, a moment before or after that of the message.
        INSERT INTO uncounted_blocks (account_id, channel, block)
        SELECT DISTINCT m.account_id, m.channel, (m.seq - 1) / ${MIDDLE}
        FROM (SELECT DISTINCT hour FROM taken WHERE block IS NULL) h
        -- By the key, whatever the planner knows: all messages of a large account would take longer than a fold may.
        CROSS JOIN LATERAL (
          SELECT account_id, channel, seq FROM messages
          WHERE id > id_at(h.hour - interval '1 minute') AND id < id_at(h.hour + interval '61 minutes') OFFSET 0) m
        JOIN (SELECT DISTINCT account_id, channel, hour FROM taken WHERE block IS NULL) t
          ON t.hour = h.hour AND t.account_id = m.account_id AND t.channel = m.channel
        ON CONFLICT DO NOTHING;
        RETURN NULL;
      END $$;

    -- What is missing is added, so it does not matter what is folded meanwhile. One moment is seen of all of it.
    CREATE OR REPLACE FUNCTION count_uncounted(most int) RETURNS int LANGUAGE plpgsql AS $$
      DECLARE
        mark uncounted_blocks;
        done int := 0;
      BEGIN
        -- In no order: those of busy accounts come again and again, and must not keep the others waiting.
        FOR mark IN
          WITH n AS MATERIALIZED (
            SELECT * FROM uncounted_blocks ORDER BY random() LIMIT most FOR UPDATE SKIP LOCKED
          )
          DELETE FROM uncounted_blocks u USING n
          WHERE u.account_id = n.account_id AND u.channel = n.channel AND u.block = n.block RETURNING u.*
        LOOP
          done := done + 1;
          WITH message AS MATERIALIZED (
            SELECT (m.seq - 1) / ${LEAF} AS block, m.environment, coalesce(m.api_key_id, '') AS api_key_id,
              (SELECT CASE WHEN bool_or(r.status = 'pending') THEN 'pending' WHEN bool_or(r.status = 'sent') THEN 'sent'
                 WHEN bool_or(r.status = 'delivered') THEN 'delivered' ELSE 'failed' END
               FROM recipients r WHERE r.message_id = m.id) AS status, 1 AS messages,
              1::bigint << ((m.seq - 1) % ${LEAF})::int AS places
            FROM messages m WHERE m.account_id = mark.account_id AND m.channel = mark.channel
              AND m.seq > mark.block::bigint * ${MIDDLE} AND m.seq <= (mark.block::bigint + 1) * ${MIDDLE}
            UNION ALL
            SELECT d.block, d.environment, d.api_key_id, d.status, -d.messages, d.places FROM usage_deltas d
            WHERE d.account_id = mark.account_id AND d.channel = mark.channel AND d.block / ${MIDDLE / LEAF} = mark.block
          ), actual AS (
            SELECT block, environment, api_key_id, ${byStatus('messages')} FROM message GROUP BY 1, 2, 3
          ), missing AS (
            SELECT '' AS api_key_id, ${LEAF} AS size, block, environment, ${COLUMNS} FROM actual
            UNION ALL
            SELECT api_key_id, ${MIDDLE}, block / ${MIDDLE / LEAF}, environment, ${COUNTS}, ${each(() => '0')} FROM actual
            WHERE api_key_id <> ''
            UNION ALL
            SELECT b.api_key_id, b.size, b.block, b.environment, ${each((status) => `-b.${status}`)},
              ${each((status) => `b.${status}_places`)}
            FROM message_blocks b WHERE b.account_id = mark.account_id AND b.channel = mark.channel
              AND b.api_key_id = '' AND b.size = ${LEAF}
              AND b.block >= mark.block * ${MIDDLE / LEAF} AND b.block < (mark.block + 1) * ${MIDDLE / LEAF}
            UNION ALL
            SELECT b.api_key_id, b.size, b.block, b.environment, ${each((status) => `-b.${status}`)}, ${each(() => '0')}
            FROM api_keys k JOIN message_blocks b ON b.account_id = mark.account_id AND b.channel = mark.channel
              AND b.api_key_id = k.key_id AND b.size = ${MIDDLE} AND b.block = mark.block
            WHERE k.account_id = mark.account_id
          )
          INSERT INTO message_blocks AS b (${PLACE}, ${COLUMNS})
          SELECT mark.account_id, mark.channel, api_key_id, l.size, block / (l.size / m.size), environment, ${SUMS}
          FROM missing m JOIN (VALUES ${SIZES.map((size) => `(${size})`).join(', ')}) AS l (size) ON l.size >= m.size
          GROUP BY 3, l.size, 5, 6 HAVING ${CHANGED}
          ${ADDED};
        END LOOP;
        RETURN done;
      END $$;

    INSERT INTO uncounted_blocks (account_id, channel, block)
    SELECT DISTINCT account_id, channel, block / ${MIDDLE / LEAF} FROM message_blocks WHERE size = ${LEAF}
    ON CONFLICT DO NOTHING;
  `,
  );
  for (let done = 1; done > 0; ) {
    done = (await knex.raw('SELECT count_uncounted(?) AS done', [STEP])).rows[0].done;
  }
}

/** Counts without places again. */
export async function down(knex: Knex): Promise<void> {
  await messageBlocks.up(knex);
  await soon(
    knex,
    `ALTER TABLE message_blocks ${each((status) => `DROP COLUMN ${status}_places`)};
     ALTER TABLE usage_deltas DROP COLUMN places`,
  );
}
