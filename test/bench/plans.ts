import { join } from 'node:path';
import { fillDatabase } from '../support/dataset.ts';
import { listQueries } from '../support/list-queries.ts';
import { explainDatabase, recordPlans } from '../support/plans.ts';
import { plansOf, type QueryPlan } from '../support/query-plans.ts';
import type { BenchContext, BenchResult } from './context.ts';

const MESSAGES = Number(process.env.PLANS_MESSAGES ?? 2_000_000);
const built = <Module>(path: string): Promise<Module> => import(join(process.cwd(), 'dist/src', path));

/** Every list query at two million messages: what PostgreSQL touched for what it returned. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { compose } = await built<typeof import('../../src/compose.ts')>('compose.js');
  const { parseConfig } = await built<typeof import('../../src/config.ts')>('config.js');
  const { createLogger } = await built<typeof import('../../src/logger.ts')>('logger.js');
  const database = await context.createDatabase();
  const { host, port, user } = context.postgres;
  const config = parseConfig({
    DATABASE_URL: `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`,
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ROLES: 'api',
    SMS_ROUTES: '*=simulator:',
  });
  const open = () => compose(config, createLogger('warn'));
  const startedAt = performance.now();
  const filling = await open();
  const dataset = await context
    .withClient(database, async (client) => {
      const log = (line: string) => context.log(`plans: ${line}`);
      const filled = await fillDatabase(filling.operations, client, MESSAGES, log);
      await explainDatabase(client, database);
      return filled;
    })
    .finally(() => filling.close());
  const seconds = (performance.now() - startedAt) / 1000;
  using plans = recordPlans();
  const gateway = await open();
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
      { name: `building ${MESSAGES} messages`, value: seconds, unit: 's', reach: '120 s' },
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
    ];
  } finally {
    await gateway.close();
  }
}
