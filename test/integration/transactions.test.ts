import type { EventEmitter } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Knex } from 'knex';
import { isUnreachable, mayPassAlone } from '../../src/storage/postgres/faults.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';

const ADD = { name: 'test-add', text: 'INSERT INTO numbers (number) VALUES ($1)' };
const ALL = { name: 'test-all', text: 'SELECT number FROM numbers ORDER BY number' };

describe('a transaction that does not wait for each write', () => {
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

  it('has written all of them when it resolves, and reads what it wrote', async () => {
    const seen = await sql.transaction(async (inside) => {
      for (const number of [1, 2, 3]) await inside.execute(ADD, [number]);
      return inside.query<{ number: number }>(ALL, []);
    });
    expect(seen.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  it('reads in one snapshot, and as a part of a transaction that has begun (R331)', async () => {
    const all = async (inside: Sql) => (await inside.query<{ number: number }>(ALL, [])).length;
    const seen = await sql.snapshot(async (inside) => {
      const first = await all(inside);
      await sql.query(ADD, [8]);
      return [first, await all(inside)];
    });
    expect(seen).toEqual([3, 3]);
    const own = await sql.transaction(async (inside) => {
      await inside.query(ADD, [9]);
      return inside.snapshot(all);
    });
    expect(own).toBe(5);
    await knex.raw('DELETE FROM numbers WHERE number >= 8');
  });

  it('rejects with the first failure, in whatever order failures are reported', async () => {
    const failing = sql.transaction(async (inside) => {
      await inside.execute(ADD, [1]);
      // This statement is sent before the answer to the one above arrives.
      await inside.sender.query({ text: 'SELECT 1' });
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
  });

  it('rejects with the failure of any write, reports that nothing was committed, and writes nothing', async () => {
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

  it('is committed even if a callback after its end throws, and the other callbacks run', async () => {
    const ends: boolean[] = [];
    const logged: unknown[] = [];
    knex.on('callback-error', (error: unknown) => logged.push(error));
    const fault = new Error('in a callback');
    const done = sql.transaction(async (inside) => {
      inside.onEnd(() => {
        throw fault;
      });
      inside.onEnd((isCommitted) => ends.push(isCommitted));
      await inside.execute(ADD, [6]);
      return 'done';
    });
    expect(await done).toBe('done');
    expect([ends, logged]).toEqual([[true], [fault]]);
    expect(await numbers()).toEqual([1, 2, 3, 6]);
    await knex.raw('DELETE FROM numbers WHERE number = 6');
  });

  it('names the first failure, not the errors that follow from it', async () => {
    const failing = sql.transaction(async (inside) => {
      await inside.execute(ADD, [1]);
      await inside.query(ALL, []);
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
  });

  it('leaves a connection that serves the next transaction', async () => {
    const next = sql.transaction(async (inside) => {
      await inside.execute(ADD, [6]);
    });
    await expect(next).resolves.toBeUndefined();
    expect(await numbers()).toEqual([1, 2, 3, 6]);
  });
});

describe('statements sent to PostgreSQL in one write (ADR-0014)', () => {
  let database: TestDatabase;
  let knex: Knex;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase();
    // One connection, and the tests run in order: each test continues on the connection that the previous test left.
    knex = createKnex(database.connection, silentLogger, { poolSize: 1 });
    sql = new Sql(knex);
    await knex.raw(
      `CREATE TABLE numbers (number int PRIMARY KEY);
       CREATE TABLE pairs (number int REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)`,
    );
  });
  afterEach(() => knex.raw('TRUNCATE numbers, pairs'));
  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });
  const numbers = async () => (await sql.query<{ number: number }>(ALL, [])).map(({ number }) => number);
  /** Runs `work` in a transaction, and returns how many ReadyForQuery messages arrived. */
  async function answers(work: (inside: Sql) => Promise<unknown>): Promise<number> {
    let count = 0;
    const note = () => {
      count += 1;
    };
    const events = await sql.transaction(async (inside, connection) => {
      const { connection: own } = connection as unknown as { readonly connection: EventEmitter };
      own.on('readyForQuery', note);
      await work(inside);
      return own;
    });
    events.off('readyForQuery', note);
    return count;
  }

  it('need one round trip, commit included', async () => {
    const count = await answers(async (inside) => {
      await inside.execute(ADD, [1]);
      await inside.sender.query({ text: 'INSERT INTO numbers VALUES ($1)', values: [2] });
      inside.notify('somewhere', 'something');
      await inside.execute(ADD, [3]);
    });
    expect(count).toBe(1);
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  it('need one more round trip when a transaction waits for a result', async () => {
    const count = await answers(async (inside) => {
      await inside.execute(ADD, [1]);
      await Promise.all([inside.query(ALL, []), inside.query(ALL, [])]);
      await inside.execute(ADD, [2]);
    });
    expect(count).toBe(2);
    expect(await numbers()).toEqual([1, 2]);
  });

  it('keep their order among builder queries, whichever is awaited first', async () => {
    const built = (inside: Sql, number: number) => inside.table('numbers').insert({ number });
    const seen = await sql.transaction(async (inside) => {
      await built(inside, 1);
      await inside.execute(ADD, [2]);
      const rows = await inside.table<{ number: number }>('numbers').select('number').orderBy('number');
      await inside.execute(ADD, [3]);
      await built(inside, 4);
      return rows.map(({ number }) => number);
    });
    expect(seen).toEqual([1, 2]);
    expect(await numbers()).toEqual([1, 2, 3, 4]);
    const failing = sql.transaction(async (inside) => {
      await built(inside, 5);
      await inside.execute(ADD, [6]);
      throw new Error('no more');
    });
    await expect(failing).rejects.toThrow('no more');
    expect(await numbers()).toEqual([1, 2, 3, 4]);
  });

  it('fail together when only the commit fails', async () => {
    const ends: boolean[] = [];
    const failing = sql.transaction(async (inside) => {
      inside.onEnd((isCommitted) => ends.push(isCommitted));
      await inside.execute(ADD, [1]);
      await inside.sender.query({ text: 'INSERT INTO pairs VALUES (9)' });
    });
    await expect(failing).rejects.toMatchObject({ code: '23503' });
    expect(ends).toEqual([false]);
    expect(await numbers()).toEqual([]);
  });

  it('after a failed one are parsed when they are run again', async () => {
    const UNKNOWN = {
      name: 'test-late',
      text: 'SELECT number FROM numbers WHERE number > $1 ORDER BY number',
    };
    const failing = sql.transaction(async (inside) => {
      await inside.sender.query({ text: 'SELECT 1 / 0' });
      await inside.execute(UNKNOWN, [0]);
    });
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    await expect(sql.query(UNKNOWN, [0])).resolves.toEqual([]);
  });

  it('are all omitted when the values of one cannot be encoded', async () => {
    const round: { self?: unknown } = {};
    round.self = round;
    const failing = sql.transaction(async (inside) => {
      await inside.execute(ADD, [1]);
      await inside.execute({ name: 'test-round', text: 'INSERT INTO numbers VALUES (1 + length($1))' }, [
        round,
      ]);
      await inside.execute(ADD, [3]);
    });
    await expect(failing).rejects.toThrow('circular');
    expect(await numbers()).toEqual([]);
    await expect(sql.query({ name: 'test-round', text: 'SELECT length($1)' }, ['four'])).resolves.toEqual([
      { length: 4 },
    ]);
  });

  it('are dropped when their transaction ended before they were sent', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const failing = sql.transaction(async (inside) => {
      late = inside.query(ADD, [1]);
      late.catch(() => undefined);
      throw new Error('no more');
    });
    await expect(failing).rejects.toThrow('no more');
    await expect(late).rejects.toThrow('the transaction was rolled back');
    expect(await numbers()).toEqual([]);
  });

  it('do not count as committed when a failure was ignored', async () => {
    const failing = sql.transaction(async (inside) => {
      await inside.query(ADD, [1]);
      await inside.query(ADD, [1]).catch(() => undefined);
    });
    await expect(failing).rejects.toThrow('the transaction was rolled back');
    const unheeded = sql.transaction(async (inside) => {
      for (const number of [2, 2]) inside.query(ADD, [number]).catch(() => undefined);
    });
    await expect(unheeded).rejects.toMatchObject({ code: '23505' });
    expect(await numbers()).toEqual([]);
  });

  it('report a failure to their own caller', async () => {
    const askTwice = async (inside: Sql) => {
      for (const number of [1, 1]) await inside.query(ADD, [number]);
    };
    const failure = await sql.transaction(askTwice).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: '23505', stack: expect.stringContaining('askTwice') });
    expect(failure).toMatchObject({ stack: expect.stringContaining('transaction') });
  });

  it('have the same effect as one after the other, in any mixture', async () => {
    const step = fc.oneof(
      fc.record({ way: fc.constantFrom('execute', 'query', 'send', 'build', 'sender'), number: fc.nat(9) }),
      fc.constantFrom({ way: 'pause', number: 0 }, { way: 'throw', number: 0 }),
    );
    const take: Record<string, (inside: Sql, number: number) => Promise<unknown>> = {
      execute: (inside, number) => inside.execute(ADD, [number]),
      query: (inside, number) => inside.query(ADD, [number]),
      send: async (inside, number) => void inside.send(ADD, [number]),
      build: async (inside, number) => void (await inside.table('numbers').insert({ number })),
      sender: (inside, number) =>
        inside.sender.query({ text: 'INSERT INTO numbers VALUES ($1)', values: [number] }),
      pause: () => new Promise((resolve) => setTimeout(resolve, 1)),
      throw: () => Promise.reject(new Error('no more')),
    };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 5 }), async (transactions) => {
        await knex('numbers').delete();
        const there = new Set<number>();
        for (const steps of transactions) {
          const added = steps.filter(({ way }) => way in take && way !== 'pause').map(({ number }) => number);
          const isSound =
            steps.every(({ way }) => way !== 'throw') &&
            new Set([...there, ...added]).size === there.size + added.length;
          const committed = await sql
            .transaction(async (inside) => {
              for (const { way, number } of steps) await take[way]?.(inside, number);
            })
            .then(
              () => true,
              () => false,
            );
          expect(committed).toBe(isSound);
          if (isSound) for (const number of added) there.add(number);
          expect(await numbers()).toEqual([...there].sort((left, right) => left - right));
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a transaction that notifies (ADR-0017)', () => {
  let database: TestDatabase;
  let knex: Knex;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase();
    // One connection, so that a setting applies to all later statements. The tests' server is configured not to wait
    // for the disk.
    knex = createKnex(database.connection, silentLogger, { poolSize: 1 });
    sql = new Sql(knex);
    await knex.raw(
      `SET synchronous_commit = on;
       CREATE TABLE numbers (number int PRIMARY KEY);
       CREATE TABLE commits (number int, waits text, lsn pg_lsn);
       CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO commits VALUES (NEW.number, current_setting('synchronous_commit'), pg_current_wal_insert_lsn());
         RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER note AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION note();
       CREATE ROLE limited_${database.connection.database};
       GRANT ALL ON numbers, commits TO limited_${database.connection.database}`,
    );
  });
  afterAll(async () => {
    await knex.raw(
      `DROP OWNED BY limited_${database.connection.database}; DROP ROLE limited_${database.connection.database}`,
    );
    await knex.destroy();
    await database.drop();
  });
  const add = (number: number, isAnnounced: boolean) =>
    sql.transaction(async (inside) => {
      await inside.execute(ADD, [number]);
      if (isAnnounced) inside.notify('somewhere', 'something');
    });
  /** Returns the `synchronous_commit` of the transaction that added `number`, and whether its commit is on the disk. */
  const commitOf = async (number: number) =>
    knex('commits')
      .where({ number })
      .first('waits', knex.raw('pg_current_wal_flush_lsn() > lsn AS "isOnDisk"'));

  it('commits without waiting for the disk, and resolves when the commit is on the disk', async () => {
    for (const number of [1, 2, 3, 4, 5]) {
      await add(number, true);
      expect(await commitOf(number)).toEqual({ waits: 'off', isOnDisk: true });
    }
    // The setting applied to that transaction only. A later transaction that notifies nobody waits for the disk again.
    await add(6, false);
    expect(await commitOf(6)).toEqual({ waits: 'on', isOnDisk: true });
    expect((await knex.raw('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }]);
  });

  it('fails like any other when a statement or its commit fails, and is not committed', async () => {
    await expect(add(1, true)).rejects.toMatchObject({ code: '23505' });
    await knex.raw('ALTER TABLE commits ADD CONSTRAINT below CHECK (number < 10)');
    await expect(add(11, true)).rejects.toMatchObject({ code: '23514' });
    await knex.raw('ALTER TABLE commits DROP CONSTRAINT below');
    expect(await knex('numbers').where({ number: 11 })).toEqual([]);
    await add(12, true);
    expect(await commitOf(12)).toMatchObject({ waits: 'off' });
  });

  it('has an unknown outcome when it committed and nobody can tell whether it is on the disk', async () => {
    // This user may not write to the WAL with pg_logical_emit_message.
    await knex.raw(
      `DO $$ DECLARE f regprocedure; BEGIN
         FOR f IN SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP
           EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP; END $$;
       SET ROLE limited_${database.connection.database}`,
    );
    const ends: boolean[] = [];
    const failure = await sql
      .transaction(async (inside) => {
        inside.onEnd((isCommitted) => ends.push(isCommitted));
        await inside.execute(ADD, [20]);
        inside.notify('somewhere', 'something');
      })
      .catch((error: unknown) => error);
    await knex.raw('RESET ROLE');
    expect(failure).toMatchObject({ code: '08007', cause: { code: '42501' } });
    // The transaction may have been committed, so a retry could do the same twice. The error must not say that a retry
    // is safe.
    expect([mayPassAlone(failure), isUnreachable(failure)]).toEqual([false, true]);
    expect(ends).toEqual([false]);
    expect(await commitOf(20)).toMatchObject({ waits: 'off' });
  });
});

describe('several statements in one text', () => {
  let database: TestDatabase;
  let knex: Knex;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase();
    // One connection, so that the next transaction gets the connection of the failed one.
    knex = createKnex(database.connection, silentLogger, { poolSize: 1 });
    sql = new Sql(knex);
  });
  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });

  it('a failure leaves no open transaction for the next user of the connection', async () => {
    const text = 'BEGIN; SELECT 1 / 0; COMMIT';
    await expect(sql.pool.query({ text })).rejects.toMatchObject({ code: '22012' });
    await expect(sql.query({ name: 'test-next', text: 'SELECT 1 AS one' }, [])).resolves.toEqual([
      { one: 1 },
    ]);
    await expect(knex.raw('SELECT 1')).resolves.toBeDefined();
  });
});

describe('array parameters of a statement', () => {
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
  const ECHO = {
    name: 'test-echo',
    text: 'SELECT $1::text[] AS texts, $2::timestamptz[] AS times, $3::bytea[] AS bytes',
  };

  it('come back as they were given, with any content', async () => {
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
