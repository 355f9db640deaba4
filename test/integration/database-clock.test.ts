import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createIds } from '../../src/crypto/ids.ts';
import { uuidFloor } from '../../src/domain/uuid.ts';
import { askOn, DatabaseClock } from '../../src/storage/postgres/database-clock.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { silentLogger } from '../support/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { signIn } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const DAY_MS = 86_400_000;

describe('the clock of the database (ADR-0021)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway({ ROLES: 'api' });
    account = await gateway.createAccount();
    sql = await openSql(gateway.database);
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  const askDatabase = async () =>
    (await sql.query('SELECT clock_timestamp() AS now', []))[0]?.now.getTime() as number;

  it('a process whose own clock is wrong uses it', async () => {
    const knex = createKnex(gateway.database.connection, silentLogger);
    const clock = new DatabaseClock(silentLogger, () => ({
      monotonicMs: performance.now(),
      wallMs: Date.now() + 3 * DAY_MS,
    }));
    try {
      await clock.start(askOn(new Sql(knex)));
      const before = await askDatabase();
      const now = clock.now();
      const after = await askDatabase();
      // The clock may be wrong by half a round trip, which may be long on a busy machine.
      expect(now.getTime()).toBeGreaterThan(before - 5_000);
      expect(now.getTime()).toBeLessThan(after + 5_000);
      expect([await clock.agrees(), Math.round(clock.skewMs / DAY_MS)]).toEqual([false, 3]);
      const id = createIds(clock).uuid();
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(id > uuidFloor(now) && id < uuidFloor(new Date(now.getTime() + DAY_MS))).toBe(true);
    } finally {
      await clock.stop();
      await knex.destroy();
    }
  });

  it('a sign-in deletes old sessions only while the clocks agree', async () => {
    const old = randomBytes(32);
    await sql.query(
      `INSERT INTO sessions (token_hash, user_id, created_at, expires_at)
       SELECT $1, id, now() - interval '2 days', now() - interval '1 day' FROM users WHERE account_id = $2`,
      [old, account.accountId],
    );
    const isThere = async () =>
      (await sql.query('SELECT FROM sessions WHERE token_hash = $1', [old])).length === 1;
    const { now } = Date;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 3 * DAY_MS);
    await signIn(gateway, account);
    expect(await isThere()).toBe(true);
    jest.restoreAllMocks();
    await signIn(gateway, account);
    expect(await isThere()).toBe(false);
  });
});
