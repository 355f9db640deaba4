import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
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

  it('rejects with the failure that came first, whichever of those that follow is told first', async () => {
    const failing = sql.transaction(async (inside) => {
      await inside.execute(ADD, [1]);
      // What goes on by the sender is heard of sooner than what the statement before it says.
      await inside.sender.query({ text: 'SELECT 1' });
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
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

describe('arrays that a statement takes', () => {
  let database: TestDatabase;
  let knex: Knex;
  beforeAll(async () => {
    database = await createTestDatabase();
    knex = createKnex(database.connection, silentLogger);
  });
  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });
  const ECHO = statement(
    'test-echo',
    'SELECT $1::text[] AS texts, $2::timestamptz[] AS times, $3::bytea[] AS bytes',
  );

  it('come back as they were given, whatever is in them', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('null', '', '{}'),
    );
    const stored = text.filter((given) => !given.includes('\0') && given.isWellFormed());
    const time = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true });
    const arrays = fc.record({
      texts: fc.array(fc.option(stored)),
      times: fc.array(fc.option(time)),
      bytes: fc.array(fc.uint8Array().map((given) => Buffer.from(given))),
    });
    await fc.assert(
      fc.asyncProperty(arrays, async ({ texts, times, bytes }) => {
        const [row] = await new Sql(knex).query(ECHO, [texts, times, bytes]);
        expect(row).toEqual({ texts, times, bytes });
      }),
    );
  });
});
