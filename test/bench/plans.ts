import { listQueries } from '../support/list-queries.ts';
import { explainDatabase, recordPlans } from '../support/plans.ts';
import { plansOf, type QueryPlan } from '../support/query-plans.ts';
import type { BenchContext, BenchResult } from './context.ts';
import { composeOn, filledDatabase } from './filled.ts';
import { LARGE } from './history.ts';

/**
 * Compares the rows that PostgreSQL reads with the rows that it returns, for every list query at two million messages.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { database, dataset, seconds } = await filledDatabase(context, LARGE);
  await context.withClient(database, (client) => explainDatabase(client, database));
  using plans = recordPlans();
  const gateway = await composeOn(context, database);
  try {
    const found: QueryPlan[] = [];
    for (const query of listQueries(gateway.operations, dataset))
      found.push(...(await plansOf(query, plans)));
    console.table(
      found.map(({ name, ms, statements: _statements, bound, ...plan }) => ({
        query: name,
        ...plan,
        ms: ms.toFixed(1),
        bound: bound === 'none' ? 'NONE' : bound,
      })),
    );
    return [
      { name: `building ${LARGE} messages`, value: seconds, unit: 's', reach: '120 s' },
      {
        name: 'list queries that touch what they return and one page',
        value: found.filter(({ bound }) => bound === 'page').length,
        unit: `of ${found.length}`,
      },
      {
        name: 'list queries that touch what matches, to tell how many do',
        value: found.filter(({ bound }) => bound === 'matches').length,
        unit: `of ${found.length}`,
      },
      {
        name: 'list queries that touch a number of rows that is fixed',
        value: found.filter(({ bound }) => bound.startsWith('reach')).length,
        unit: `of ${found.length}`,
      },
    ];
  } finally {
    await gateway.close();
  }
}
