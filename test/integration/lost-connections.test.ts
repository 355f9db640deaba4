import { expect, it } from '@jest/globals';
import { createKnex } from '../../src/storage/postgres/sql.ts';
import { createTestDatabase, silentLogger, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

it('a server that ends all connections of a pool is one warning in the log', async () => {
  const database = await createTestDatabase();
  const lines = { warn: 0, debug: 0 };
  const count = (level: keyof typeof lines) => (_fields: object, message: string) => {
    if (message === 'database connection lost') lines[level] += 1;
  };
  const logger = { ...silentLogger, warn: count('warn'), debug: count('debug') };
  const knex = createKnex(database.connection, logger, { poolSize: 4 });
  try {
    // Statements that run at the same time open a connection each.
    await Promise.all(Array.from({ length: 4 }, () => knex.raw('SELECT pg_sleep(0.2)')));
    await withKnex(database.connection, (other) =>
      other.raw(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      ),
    );
    await eventually(() => lines.warn + lines.debug >= 4);
    expect(lines).toEqual({ warn: 1, debug: expect.any(Number) });
    // A connection may say more than once that it is lost. So another one may not know yet, and fails its statement.
    const rows = await eventually(async () => (await knex.raw('SELECT 1 AS one')).rows);
    expect(rows).toEqual([{ one: 1 }]);
  } finally {
    await knex.destroy();
    await database.drop();
  }
});
