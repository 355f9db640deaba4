import type { ListQuery } from './list-queries.ts';
import type { ExecutedPlan, recordPlans } from './plans.ts';

/** The largest page of an API. A query may read this many rows more than it returns. */
const ONE_PAGE = 100;
/** Tables of counts (by hour, by block of messages, or by endpoint). Totals and usage add up their rows. */
const ROLLUPS: ReadonlySet<string> = new Set([
  'usage_days',
  'usage_hours',
  'usage_deltas',
  'message_blocks',
  'delivery_hours',
  'delivery_deltas',
]);

/** How PostgreSQL executed one list query. */
export interface QueryPlan {
  readonly name: string;
  readonly returned: number;
  /** Number of rows that were read from one table. The table with the most reads counts. */
  readonly touched: number;
  /** Number of rows that were read from tables of counts in order to add them up. */
  readonly counts: number;
  readonly buffers: number;
  readonly ms: number;
  readonly statements: number;
  /**
   * The limit that the query keeps. `page`: it read at most one page of rows more than it returned. `matches`: it
   * counts or sorts, and read at most all rows that match. `reach of …`: it read at most as many rows as its `reach`.
   */
  readonly bound: 'page' | 'matches' | `reach of ${number}` | 'none';
}

/** Runs the query, and then its total as a separate query. Returns how PostgreSQL executed each. */
export async function plansOf(query: ListQuery, plans: ReturnType<typeof recordPlans>): Promise<QueryPlan[]> {
  plans.take();
  const { returned, total } = await query.run();
  const ofList = plans.take();
  if (typeof total !== 'function') return [planOf(query, returned, total ?? 0, ofList)];
  const matches = await total();
  return [
    planOf(query, returned, query.isSorted ? matches : 0, ofList),
    planOf({ ...query, name: `${query.name}: total` }, 1, matches, plans.take()),
  ];
}

function planOf(
  { name, reach }: ListQuery,
  returned: number,
  matches: number,
  plans: readonly ExecutedPlan[],
): QueryPlan {
  const touched = new Map<string, number>();
  for (const plan of plans) {
    for (const [table, rows] of plan.touched) touched.set(table, (touched.get(table) ?? 0) + rows);
  }
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const most = Math.max(0, ...[...touched].filter(([table]) => !ROLLUPS.has(table)).map(([, rows]) => rows));
  return {
    name,
    returned,
    touched: most,
    counts: sum([...touched].filter(([table]) => ROLLUPS.has(table)).map(([, rows]) => rows)),
    buffers: sum(plans.map((plan) => plan.buffers)),
    ms: sum(plans.map((plan) => plan.ms)),
    statements: plans.length,
    bound:
      most <= returned + ONE_PAGE
        ? 'page'
        : most <= matches + ONE_PAGE
          ? 'matches'
          : reach !== undefined && most <= reach + ONE_PAGE
            ? `reach of ${reach}`
            : 'none',
  };
}
