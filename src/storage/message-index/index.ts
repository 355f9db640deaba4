/** Finds and counts messages by status, environment, key and time. README.md says how. */

import { foldBlocks } from './fold-blocks.ts';
import { countMatching, findBefore, type KeyRow, type SeqFilter } from './message-finder.ts';
import { messageHistory } from './message-history.ts';
import { BITMAP_OF_SEQ, BLOCK, BLOCK_OF_SEQ, PENDING_BLOCKS } from './status-index.ts';

export type { KeyRow, SeqFilter };
export {
  BITMAP_OF_SEQ,
  BLOCK,
  BLOCK_OF_SEQ,
  countMatching,
  findBefore,
  foldBlocks,
  messageHistory,
  PENDING_BLOCKS,
};
