/** Finds and counts messages by status, environment, API key and time. README.md says how. */

import { foldBlocks } from './fold-blocks.ts';
import {
  countMatching,
  findBefore,
  findCostliest,
  findFrom,
  findPage,
  isNarrow,
  type KeyRow,
  type Part,
  type SeqFilter,
  searchStop,
} from './message-finder.ts';
import { rangeOf, type SeqRange, seqRange, timesOf } from './seq-range.ts';
import {
  BITMAP_OF_SEQ,
  BLOCK,
  BLOCK_OF_SEQ,
  messagePages,
  PENDING_BLOCKS,
  STATUS_OF_MESSAGE,
  STATUS_OF_RECIPIENTS,
} from './status-index.ts';

export type { KeyRow, Part, SeqFilter, SeqRange };
export {
  BITMAP_OF_SEQ,
  BLOCK,
  BLOCK_OF_SEQ,
  countMatching,
  findBefore,
  findCostliest,
  findFrom,
  findPage,
  foldBlocks,
  isNarrow,
  messagePages,
  PENDING_BLOCKS,
  rangeOf,
  STATUS_OF_MESSAGE,
  STATUS_OF_RECIPIENTS,
  searchStop,
  seqRange,
  timesOf,
};
