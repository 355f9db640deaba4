import type { Knex } from 'knex';
import { soon } from './soon.ts';

/** Built while the version before serves, so outside any transaction; it can be taken up again. */
export const config = { transaction: false };

/** Each counts 32 of the one before it. */
const SIZES = [64, 2048, 65_536] as const;
const [LEAF, MIDDLE] = SIZES;
/** How many blocks of the middle size are counted anew in one transaction. */
const STEP = 8;

const PLACE = 'account_id, channel, api_key_id, size, block, environment';
const STATUSES = ['pending', 'sent', 'delivered', 'failed'] as const;
const COUNTS = STATUSES.join(', ');
const each = (column: (status: string) => string) => STATUSES.map(column).join(', ');
/** A count by status from rows that have one, and a number of messages. */
const byStatus = (messages: string) =>
  each((status) => `coalesce(sum(${messages}) FILTER (WHERE status = '${status}'), 0) AS ${status}`);
const sums = each((status) => `sum(${status})`);
/** Adds rows of `PLACE` and counts, at the end of an INSERT. */
const ADDED = `ON CONFLICT (${PLACE}) DO UPDATE SET ${each((status) => `${status} = b.${status} + excluded.${status}`)}`;
const CHANGED = STATUSES.map((status) => `sum(${status}) <> 0`).join(' OR ');

/**
 * Messages counted by their place in the sequence: in blocks of 64 numbers, in blocks of 32 of those, and in blocks
 * of 32 of those again. So the block that holds any page of what has a status or an environment is found by reading
 * some dozen rows. Also by API key, but not in the smallest blocks, where they would be as many as messages.
 *
 * The deltas of usage tell the block, too. Whoever folds them, also a process of the version before, a trigger adds
 * them to the blocks. Those that such a process has written tell no block: what was sent in their hour is counted
 * anew, like everything that was there before this step, 2,048 numbers at a time (`uncounted_blocks`).
 */
export async function up(knex: Knex): Promise<void> {
  await soon(
    knex,
    `
    ALTER TABLE usage_deltas ADD COLUMN IF NOT EXISTS block int;
    CREATE TABLE IF NOT EXISTS message_blocks (
      account_id uuid NOT NULL,
      size int NOT NULL,
      block int NOT NULL,
      ${each((status) => `${status} int NOT NULL`)},
      channel text NOT NULL,
      api_key_id text NOT NULL,
      environment text NOT NULL,
      PRIMARY KEY (${PLACE})
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
    CREATE TABLE IF NOT EXISTS uncounted_blocks (
      account_id uuid NOT NULL,
      block int NOT NULL,
      channel text NOT NULL,
      PRIMARY KEY (account_id, channel, block)
    ) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

    CREATE OR REPLACE FUNCTION count_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        WITH counted AS MATERIALIZED (
          SELECT account_id, channel, api_key_id, block, environment, ${byStatus('messages::int')}
          FROM taken WHERE block IS NOT NULL GROUP BY 1, 2, 3, 4, 5
        )
        INSERT INTO message_blocks AS b (${PLACE}, ${COUNTS})
        SELECT account_id, channel, CASE WHEN l.by_key THEN api_key_id ELSE '' END, l.size, block / (l.size / ${LEAF}),
          environment, ${sums}
        FROM counted
        JOIN (VALUES ${SIZES.map((size) => `(${size}, false)${size === LEAF ? '' : `, (${size}, true)`}`).join(', ')})
          AS l (size, by_key) ON NOT (l.by_key AND api_key_id = '')
        GROUP BY 1, 2, 3, 4, 5, 6
        ${ADDED};
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
    CREATE OR REPLACE FUNCTION id_at(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;
    CREATE OR REPLACE TRIGGER deltas_folded AFTER DELETE ON usage_deltas REFERENCING OLD TABLE AS taken
      FOR EACH STATEMENT EXECUTE FUNCTION count_blocks();

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
               FROM recipients r WHERE r.message_id = m.id) AS status, 1 AS messages
            FROM messages m WHERE m.account_id = mark.account_id AND m.channel = mark.channel
              AND m.seq > mark.block::bigint * ${MIDDLE} AND m.seq <= (mark.block::bigint + 1) * ${MIDDLE}
            UNION ALL
            SELECT d.block, d.environment, d.api_key_id, d.status, -d.messages FROM usage_deltas d
            WHERE d.account_id = mark.account_id AND d.channel = mark.channel AND d.block / ${MIDDLE / LEAF} = mark.block
          ), actual AS (
            SELECT block, environment, api_key_id, ${byStatus('messages')} FROM message GROUP BY 1, 2, 3
          ), missing AS (
            SELECT '' AS api_key_id, ${LEAF} AS size, block, environment, ${COUNTS} FROM actual
            UNION ALL
            SELECT api_key_id, ${MIDDLE}, block / ${MIDDLE / LEAF}, environment, ${COUNTS} FROM actual
            WHERE api_key_id <> ''
            UNION ALL
            SELECT b.api_key_id, b.size, b.block, b.environment, ${each((status) => `-b.${status}`)}
            FROM message_blocks b WHERE b.account_id = mark.account_id AND b.channel = mark.channel
              AND b.api_key_id = '' AND b.size = ${LEAF}
              AND b.block >= mark.block * ${MIDDLE / LEAF} AND b.block < (mark.block + 1) * ${MIDDLE / LEAF}
            UNION ALL
            SELECT b.api_key_id, b.size, b.block, b.environment, ${each((status) => `-b.${status}`)}
            FROM api_keys k JOIN message_blocks b ON b.account_id = mark.account_id AND b.channel = mark.channel
              AND b.api_key_id = k.key_id AND b.size = ${MIDDLE} AND b.block = mark.block
            WHERE k.account_id = mark.account_id
          )
          INSERT INTO message_blocks AS b (${PLACE}, ${COUNTS})
          SELECT mark.account_id, mark.channel, api_key_id, l.size, block / (l.size / m.size), environment, ${sums}
          FROM missing m JOIN (VALUES ${SIZES.map((size) => `(${size})`).join(', ')}) AS l (size) ON l.size >= m.size
          GROUP BY 3, 4, 5, 6 HAVING ${CHANGED}
          ${ADDED};
        END LOOP;
        RETURN done;
      END $$;

    INSERT INTO uncounted_blocks (account_id, channel, block)
    SELECT a.id, c.channel, b.block FROM accounts a
    CROSS JOIN LATERAL (VALUES ('sms', a.sms_seq), ('email', a.email_seq), ('push', a.push_seq),
      ('whatsapp', a.whatsapp_seq)) AS c (channel, last)
    LEFT JOIN message_retention r ON r.account_id = a.id AND r.channel = c.channel
    CROSS JOIN LATERAL generate_series(coalesce(r.removed_seq, 0) / ${MIDDLE}, (c.last - 1) / ${MIDDLE}) AS b (block)
    WHERE c.last > 0 ON CONFLICT DO NOTHING;
  `,
  );
  for (let done = 1; done > 0; ) {
    done = (await knex.raw('SELECT count_uncounted(?) AS done', [STEP])).rows[0].done;
  }
}

/** Removes the counts; what they counted stays. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER deltas_folded ON usage_deltas;
    DROP FUNCTION count_blocks, count_uncounted, id_at;
    DROP TABLE message_blocks, uncounted_blocks;
    ALTER TABLE usage_deltas DROP COLUMN block;
  `);
}
