import { MESSAGE_STATUSES, type MessageStatus } from '../../domain/messages/message.ts';
import { BLOCK, SIZES } from './status-index.ts';

const KEY = 'account_id, channel, api_key_id, size, block, environment';
const each = (column: (status: MessageStatus) => string) => MESSAGE_STATUSES.map(column).join(', ');
const LARGER = SIZES.filter((size) => size !== BLOCK);
/**
 * The blocks that count a message. Blocks of all sizes count it without its API key. Blocks of the larger sizes also
 * count it by its API key.
 */
const LEVELS = [
  ...SIZES.map((size) => `(${size}, false)`),
  ...LARGER.map((size) => `(${size}, true)`),
].join();

/** Returns an INSERT that adds the rows of `usage_deltas` in `taken` to the blocks. */
export function foldBlocks(taken: string): string {
  return `INSERT INTO message_blocks AS b (${KEY}, ${each((status) => status)}, ${each((status) => `${status}_bitmap`)})
    SELECT account_id, channel, CASE WHEN level.by_key THEN api_key_id ELSE '' END, level.size,
      block / (level.size / ${BLOCK}), environment,
      ${each((status) => `coalesce(sum(messages) FILTER (WHERE status = '${status}'), 0)`)},
      ${each((status) => `coalesce(bit_xor(bitmap) FILTER (WHERE status = '${status}' AND level.size = ${BLOCK}), 0)`)}
    FROM ${taken} JOIN (VALUES ${LEVELS}) AS level (size, by_key) ON NOT (level.by_key AND api_key_id = '')
    GROUP BY 1, 2, 3, level.size, 5, 6
    ON CONFLICT (${KEY}) DO UPDATE SET
      ${each((status) => `${status} = b.${status} + excluded.${status}`)},
      ${each((status) => `${status}_bitmap = b.${status}_bitmap # excluded.${status}_bitmap`)}`;
}
