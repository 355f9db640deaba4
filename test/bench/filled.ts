import { type Dataset, fillDatabase } from '../support/dataset.ts';
import { type BenchContext, built, MASTER_KEY } from './context.ts';

export interface FilledDatabase {
  readonly database: string;
  readonly dataset: Dataset;
  /** Duration of filling the database. */
  readonly seconds: number;
}

const filled = new WeakMap<BenchContext, Map<number, Promise<FilledDatabase>>>();

/** Returns a database with this many messages. It is filled once in a run and then shared. */
export function filledDatabase(context: BenchContext, messages: number): Promise<FilledDatabase> {
  const ofRun = filled.get(context) ?? new Map<number, Promise<FilledDatabase>>();
  filled.set(context, ofRun);
  const found = ofRun.get(messages) ?? fill(context, messages);
  ofRun.set(messages, found);
  return found;
}

/** Composes the parts of the built server in this process, without workers, on one of the run's databases. */
export async function composeOn(context: BenchContext, database: string) {
  const { compose } = await built<typeof import('../../src/compose.ts')>('compose.js');
  const { parseConfig } = await built<typeof import('../../src/config/config.ts')>('config/config.js');
  const { createLogger } = await built<typeof import('../../src/start/logger.ts')>('start/logger.js');
  const { host, port, user } = context.postgres;
  const config = parseConfig({
    DATABASE_URL: `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`,
    MASTER_KEY,
    ROLES: 'api',
  });
  return compose(config, createLogger('warn'));
}

async function fill(context: BenchContext, messages: number): Promise<FilledDatabase> {
  const startedAt = performance.now();
  const database = await context.createDatabase();
  const gateway = await composeOn(context, database);
  try {
    const connection = { ...context.postgres, database };
    const dataset = await fillDatabase(gateway, connection, messages, (line) =>
      context.log(`building: ${line}`),
    );
    return { database, dataset, seconds: (performance.now() - startedAt) / 1000 };
  } finally {
    await gateway.close();
  }
}
