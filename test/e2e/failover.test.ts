/** Tests a gateway whose DATABASE_URL names a primary and a synchronous standby. The standby is promoted under load. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connectionOfUrl } from '../../src/storage/postgres/connection.ts';
import { DatabaseServers } from '../../src/storage/postgres/database-servers.ts';
import { databaseUrl, type ServerConnection } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import type { TestPostgres } from '../support/postgres-versions.ts';
import { severalHosts, startReplicas } from '../support/replicas.ts';
import { hasAll, sendAll } from '../support/senders.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  runCli,
  type StartedDirectory,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { startSmsc } from '../support/smsc.ts';

jest.setTimeout(240_000);

const UNLOGGED = `SELECT relname AS name FROM pg_class WHERE relpersistence = 'u' AND relkind IN ('r', 'p') ORDER BY relname`;

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});
async function open<T>(opening: Promise<T>, close: (opened: T) => Promise<unknown>): Promise<T> {
  const opened = await opening;
  closings.push(() => close(opened));
  return opened;
}

/** Starts replicas of a database of a gateway. */
async function startGatewaysReplicas() {
  const started = await startedDirectory(workplace);
  const cluster = join(started.dataDir, 'postgres');
  const replicas = await open(startReplicas({ cluster }), (opened) => opened.stop());
  const gatewaysOf = ({ connection }: TestPostgres) => ({ ...connection, database: 'gateway' });
  return {
    started,
    primary: replicas.primary,
    connections: [gatewaysOf(replicas.primary), gatewaysOf(replicas.standby)] as const,
    promote: () => replicas.promote(),
  };
}

async function start({ dataDir, stdout }: StartedDirectory, urls: readonly string[]) {
  const smsc = await open(startSmsc(), (opened) => opened.stop());
  const variables = {
    DATABASE_URL: severalHosts(urls),
    DATA_DIR: dataDir,
    SMS_ROUTES: `*=${smsc.url}`,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000',
  };
  const server = startServer(workplace, variables);
  closings.push(() => server.kill());
  const url = await server.ready();
  const { key, accountId } = quickstartOf(stdout);
  const cli = (...args: string[]) => runCli(workplace, [...args, '--json'], variables);
  return { server, url, key, accountId, cli };
}

const LISTENER = `SELECT pid FROM pg_stat_activity WHERE application_name = 'messaging-gateway listen'`;

/**
 * Checks that the gateway hears by LISTEN that another process revokes a key. While its listener is disconnected it
 * would also find out, because it caches keys for a second only. So an attempt counts only if one connection listened
 * from before the key was cached until the key was refused.
 */
async function hearsOfRevokedKeys(
  { url, accountId, cli }: Awaited<ReturnType<typeof start>>,
  connection: ServerConnection,
): Promise<void> {
  await eventually(async () => {
    const before = await query<{ pid: number }>(connection, LISTENER);
    const made = await cli('key', 'create', '--account', accountId, '--scopes', 'FULL_ACCESS');
    const [key = '', keyId = ''] = /msg_([0-9a-f]{16})_[0-9a-f]{40}/.exec(made.stdout) ?? [];
    const status = async () =>
      (await fetch(`${url}/api/v1/account`, { headers: { 'X-Api-Key': key } })).status;
    await eventually(async () => (await status()) === 200);
    expect(await cli('key', 'revoke', '--key', keyId)).toMatchObject({ code: 0 });
    await eventually(async () => (await status()) === 401);
    const after = await query<{ pid: number }>(connection, LISTENER);
    expect(before).toHaveLength(1);
    expect(after).toEqual(before);
    return true;
  }, 90_000);
}

