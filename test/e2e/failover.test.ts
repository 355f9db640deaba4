/** Tests a gateway whose DATABASE_URL names a primary and a synchronous standby. The standby is promoted under load. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { connectionOfUrl } from '../../src/storage/postgres/connection.ts';
import { DatabaseServers } from '../../src/storage/postgres/database-servers.ts';
import { databaseFault } from '../../src/storage/postgres/faults.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { databaseUrl, type ServerConnection, silentLogger } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { askGraphql, signIn } from '../support/graphql-request.ts';
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
import { type Smsc, startSmsc } from '../support/smsc.ts';

jest.setTimeout(240_000);

const UNLOGGED = `SELECT relname AS name FROM pg_class WHERE relpersistence = 'u' AND relkind IN ('r', 'p') ORDER BY relname`;
const UNLOGGED_NAMES = ['provider_health', 'query_points', 'rate_limits'].map((name) => ({ name }));

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

async function connected(connection: ServerConnection): Promise<pg.Client> {
  const client = new pg.Client(connection);
  // A test crashes the server.
  client.on('error', () => undefined);
  await client.connect();
  return client;
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

async function start(
  { dataDir, stdout }: StartedDirectory,
  urls: readonly string[],
  { smsc, more }: { readonly smsc?: Smsc; readonly more?: Readonly<Record<string, string>> } = {},
) {
  const carrier = smsc ?? (await open(startSmsc(), (opened) => opened.stop()));
  const variables = {
    DATABASE_URL: severalHosts(urls),
    DATA_DIR: dataDir,
    SMS_ROUTES: `*=${carrier.url}`,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000',
    ...more,
  };
  const server = startServer(workplace, variables);
  closings.push(() => server.kill());
  const url = await server.ready();
  const cli = (...args: string[]) => runCli(workplace, [...args, '--json'], variables);
  return { server, url, cli, ...quickstartOf(stdout) };
}

type Gateway = Awaited<ReturnType<typeof start>>;

/** Makes a key that may do everything. Returns its secret and its id. */
async function newKey({ cli, accountId }: Gateway, ...options: string[]) {
  const args = ['--account', accountId, '--scopes', 'FULL_ACCESS', ...options];
  const { stdout } = await cli('key', 'create', ...args);
  const [key = '', keyId = ''] = /msg_([0-9a-f]{16})_[0-9a-f]{40}/.exec(stdout) ?? [];
  return { key, keyId };
}

/** Sends a request that a rate limit counts. Returns the status of the answer. */
const ask = async ({ url }: Gateway, key: string) =>
  (await fetch(`${url}/api/v1/account`, { headers: { 'X-Api-Key': key } })).status;

const LISTENERS = `SELECT pid FROM pg_stat_activity WHERE application_name = 'messaging-gateway listen' ORDER BY pid`;
/** Longer than a process trusts its caches while it may miss announcements, in ms (src/runtime/change-cache.ts). */
const BEYOND_TRUST_MS = 1_500;

/**
 * Checks that the gateway hears by LISTEN that another process revokes a key. While its listener is disconnected it
 * would also find out, because it then reads a cached key again after a second. So the key is changed without an
 * announcement first. While the listener is connected, the gateway must not see this change, however long it waits. An
 * attempt counts only if one connection listened all the time.
 */
async function hearsOfRevokedKeys(gateway: Gateway, connection: ServerConnection): Promise<void> {
  await eventually(async () => {
    const before = await query<{ pid: number }>(connection, LISTENERS);
    const { key, keyId } = await newKey(gateway);
    await eventually(async () => (await ask(gateway, key)) === 200);
    await query(connection, `UPDATE api_keys SET ip_allowlist = '{203.0.113.1}' WHERE key_id = $1`, [keyId]);
    const seen = new Set<number>();
    for (const changedAt = performance.now(); performance.now() - changedAt < BEYOND_TRUST_MS; )
      seen.add(await ask(gateway, key));
    expect(await gateway.cli('key', 'revoke', '--key', keyId)).toMatchObject({ code: 0 });
    await eventually(async () => (await ask(gateway, key)) === 401);
    const after = await query<{ pid: number }>(connection, LISTENERS);
    expect(before).toHaveLength(1);
    expect(after).toEqual(before);
    expect([...seen]).toEqual([200]);
    return true;
  }, 90_000);
}

