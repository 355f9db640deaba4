import type { ListQuery } from './list-queries.ts';
import type { ExecutedPlan, recordPlans } from './plans.ts';

/** The largest page of an API: rows that a query may read beyond those that it returns. */
const ONE_PAGE = 100;
/** Tables of counts by hour, by block of messages, or by endpoint. Totals and usage are sums of their rows. */
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
  /** Rows read from the table with the most reads. */
  readonly touched: number;
  /** Rows that were read from the tables of counts, to add them up. */
  readonly counts: number;
  readonly buffers: number;
  readonly ms: number;
  readonly statements: number;
  /**
   * `page` if the query read at most one page of rows more than it returned. Queries that count or sort may read all
   * rows that match (`matches`), or as many rows as their reach says.
   */
  readonly bound: 'page' | 'matches' | `reach of ${number}` | 'none';
}

/** Runs the query, then its total as a query of its own, and returns how PostgreSQL executed each. */
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
