/** Finding and counting messages by status, environment, key and time. README.md says how it works. */
import { BLOCK, BLOCK_OF_SEQ, PLACES_OF_SEQ } from './message-blocks.ts';
import { countMatching, findBefore, type KeyRow, type SeqFilter } from './message-finder.ts';
import { messageHistory } from './message-history.ts';

export type { KeyRow, SeqFilter };
export { BLOCK, BLOCK_OF_SEQ, countMatching, findBefore, messageHistory, PLACES_OF_SEQ };
