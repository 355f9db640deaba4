import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { PgListener } from '../../src/storage/postgres/pg-listener.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { openSql } from '../support/sql.ts';

describe('the LISTEN connection', () => {
  let database: TestDatabase;
  let listener: PgListener;
  beforeAll(async () => {
    database = await createTestDatabase();
    listener = new PgListener(database.connection, silentLogger);
    await listener.start();
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(async () => {
    await listener?.stop();
    await database?.drop();
  });

  it('is not considered dead because this process was stopped while the answer came', async () => {
    let reconnects = 0;
    const heard: string[] = [];
    await listener.listen(
      'still',
      (payload) => heard.push(payload),
      () => {
        reconnects += 1;
      },
    );
    const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
    let checks = 0;
    jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...given: unknown[]
    ) {
      const answer = query.apply(this, given);
      if (String(given[0]).includes('pg_current_wal_flush_lsn')) {
        checks += 1;
        // Block this process so long that the answer arrives during the block and the timeout has passed after it.
        if (checks < 3)
          setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500));
      }
      return answer;
    } as typeof pg.Client.prototype.query);
    await eventually(() => checks > 3);
    await using sql = await openSql(database);
    await sql.query(`SELECT pg_notify('still', 'heard')`);
    await eventually(() => heard.length > 0);
    expect([reconnects, listener.isListening, heard]).toEqual([0, true, ['heard']]);
  });

  it('is replaced and reported when it is lost', async () => {
    let reconnects = 0;
    await listener.listen(
      'lost',
      () => undefined,
      () => {
        reconnects += 1;
      },
    );
    await using sql = await openSql(database);
    await sql.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'messaging-gateway listen'`,
    );
    await eventually(() => reconnects === 1);
    expect(listener.isListening).toBe(true);
  });
});
