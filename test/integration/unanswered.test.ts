import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { databaseFault } from '../../src/storage/postgres/faults.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts';

const TIMEOUT_MS = 400;
const PID = { name: 'test-pid', text: 'SELECT pg_backend_pid() AS pid' };
const SLEEP = { name: 'test-sleep', text: 'SELECT pg_sleep($1)' };

describe('a statement without an answer from PostgreSQL (R217)', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let knex: Knex;
  let sql: Sql;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    proxy = await startDatabaseProxy(database.connection);
    knex = createKnex(proxy.url, silentLogger, { poolSize: 2, statementTimeoutMs: TIMEOUT_MS });
    sql = new Sql(knex);
  });
  afterEach(async () => {
    await knex.destroy();
    await proxy.stop();
  });
  const pid = async (on = sql) => (await on.query<{ pid: number }>(PID, []))[0]?.pid;
  /** Returns the error with which `work` fails. Undefined if it succeeds. */
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it.each<[string, () => Promise<unknown>, string]>([
    ['alone', () => sql.query(SLEEP, [0]), 'service_unavailable'],
    ['of a transaction', () => sql.transaction((inside) => inside.query(SLEEP, [0])), 'service_unavailable'],
    // The statement is sent together with its COMMIT, so its outcome is unknown.
    [
      'that nobody waits for',
      () => sql.transaction((inside) => inside.execute(SLEEP, [0])),
      'outcome_unknown',
    ],
    ["of Knex's builder", async () => sql.table('messages').select('id'), 'service_unavailable'],
    ["of the queue's", () => sql.pool.query({ text: 'SELECT 1' }), 'service_unavailable'],
  ])('%s fails like an unreachable database', async (_which, ask, code) => {
    await ask();
    proxy.silence();
    const error = await failure(ask());
    expect(databaseFault(error)?.code).toBe(code);
    await proxy.restore();
    await ask();
  });

  it('fails also while PostgreSQL still runs it, with everything sent after it', async () => {
    const errors: unknown[] = [];
    const asked = sql.transaction(async (inside) => {
      const first = failure(inside.query(SLEEP, [60]));
      // Send it in a later turn of the event loop. So it is sent after the first statement, and not together with it.
      await sleep(10);
      errors.push(...(await Promise.all([first, failure(inside.query(PID, []))])));
    });
    errors.push(await failure(asked));
    expect(errors).toHaveLength(3);
    for (const error of errors) expect(databaseFault(error)).toBeDefined();
  });

  it('closes the other connections that were busy at that time', async () => {
    // Both are open at the same time, so each has a connection of its own.
    const [one, other] = await sql.transaction(async (inside) => [
      await pid(inside),
      await sql.transaction((beside) => pid(beside)),
    ]);
    expect(one).not.toBe(other);
    await failure(sql.query(SLEEP, [60]));
    expect([one, other]).not.toContain(await pid());
  });

  it('is not assumed for idle connections and long transactions', async () => {
    const first = await pid();
    await sleep(2 * TIMEOUT_MS);
    expect(await pid()).toBe(first);
    const seen = await sql.transaction(async (inside) => {
      const before = await pid(inside);
      await sleep(2 * TIMEOUT_MS);
      return [before, await pid(inside)];
    });
    expect(seen).toEqual([first, first]);
  });

  it('fails also on a connection that was idle for longer', async () => {
    await pid();
    await sleep(2 * TIMEOUT_MS);
    proxy.silence();
    expect(databaseFault(await failure(pid()))).toBeDefined();
  });

  it('is awaited forever without a limit', async () => {
    const patient = createKnex(proxy.url, silentLogger, { poolSize: 1, statementTimeoutMs: 0 });
    try {
      expect(await failure(new Sql(patient).query(SLEEP, [(2 * TIMEOUT_MS) / 1000]))).toBeUndefined();
    } finally {
      await patient.destroy();
    }
  });
});
