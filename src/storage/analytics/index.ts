/** Figures of messages by quarter hours. README.md says how. */
export { COUNT, INTERVALS, LATENCIES, partColumnsOf, valuesOf } from './count.ts';
export { addMoves, addRefunds } from './deltas.ts';
export { FOLD, FOLD_LOCK } from './fold.ts';