describe('a promotion (R350)', () => {
  it('of a synchronous standby, after a crash, loses nothing and needs no restart', async () => {
    const { started, primary, connections, promote } = await startGatewaysReplicas();
    const gateway = await start(started, connections.map(databaseUrl));
    const load = sendAll([gateway.url], gateway);
    await eventually(() => load.accepted.size > 200);
    expect(await query(connections[0], UNLOGGED)).toEqual(UNLOGGED_NAMES);
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

describe('what processes hold, after a promotion (R350)', () => {
  const REQUESTS = 5;
  const POINTS = 100;
  /** The advisory lock under which one process adds up usage (src/storage/stores/usage.store.ts). */
  const USAGE_LOCK = 4_872_391;
  const NUMBER = '+256700999888';
  /** Rows that no process writes. They must be gone after the promotion. */
  const MARKS = [
    `INSERT INTO rate_limits (checked_at, per_minute, per_second, asked, granted, bucket, hits)
       VALUES (extract(epoch FROM now()) * 1000 + 3600000, 1, 1, 1, 1, 'mark', '{}')`,
    `INSERT INTO query_points (ends_at, corrected_until, correction, budget, used, granted, bucket, asks)
       VALUES (extract(epoch FROM now()) * 1000 + 3600000, 0, 0, 1, 1, 1, 'mark', '{1}')`,
    `INSERT INTO provider_health (process, channel, name, seen_at, status)
       VALUES ('mark', 'sms', 'mark', now() + interval '1 hour', '{}')`,
  ];
  const MARKED = `SELECT 'rate_limits' AS name FROM rate_limits WHERE bucket = 'mark'
    UNION ALL SELECT 'query_points' FROM query_points WHERE bucket = 'mark'
    UNION ALL SELECT 'provider_health' FROM provider_health WHERE process = 'mark' ORDER BY 1`;

  const sendSms = async ({ url, key }: Gateway, to: string) => {
    const response = await fetch(`${url}/api/v1/developers/sms`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ to, message: 'Hello' }),
    });
    return { status: response.status, id: ((await response.json()) as { id: string }).id };
  };
  /** Sends requests to the processes in turn until one is refused. Returns the number of those before. */
  const untilRefused = async (gateways: readonly Gateway[], key: string) => {
    for (let number = 0; ; number += 1) {
      const status = await ask(gateways[number % gateways.length]!, key);
      if (status === 429) return number;
      expect(status).toBe(200);
    }
  };
  const points = async (gateway: Gateway, token: string) => {
    const { body, cost } = await askGraphql(gateway, '{ messages(first: 1) { totalCount } }', { token });
    return { code: body.errors?.[0].extensions.code, cost };
  };

  it('is held again, each by one process: jobs, locks, counts of requests and points', async () => {
    const { started, primary, connections, promote } = await startGatewaysReplicas();
    const [former, next] = connections;
    const urls = connections.map(databaseUrl);
    const smsc = await open(startSmsc({ answer: 'silent' }), (opened) => opened.stop());
    const more = { RATE_LIMIT_POINTS_PER_MINUTE: String(POINTS) };
    const holder = await start(started, urls, { smsc, more });
    const others = [
      await start(started, urls, { smsc, more }),
      await start(started, urls, { smsc, more }),
    ] as const;
    const [one] = others;

    // With this lock, no process adds up usage.
    const locker = await open(connected(former), (client) => client.end());
    await eventually(async () => {
      const { rows } = await locker.query('SELECT pg_try_advisory_lock($1) AS mine', [USAGE_LOCK]);
      return rows[0].mine;
    });
    // The carrier does not answer, so the process that accepted the message holds its job.
    const { id } = await sendSms(holder, NUMBER);
    await eventually(() => smsc.received.length > 0);
    const job = `SELECT 1 FROM job_leases WHERE job::text LIKE '%${id}%'`;
    expect(await query(former, job)).toHaveLength(1);
    expect(await query(former, 'SELECT 1 FROM usage_deltas')).not.toEqual([]);
    const { key: limited } = await newKey(one, '--rate-limit', String(REQUESTS));
    expect(await untilRefused(others, limited)).toBe(REQUESTS);
    const token = await signIn(one, one);
    await eventually(async () => (await points(one, token)).code === 'RATE_LIMITED');
    for (const mark of MARKS) await query(former, mark);
    expect(await query(former, MARKED)).toEqual(UNLOGGED_NAMES);

    await holder.server.kill();
    await primary.crash();
    await promote();
    smsc.behave({ answer: 'accept' });
    for (const gateway of others) await eventually(async () => (await ask(gateway, gateway.key)) === 200);
    expect(await query(next, UNLOGGED)).toEqual(UNLOGGED_NAMES);
    expect(await query(next, MARKED)).toEqual([]);

    // Both processes count in the same rows, which begin anew.
    expect(await untilRefused(others, limited)).toBe(REQUESTS);
    const first = await points(one, token);
    const second = await points(one, token);
    expect(first.cost.used).toBeGreaterThan(0);
    expect(first.cost.remaining).toBe(POINTS - first.cost.used);
    expect(second.cost.remaining).toBe(POINTS - 2 * first.cost.used);
    // Each process tells its carriers' state again, and the one that died does not.
    const healthy = 'SELECT DISTINCT process FROM provider_health';
    await eventually(async () => (await query(next, healthy)).length === 2, 90_000);

    // One process takes the job whose lease has ended, and submits the message.
    const status = `SELECT 1 FROM recipients WHERE message_id = $1 AND status = 'sent'`;
    await eventually(async () => (await query(next, status, [id])).length > 0, 90_000);
    expect(await query(next, job)).toEqual([]);
    expect(smsc.received.filter(({ destination }) => NUMBER.endsWith(destination.address))).toHaveLength(2);
    // One process at a time adds up usage, so each message counts once.
    await sendSms(one, NUMBER);
    await eventually(async () => (await query(next, 'SELECT 1 FROM usage_deltas')).length === 0, 90_000);
    expect(await query(next, 'SELECT sum(messages)::int AS messages FROM usage_days')).toEqual(
      await query(next, 'SELECT count(*)::int AS messages FROM messages'),
    );
    for (const { server } of others) expect(await server.stop()).toMatchObject({ code: 0 });
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

  it('have prepared statements on a pool that was open before the promotion (R350)', async () => {
    const { primary, standby, promote } = await open(startReplicas(), (opened) => opened.stop());
    const servers = serversOf(
      severalHosts([primary, standby].map(({ connection }) => databaseUrl(connection))),
    );
    const knex = createKnex(servers, silentLogger, { poolSize: 2 });
    closings.push(() => knex.destroy());
    const sql = new Sql(knex);
    const prepared = { name: 'test-prepared', text: 'SELECT $1::int AS number' };
    const uses = {
      name: 'test-uses',
      text: `SELECT generic_plans + custom_plans AS uses, pg_backend_pid() AS pid,
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)::int AS timeline
        FROM pg_prepared_statements WHERE name = 'test-prepared'`,
    };
    /** Uses the statement three times on both connections of the pool at the same time. */
    const useBoth = async () => {
      const bothOpen = Promise.withResolvers<void>();
      bothOpen.promise.catch(() => undefined);
      let opened = 0;
      const use = () =>
        sql.transaction(async (inside) => {
          await inside.query(prepared, [0]).catch((error: unknown) => {
            bothOpen.reject(error);
            throw error;
          });
          opened += 1;
          if (opened === 2) bothOpen.resolve();
          await bothOpen.promise;
          for (const number of [1, 2]) expect(await inside.query(prepared, [number])).toEqual([{ number }]);
          return inside.query<{ uses: number; pid: number; timeline: number }>(uses, []);
        });
      const [[one], [other]] = await Promise.all([use(), use()]);
      expect(one!.pid).not.toBe(other!.pid);
      return [one, other];
    };
    const used = (timeline: number) => expect.objectContaining({ uses: 3, timeline });
    expect(await useBoth()).toEqual([used(1), used(1)]);
    await primary.crash();
    await promote();
    const errors: unknown[] = [];
    await eventually(() =>
      sql.query(prepared, [0]).then(
        () => true,
        (error: unknown) => void errors.push(error),
      ),
    );
    // A statement that the new connection does not know would be another fault.
    expect(errors.filter((error) => databaseFault(error)?.code !== 'service_unavailable')).toEqual([]);
    const again = await useBoth();
    expect(again.map((found) => found!.timeline)).toEqual([2, 2]);
    expect(again.map((found) => found!.uses).sort()).toEqual([3, 4]);
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