describe('a promotion (R350)', () => {
  it('of a synchronous standby, after a crash, loses nothing and needs no restart', async () => {
    const { started, primary, connections, promote } = await startGatewaysReplicas();
    const gateway = await start(started, connections.map(databaseUrl));
    const load = sendAll([gateway.url], gateway);
    await eventually(() => load.accepted.size > 200);
    expect(await query(connections[0], UNLOGGED)).toEqual(
      ['provider_health', 'query_points', 'rate_limits'].map((name) => ({ name })),
    );
    await primary.crash();
    await eventually(() => load.refused.size > 0);
    const before = load.accepted.size;
    await promote();
    await eventually(() => load.accepted.size > before + 200);
    await load.stop();
    for (const refusal of load.refused)
      expect(refusal).toMatch(/^503 (service_unavailable, Retry-After|outcome_unknown)$/);
    await hasAll(connections[1], gateway.accountId, load.accepted);
    // Tables without a log are empty on a promoted server. The gateway must fill them again.
    for (const table of ['provider_health', 'rate_limits'])
      await eventually(
        async () => (await query(connections[1], `SELECT 1 FROM ${table} LIMIT 1`)).length > 0,
      );
    expect(await query(connections[1], UNLOGGED)).toHaveLength(3);
    await hearsOfRevokedKeys(gateway, connections[1]);
    expect(gateway.server.stderr()).toContain('another database server is the primary now');
    expect(await gateway.server.stop()).toMatchObject({ code: 0 });
  });

  it('is found although the former primary is cut off and still runs', async () => {
    const { started, connections, promote } = await startGatewaysReplicas();
    const reach = (connection: ServerConnection) =>
      open(startDatabaseProxy(connection), (proxy) => proxy.stop());
    const [first, second] = [await reach(connections[0]), await reach(connections[1])];
    const gateway = await start(started, [first.url, second.url]);
    const load = sendAll([gateway.url], gateway);
    await eventually(() => load.accepted.size > 200);
    first.silence();
    await promote();
    const before = load.accepted.size;
    await eventually(() => load.accepted.size > before + 200);
    // The former primary can be reached again. It does not know that the other server was promoted.
    await first.restore();
    await second.cut();
    await eventually(async () => (await fetch(`${gateway.url}/health/ready`)).status === 503);
    await second.restore();
    const between = load.accepted.size;
    await eventually(() => load.accepted.size > between + 200);
    await load.stop();
    await hasAll(connections[1], gateway.accountId, load.accepted);
    expect(await gateway.server.stop()).toMatchObject({ code: 0 });
  });
});

describe('several hosts', () => {
  const serversOf = (url: string) => {
    const connection = connectionOfUrl(url);
    if (!(connection instanceof DatabaseServers)) throw new Error('it names one server');
    return connection;
  };

  it('with no primary, or with one whose timeline has ended, are no database (R350)', async () => {
    const { primary, standby, promote } = await open(startReplicas(), (opened) => opened.stop());
    const urls = [standby, primary].map(({ connection }) => databaseUrl(connection));
    const servers = serversOf(severalHosts(urls));
    const moves: string[] = [];
    servers.onMove((name) => moves.push(name));
    expect(await servers.primary()).toEqual({
      connectionString: expect.stringContaining(encodeURIComponent(primary.connection.host)),
    });
    await promote();
    await eventually(async () => {
      servers.doubt();
      await servers.primary();
      return moves.length > 0;
    });
    expect(moves).toEqual([expect.stringContaining(standby.connection.host)]);
    await standby.crash();
    servers.doubt();
    await expect(servers.primary()).rejects.toMatchObject({
      code: '57P03',
      message: expect.stringMatching(/ was the primary: it is on timeline 1, and 2 has begun$/),
    });
    await primary.crash();
    const started = await runCli(workplace, ['migrate'], {
      DATABASE_URL: severalHosts(urls),
      DATA_DIR: await workplace.directory('data'),
    });
    expect(started).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The database cannot be reached: None of the servers is the primary \(.*; .*\)\./,
      ),
    });
  });

  it.each([
    [
      'postgres://a,b/x?target_session_attrs=standby',
      /^its target_session_attrs must be read-write or primary/,
    ],
    ['postgres://a,/x', /^it has a comma without a host/],
    ['postgres://a:1,b:99999/x', /^it must be an address such as/],
  ])('%s is refused', (url, why) => {
    expect(() => connectionOfUrl(url)).toThrow(why);
  });
});
