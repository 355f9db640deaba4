import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkServer, faultOfServer } from '../../src/storage/postgres/server-check.ts';
import { SESSION_SETTINGS } from '../../src/storage/postgres/session-settings.ts';
import { createTestDatabase, type TestDatabase, testVersion, withKnex } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startPooler } from '../support/pooler.ts';
import { openSql } from '../support/sql.ts';
import { startStandby } from '../support/standby.ts';

const CONNECTIONS = 4;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('a server reports its version, and that no pool is in between', async () => {
  const facts = await checkServer(database.connection);
  expect(facts).toEqual({
    version: expect.stringMatching(new RegExp(`^${testVersion()}\\.`)),
    versionNumber: expect.any(Number),
    isStandby: false,
    readOnlyBy: null,
    isPooled: false,
  });
  expect(Math.floor(facts.versionNumber / 10_000)).toBe(testVersion());
});

it('a server that is too old is refused with what is needed (R214)', () => {
  const facts = { isStandby: false, readOnlyBy: null, isPooled: false };
  expect(faultOfServer({ ...facts, version: '13.11', versionNumber: 130_011 })).toMatch(
    /^PostgreSQL 13\.11 is too old: the gateway needs 14 or newer\./,
  );
  expect(faultOfServer({ ...facts, version: '14.0', versionNumber: 140_000 })).toBeUndefined();
});

it('a hot standby is recognised', async () => {
  const standby = await startStandby(testVersion());
  try {
    await expect(checkServer(standby.connection)).rejects.toThrow(
      /^The database is a hot standby: .* primary/,
    );
  } finally {
    await standby.stop();
  }
});

it.each(['database', 'user'])('a read-only database is recognised, and that the %s is set so', async (by) => {
  await using sql = await openSql(database);
  const { database: name, user } = database.connection;
  const whom = by === 'user' ? `ROLE ${user} IN DATABASE ${name}` : `DATABASE ${name}`;
  await sql.query(`ALTER ${whom} SET default_transaction_read_only = on`);
  try {
    await expect(checkServer(database.connection)).rejects.toThrow(
      new RegExp(`^The database is read-only: default_transaction_read_only is on \\(set by: .*${by}\\)`),
    );
    await expect(startTestGateway({}, database)).rejects.toThrow(/^The database is read-only/);
  } finally {
    await sql.query(
      `SET default_transaction_read_only = off; ALTER ${whom} RESET default_transaction_read_only`,
    );
  }
});

describe('behind a connection pool (R214)', () => {
  it('of sessions, without `options`, a gateway works and every connection has its settings', async () => {
    await using pooler = await startPooler(database.connection, { mode: 'session' });
    expect(await checkServer(pooler.url)).toMatchObject({ isPooled: true });
    await using gateway = await startTestGateway({ DATABASE_URL: pooler.url }, database);
    const { key } = await gateway.createAccount();
    const sent = await gateway.call('POST', '/developers/sms', {
      key,
      body: { to: '0700123456', message: 'Hello' },
    });
    expect(sent.status).toBe(200);
    const { diagnostics } = gateway.parts;
    expect(await diagnostics.settingsNotHeld()).toEqual([]);
    await eventually(() => diagnostics.hearsNotifications());
  });

  const idle = { gives: ['newest', 'oldest'], warm: [0, 1, 2, 3] } as const;
  const pools = idle.gives.flatMap((gives) => idle.warm.map((warm) => ({ gives, warm })));
  it.each(pools)(
    'of transactions, idle, that gives the $gives of $warm connections, the start is refused',
    async (pool) => {
      await using pooler = await startPooler(database.connection, { mode: 'transaction', ...pool });
      await expect(checkServer(pooler.url)).rejects.toThrow(
        /^The database is behind a pool .*pool_mode=session/,
      );
    },
  );

  it('of transactions with a single connection, the start is refused', async () => {
    await using pooler = await startPooler(database.connection, { mode: 'transaction', size: 1 });
    await expect(checkServer(pooler.url)).rejects.toThrow(
      /^The database is behind a pool .*pool_mode=session/,
    );
  });

  it('of statements, the start is refused', async () => {
    await using pooler = await startPooler(database.connection, { mode: 'statement' });
    await expect(checkServer(pooler.url)).rejects.toThrow(
      /^The database is behind a pool .*pool_mode=session/,
    );
  });

  it('of transactions, nothing is written before the refusal', async () => {
    const empty = await createTestDatabase('template1');
    try {
      await using pooler = await startPooler(empty.connection, { mode: 'transaction' });
      await expect(startTestGateway({ DATABASE_URL: pooler.url }, empty)).rejects.toThrow(
        /^The database is behind/,
      );
      await using sql = await openSql(empty);
      expect(
        await sql.query(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`),
      ).toEqual([]);
    } finally {
      await empty.drop();
    }
  });

  it('of sessions with one connection, the refusal says that more are needed', async () => {
    await using pooler = await startPooler(database.connection, { mode: 'session', size: 1 });
    await expect(checkServer(pooler.url)).rejects.toThrow(
      /gave one connection, and no second one.*default_pool_size/,
    );
  });
});

it('settings hold on all connections of the pool, whatever the URL and the database say', async () => {
  await using sql = await openSql(database);
  await sql.query(`ALTER DATABASE ${database.connection.database} SET jit = on`);
  const proxy = await startDatabaseProxy(database.connection);
  const url = `${proxy.url}?options=-c%20plan_cache_mode%3Dauto`;
  try {
    await withKnex(url, async (knex) => {
      let asked = 0;
      const names = Object.keys(SESSION_SETTINGS);
      // Each transaction waits until all have begun. So each of them has a connection of its own.
      const ask = () =>
        knex.transaction(async (one): Promise<{ rows: { name: string; setting: string }[] }> => {
          await one.raw('SELECT 1');
          asked += 1;
          await eventually(() => asked === CONNECTIONS);
          return one.raw('SELECT name, current_setting(name) AS setting FROM unnest(?::text[]) AS name', [
            names,
          ]);
        });
      const answers = await Promise.all(Array.from({ length: CONNECTIONS }, ask));
      for (const { rows } of answers)
        expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual(
          SESSION_SETTINGS,
        );
    });
  } finally {
    await proxy.stop();
  }
});
