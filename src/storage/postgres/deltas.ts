/**
 * Number of rows that one fold takes from a table of deltas. After a long stop there may be millions. A statement for
 * all of them would end by its timeout again and again.
 */
export const DELTAS_AT_ONCE = 10_000;

type DeltaTable = 'usage_deltas' | 'delivery_deltas' | 'analytics_deltas';

/** SQL that deletes up to `DELTAS_AT_ONCE` rows of a table of deltas, and returns them. Only one process folds a table. */
export const takeDeltas = (table: DeltaTable) =>
  `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} LIMIT ${DELTAS_AT_ONCE})) RETURNING *`;
