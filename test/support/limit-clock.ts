import { withKnex } from './database.ts';
import type { TestGateway } from './gateway.ts';

/**
 * Lets the send limits that are created from now on count in one hour and one day for ever: the counts of a row never go
 * back to an earlier hour or day, and these lie ahead of the clock. So a test may run across the end of an hour or a
 * day. Each test file has a database of its own.
 */
export async function stopLimitClock({ database }: Pick<TestGateway, 'database'>): Promise<void> {
  const ahead = `date_trunc('day', now(), 'UTC') + interval '2 days'`;
  await withKnex(database.connection, async (knex) => {
    await knex.raw(
      `ALTER TABLE send_limits ALTER hour SET DEFAULT ${ahead}, ALTER day SET DEFAULT ${ahead};`,
    );
  });
}

const HOUR_MS = 3_600_000;
const hourOf = () => Math.floor(Date.now() / HOUR_MS);

/** Runs a test of the clock's own hour. If the hour ends meanwhile, runs it once more, in the next hour. */
export async function withinOneHour(test: () => Promise<void>): Promise<void> {
  const hour = hourOf();
  try {
    await test();
  } catch (error) {
    if (hourOf() === hour) throw error;
    await test();
  }
}
