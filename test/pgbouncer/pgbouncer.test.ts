import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { checkServer } from '../../src/storage/postgres/server-check.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { buildWorkplace, runCli, startServer, type Workplace } from '../support/server-process.ts';
import { startPgBouncer } from './pgbouncer.ts';

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
const REFUSED = /The database is behind a pool .*pool_mode=session/;

let database: TestDatabase;
let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
  await workplace.remove();
});

describe('in session mode, as Debian ships it', () => {
  it('it refuses the startup parameter `options`', async () => {
    await using pgBouncer = await startPgBouncer(database.connection);
    const client = new pg.Client({ connectionString: pgBouncer.url, options: '-c jit=off' });
    client.on('error', () => undefined);
    await expect(client.connect()).rejects.toThrow('unsupported startup parameter: options');
  });

  it('a gateway sends, and tells of it', async () => {
    await using pgBouncer = await startPgBouncer(database.connection);
    await using gateway = await startTestGateway({ DATABASE_URL: pgBouncer.url }, database);
    const { key } = await gateway.createAccount();
    const body = { to: '0700123456', message: 'Hello' };
    const sent = await gateway.call('POST', '/developers/sms', { key, body });
    expect(sent.status).toBe(200);
    await eventually(async () => {
      const found = await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key });
      return found.body.status === 'delivered';
    });
    const contact = await gateway.call('POST', '/developers/contacts', {
      key,
      body: { phone: '0700123456' },
    });
    expect(contact.status).toBe(201);
    // A revoked key must reach other processes by NOTIFY, so NOTIFY must work through PgBouncer.
    expect(await gateway.parts.diagnostics.hearsNotifications()).toBe(true);
  });

  it('the doctor shows that the settings hold', async () => {
    await using pgBouncer = await startPgBouncer(database.connection);
    const variables = { DATABASE_URL: pgBouncer.url, MASTER_KEY, DATA_DIR: workplace.path };
    const { code, stdout } = await runCli(workplace, ['doctor', '--json'], variables);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).checks[0]).toMatchObject({
      check: 'database',
      ok: true,
      detail: expect.stringMatching(/ through a connection pool, .*settings hold, .* notifications arrive$/),
    });
  });

  it('with one connection it says that more are needed', async () => {
    await using pgBouncer = await startPgBouncer(database.connection, { default_pool_size: 1 });
    await expect(checkServer(pgBouncer.url)).rejects.toThrow(/no second one.*default_pool_size/);
  });
});

describe('in transaction mode', () => {
  it('neither a server nor the doctor goes on, and both say why', async () => {
    await using pgBouncer = await startPgBouncer(database.connection, { pool_mode: 'transaction' });
    const variables = { DATABASE_URL: pgBouncer.url, MASTER_KEY, DATA_DIR: workplace.path };
    const { code, stderr } = await startServer(workplace, variables).finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Cannot start: The database is behind a pool .*pool_mode=session.*\n$/);
    const doctor = JSON.parse((await runCli(workplace, ['doctor', '--json'], variables)).stdout);
    expect(doctor.checks[0]).toMatchObject({
      check: 'database',
      ok: false,
      detail: expect.stringMatching(REFUSED),
    });
  });

  it.each<Record<string, string | number>>([
    { server_round_robin: 0 },
    { server_round_robin: 1 },
    { default_pool_size: 1 },
    { default_pool_size: 2, server_round_robin: 1 },
    { min_pool_size: 5 },
    { ignore_startup_parameters: 'options,extra_float_digits' },
  ])('it is recognised with %p, idle or with connections that others have used', async (settings) => {
    await using pgBouncer = await startPgBouncer(database.connection, {
      pool_mode: 'transaction',
      ...settings,
    });
    await expect(checkServer(pgBouncer.url)).rejects.toThrow(REFUSED);
    await expect(checkServer(pgBouncer.url)).rejects.toThrow(REFUSED);
    const others = Array.from({ length: 3 }, () => new pg.Client({ connectionString: pgBouncer.url }));
    await Promise.all(others.map((client) => client.connect()));
    await Promise.all(others.map((client) => client.query('SELECT pg_sleep(0.05)')));
    await expect(checkServer(pgBouncer.url)).rejects.toThrow(REFUSED);
    await Promise.all(others.map((client) => client.end()));
  });

  it('it is recognised while others are busy', async () => {
    await using pgBouncer = await startPgBouncer(database.connection, { pool_mode: 'transaction' });
    let isOver = false;
    const busy = Array.from({ length: 8 }, async () => {
      const client = new pg.Client({ connectionString: pgBouncer.url });
      await client.connect();
      while (!isOver) await client.query('SELECT count(*) FROM pg_class');
      await client.end();
    });
    try {
      for (let round = 0; round < 30; round += 1)
        await expect(checkServer(pgBouncer.url)).rejects.toThrow(REFUSED);
    } finally {
      isOver = true;
      await Promise.all(busy);
    }
  });
});

it('in statement mode it is recognised', async () => {
  await using pgBouncer = await startPgBouncer(database.connection, { pool_mode: 'statement' });
  await expect(checkServer(pgBouncer.url)).rejects.toThrow(REFUSED);
});
