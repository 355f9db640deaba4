/** Tests that readiness and the log say why the gateway cannot accept messages. */

import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, testServer } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  runCli,
  type ServerProcess,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { mayMount, mountDisk } from '../support/small-disk.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

/** Starts a gateway. `first` is what its first start has written, if this is not the first. */
async function start(variables: Record<string, string>, first?: string) {
  const server = startServer(workplace, {
    DATA_DIR: await workplace.directory('data'),
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'info',
    ...variables,
  });
  closings.push(() => server.kill());
  const url = await server.ready();
  const { key } = quickstartOf(first ?? server.stdout());
  return {
    server,
    /** Sends an SMS. Returns the HTTP status, and the error code if it was refused. */
    async send() {
      const response = await fetch(`${url}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        // The text is long, so that a nearly full disk has no room for it.
        body: JSON.stringify({ to: '+256700123456', message: 'x'.repeat(1_000) }),
      });
      const body = (await response.json()) as { error?: { code: string; message: string } };
      return { status: response.status, code: body.error?.code };
    },
    async ready() {
      const response = await fetch(`${url}/health/ready`);
      return { status: response.status, body: await response.json() };
    },
    async metrics(name: string) {
      const text = await (await fetch(`${url}/metrics`)).text();
      return text.split('\n').filter((line) => line.startsWith(name));
    },
  };
}

type Gateway = Awaited<ReturnType<typeof start>>;
const REFUSED = { status: 503, code: 'service_unavailable' };
const READY = { status: 200, body: { status: 'ready' } };

/** Returns the log lines with this message, parsed. */
function logged(server: ServerProcess, message: string): Record<string, unknown>[] {
  return server
    .stderr()
    .split('\n')
    .filter((line) => line.includes(`"msg":"${message}`))
    .map((line) => JSON.parse(line));
}

/**
 * Checks that the gateway reports an outage: readiness gives the reason, and the log has one line at its start and one
 * at its end.
 */
async function isToldOf(
  gateway: Gateway,
  { refusal, check = 'database', reason }: { refusal: string; check?: string; reason: string },
  end: () => Promise<unknown>,
) {
  const { server } = gateway;
  await eventually(async () => (await gateway.ready()).status === 503);
  expect(await gateway.ready()).toEqual({ status: 503, body: { status: 'unavailable', check, reason } });
  for (let time = 0; time < 5; time++) expect(await gateway.send()).toEqual(REFUSED);
  expect(await gateway.metrics('gateway_refusing')).toEqual([`gateway_refusing{reason="${refusal}"} 1`]);
  const [begun, ...more] = logged(server, 'requests are refused');
  expect([begun?.level, begun?.refusal, more]).toEqual(['warn', refusal, []]);
  await end();
  await eventually(async () => (await gateway.ready()).status === 200);
  await eventually(async () => (await gateway.send()).status === 200);
  await eventually(() => logged(server, 'requests are no longer refused').length === 1);
  const [ended] = logged(server, 'requests are no longer refused');
  const [total = ''] = await gateway.metrics('gateway_refusals_total');
  expect(ended).toMatchObject({ level: 'info', refusal, durationMs: expect.any(Number) });
  expect(total).toBe(`gateway_refusals_total{reason="${refusal}"} ${ended?.refused}`);
  expect(ended?.refused).toBeGreaterThanOrEqual(5);
  expect(logged(server, 'requests are refused')).toHaveLength(1);
  expect(logged(server, 'not ready')).toHaveLength(1);
  expect(logged(server, 'ready again')).toHaveLength(1);
  expect(await gateway.metrics('gateway_refusing')).toEqual([`gateway_refusing{reason="${refusal}"} 0`]);
}

describe('a database that cannot store a message (R215)', () => {
  (mayMount ? it : it.skip)(
    'is reported as not ready while its disk is full, and ready when there is room',
    async () => {
      await using disk = mountDisk(await workplace.directory('disk'), '160m');
      const { stdout } = await startedDirectory(workplace, disk.path);
      const gateway = await start({ DATA_DIR: disk.path }, stdout);
      expect((await gateway.send()).status).toBe(200);
      expect(await gateway.ready()).toEqual(READY);
      const filling = join(disk.path, 'filling');
      const fill = async () => {
        await using file = await open(filling, 'a');
        // Fill the disk: first with large blocks, then with blocks of 4 KiB, until no page is free.
        for (const size of [2 ** 20, 4_096]) {
          const block = Buffer.alloc(size);
          await (async () => {
            for (;;) await file.write(block);
          })().catch((error: NodeJS.ErrnoException) => expect(error.code).toBe('ENOSPC'));
        }
      };
      await fill();
      // Sends still succeed while PostgreSQL has free space inside the pages that it already owns.
      await eventually(async () => (await gateway.send()).status === 503);
      await isToldOf(gateway, { refusal: 'database_full', reason: 'The disk of the database is full.' }, () =>
        rm(filling),
      );
      expect(await gateway.server.stop()).toMatchObject({ code: 0 });
    },
  );

  it('is reported as not ready while it is read-only, and ready afterwards', async () => {
    const database = await createTestDatabase();
    closings.push(() => database.drop());
    const gateway = await start({ DATABASE_URL: database.url });
    expect((await gateway.send()).status).toBe(200);
    const name = database.connection.database;
    await query(testServer(), `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await query(testServer(), 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
      name,
    ]);
    await eventually(
      async () => (await gateway.metrics('gateway_refusing{reason="database_read_only"} 1')).length,
    );
    await isToldOf(
      gateway,
      {
        refusal: 'database_read_only',
        reason: 'The database takes no writes: it is a standby, or set to read-only.',
      },
      // Existing connections are still read-only after this. PostgreSQL does not end them.
      () => query(testServer(), `ALTER DATABASE ${name} RESET default_transaction_read_only`),
    );
  });

  it('is reported as not ready while it is unreachable or silent', async () => {
    const database = await createTestDatabase();
    closings.push(() => database.drop());
    const proxy = await startDatabaseProxy(database.connection);
    closings.push(() => proxy.stop());
    const gateway = await start({ DATABASE_URL: proxy.url });
    expect((await gateway.send()).status).toBe(200);
    await proxy.cut();
    await isToldOf(
      gateway,
      { refusal: 'database_unreachable', reason: 'The database cannot be reached.' },
      () => proxy.restore(),
    );
    proxy.silence();
    const silent = await eventually(async () => {
      const verdict = await gateway.ready();
      return verdict.status === 503 && verdict;
    });
    expect(silent.body).toMatchObject({ reason: 'The database does not answer in time.' });
    // Many probes at once share one check.
    const storm = await Promise.all(Array.from({ length: 100 }, () => gateway.ready()));
    expect(new Set(storm.map(({ status }) => status))).toEqual(new Set([503]));
    await proxy.restore();
  });
});

describe('doctor, with a database that takes no writes,', () => {
  it('reports it', async () => {
    const database = await createTestDatabase();
    closings.push(() => database.drop());
    const { database: name } = database.connection;
    await query(testServer(), `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const variables = { DATABASE_URL: database.url, DATA_DIR: await workplace.directory('doctor') };
    const { code, stdout } = await runCli(workplace, ['doctor'], variables);
    expect([code, stdout.split('\n')[0]]).toEqual([
      1,
      expect.stringMatching(/^FAIL {2}database .*read-only/),
    ]);
  });
});
