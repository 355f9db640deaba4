import type { ListQuery } from './list-queries.ts';
import type { ExecutedPlan, recordPlans } from './plans.ts';

/** The largest page that an edge gives: what a query may touch beyond what it returns. */
const ONE_PAGE = 100;
/** Counts by the hour, by blocks of messages, or of an endpoint: what totals and usage are the sum of. */
const ROLLUPS: ReadonlySet<string> = new Set([
  'usage_days',
  'usage_hours',
  'usage_deltas',
  'message_blocks',
  'delivery_hours',
  'delivery_deltas',
]);

/** How one list query was executed. */
export interface QueryPlan {
  readonly name: string;
  readonly returned: number;
  /** Rows read of the table of which most were. */
  readonly touched: number;
  /** Rows of counts that were summed up. */
  readonly counts: number;
  readonly buffers: number;
  readonly ms: number;
  readonly statements: number;
  /**
   * Whether no more was touched than was returned, and one page; or, to say how many match or to sort them, than match;
   * or than the query's reach.
   */
  readonly bound: 'page' | 'matches' | `reach of ${number}` | 'none';
}

/** Runs the query, and then its total as a query of its own, and says how PostgreSQL executed each. */
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
