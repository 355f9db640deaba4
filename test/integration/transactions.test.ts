import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { createKnex, Sql, statement } from '../../src/storage/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';

const ADD = statement('test-add', 'INSERT INTO numbers (number) VALUES ($1)');
const ALL = statement('test-all', 'SELECT number FROM numbers ORDER BY number');

describe('a transaction that does not wait for its writes', () => {
  let database: TestDatabase;
  let knex: Knex;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase();
    knex = createKnex(database.connection, silentLogger);
    sql = new Sql(knex);
    await knex.raw('CREATE TABLE numbers (number int PRIMARY KEY)');
  });
  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });
  const numbers = async () => (await sql.query<{ number: number }>(ALL, [])).map(({ number }) => number);

  it('has written all of them when it resolves, and reads what it has written', async () => {
    const seen = await sql.transaction(async (inside) => {
      for (const number of [1, 2, 3]) await inside.execute(ADD, [number]);
      return inside.query<{ number: number }>(ALL, []);
    });
    expect(seen.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  it('rejects with the failure of any of them, tells that nothing was committed, and writes nothing', async () => {
    const ends: boolean[] = [];
    const failing = sql.transaction(async (inside) => {
      inside.onEnd((isCommitted) => ends.push(isCommitted));
      await inside.execute(ADD, [4]);
      await inside.execute(ADD, [1]);
      await inside.execute(ADD, [5]);
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect(ends).toEqual([false]);
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  it('names the first failure, not the refusals that follow from it', async () => {
    const failing = sql.transaction(async (inside) => {
      await inside.execute(ADD, [1]);
      await inside.query(ALL, []);
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
  });

  it('leaves a connection that serves the next one', async () => {
    const next = sql.transaction(async (inside) => {
      await inside.execute(ADD, [6]);
    });
    await expect(next).resolves.toBeUndefined();
    expect(await numbers()).toEqual([1, 2, 3, 6]);
  });
});
