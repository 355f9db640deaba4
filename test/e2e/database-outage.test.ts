import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createKnex, Sql, statement } from '../../src/storage/postgres/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase, testServer } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import {
  buildWorkplace,
  embeddedConnection,
  postmasterPid,
  query,
  quickstartOf,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { startSmsc } from '../support/smsc.ts';
import { openSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

/** Longest time in ms until a request is answered. */
const ANSWER_MS = 45_000;
const RECOVERY_MS = 60_000;
/** Longest time in ms in which a process must stop. It normally needs less than half of this. */
const DRAIN_MS = 30_000;

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

type CloseAtEnd = <T>(opened: T, close: (opened: T) => Promise<unknown>) => T;

/**
 * Runs a test with a list of its own of things to close. Tests that mostly wait run at the same time, so they cannot
 * share a list.
 */
function closing<Given extends readonly unknown[]>(
  test: (closeAtEnd: CloseAtEnd, ...given: Given) => Promise<void>,
): (...given: Given) => Promise<void> {
  return async (...given) => {
    const closings: (() => Promise<unknown>)[] = [];
    const closeAtEnd: CloseAtEnd = (opened, close) => {
      closings.push(() => close(opened));
      return opened;
    };
    try {
      await test(closeAtEnd, ...given);
    } finally {
      for (const close of closings.reverse()) await close();
    }
  };
}

interface Client {
  send(): Promise<Response>;
  statusOf(id: string): Promise<string>;
  ready(): Promise<number>;
}

function clientOf(url: string, key: string): Client {
  const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  const get = (path: string) => fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
  return {
    send: () =>
      fetch(`${url}/api/v1/developers/sms`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
        signal: AbortSignal.timeout(ANSWER_MS),
      }),
    async statusOf(id) {
      return ((await (await get(`/api/v1/developers/messages/${id}`)).json()) as { status: string }).status;
    },
    ready: async () => (await get('/health/ready')).status,
  };
}

async function isSent(client: Client, response: Response): Promise<void> {
  const { id } = (await response.json()) as { id: string };
  expect(response.status).toBe(200);
  await eventually(async () => ['sent', 'delivered'].includes(await client.statusOf(id)), RECOVERY_MS);
}

async function isAccepted(response: Response): Promise<void> {
  expect(response.status).toBe(200);
  await response.json();
}

async function isUnavailable(response: Response): Promise<void> {
  expect(response.status).toBe(503);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toMatchObject({ error: { code: 'service_unavailable' } });
}

/**
 * Checks that the answer means "nothing was done" or "the outcome is unknown". If the outcome is unknown, there must be
 * no Retry-After, because a retry could send the message twice.
 */
async function isUnavailableOrUnknown(response: Response): Promise<void> {
  const { error } = (await response.clone().json()) as { error: { code: string; message: string } };
  if (error.code !== 'outcome_unknown') return isUnavailable(response);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, null]);
  expect(error.message).toMatch(/Look it up .* Idempotency-Key/);
}

/** Sends until a message is accepted, and waits until it is sent. Each refusal before it must have a Retry-After. */
async function recovers(client: Client): Promise<void> {
  const accepted = await eventually(async () => {
    const response = await client.send();
    if (response.status === 200) return response;
    await isUnavailableOrUnknown(response);
    return undefined;
  }, RECOVERY_MS);
  await isSent(client, accepted);
  await eventually(async () => (await client.ready()) === 200, RECOVERY_MS);
}

describe('an outage of the database', () => {
  it(
    'an embedded PostgreSQL that was killed is started again (R240)',
    closing(async (closeAtEnd) => {
      const { dataDir, stdout } = await startedDirectory(workplace);
      const server = closeAtEnd(
        startServer(workplace, { DATA_DIR: dataDir, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '100000' }),
        (started) => started.kill(),
      );
      const client = clientOf(await server.ready(), quickstartOf(stdout).key);
      await isSent(client, await client.send());
      for (let kill = 0; kill < 2; kill++) {
        const killed = await postmasterPid(dataDir);
        process.kill(killed, 'SIGKILL');
        await eventually(async () => (await postmasterPid(dataDir)) !== killed, RECOVERY_MS);
        await recovers(client);
      }
      expect(await server.stop()).toMatchObject({ code: 0 });
      await expect(query(await embeddedConnection(dataDir), 'SELECT 1')).rejects.toThrow();
    }),
  );

  it(
    'a PostgreSQL killed under load has every accepted message (ADR-0017)',
    closing(async (closeAtEnd) => {
      const { dataDir, stdout } = await startedDirectory(workplace);
      const settings = {
        DATA_DIR: dataDir,
        LOG_LEVEL: 'error',
        RATE_LIMIT_PER_MINUTE: '1000000',
        ROLES: 'api',
      };
      const server = closeAtEnd(startServer(workplace, settings), (started) => started.kill());
      const client = clientOf(await server.ready(), quickstartOf(stdout).key);
      const accepted = new Set<string>();
      for (let kill = 0; kill < 5; kill++) {
        const killed = await postmasterPid(dataDir);
        const enough = accepted.size + 200;
        let isLive = true;
        const senders = Array.from({ length: 8 }, async () => {
          while (isLive) {
            const response = await client.send();
            if (response.status === 200) accepted.add(((await response.json()) as { id: string }).id);
            else await isUnavailableOrUnknown(response);
          }
        });
        await eventually(async () => accepted.size > enough, RECOVERY_MS);
        // Kill all processes of PostgreSQL at once, so that none of them writes to the disk afterwards.
        const connection = await embeddedConnection(dataDir);
        const children = await query<{ pid: number }>(connection, 'SELECT pid FROM pg_stat_activity');
        for (const pid of [killed, ...children.map(({ pid }) => pid)]) {
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // The backend that ran the query has ended by itself.
          }
        }
        isLive = false;
        await Promise.all(senders);
        await eventually(async () => (await postmasterPid(dataDir)) !== killed, RECOVERY_MS);
        await eventually(async () => (await client.ready()) === 200, RECOVERY_MS);
        // Retry the query: readiness is checked once a second, so its answer may be older than the last crash.
        const stored = await eventually(async () =>
          query<{ id: string }>(
            await embeddedConnection(dataDir),
            'SELECT id FROM messages WHERE id = ANY($1)',
            [[...accepted]],
          ).catch(() => undefined),
        );
        expect(stored.length).toBe(accepted.size);
      }
    }),
  );

  it.concurrent(
    'the gateway works again after every connection was terminated',
    closing(async (closeAtEnd) => {
      const gateway = closeAtEnd(await startTestGateway(), (opened) => opened.stop());
      const { key } = await gateway.createAccount();
      const client = clientOf(gateway.url, key);
      await isSent(client, await client.send());
      for (let time = 0; time < 3; time++) {
        const terminated = await query(
          testServer(),
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
          [gateway.database.connection.database],
        );
        expect(terminated.length).toBeGreaterThan(0);
        await recovers(client);
      }
    }),
  );

  describe('over a network', () => {
    async function startBehindProxy(closeAtEnd: CloseAtEnd, variables: Record<string, string> = {}) {
      const database: TestDatabase = closeAtEnd(await createTestDatabase(), (opened) => opened.drop());
      const proxy = closeAtEnd(await startDatabaseProxy(database.connection), (opened) => opened.stop());
      const gateway = closeAtEnd(
        await startTestGateway({ DATABASE_URL: proxy.url, ...variables }, database),
        async (opened) => {
          await proxy.restore();
          await opened.stop();
        },
      );
      const account = await gateway.createAccount();
      return { proxy, gateway, account, client: clientOf(gateway.url, account.key) };
    }

    it.concurrent(
      'refused connections give 503 with Retry-After, and pending work continues afterwards',
      closing(async (closeAtEnd) => {
        const { proxy, gateway, account, client } = await startBehindProxy(closeAtEnd);
        const receiver = closeAtEnd(await startWebhookReceiver(), (opened) => opened.stop());
        await gateway.call('POST', '/developers/webhooks', {
          key: account.key,
          body: { url: receiver.url, events: ['sms.sent'] },
        });
        const owed = (await (await client.send()).json()) as { id: string };
        await proxy.cut();
        for (let time = 0; time < 3; time++) await isUnavailable(await client.send());
        expect(await client.ready()).toBe(503);
        expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200);
        expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain('gateway_http_errors_total');
        await proxy.restore();
        await recovers(client);
        await receiver.waitFor((hook) => hook.body.messageId === owed.id);
      }),
    );

    it.concurrent(
      'a connection that breaks during a statement gives 503, for every kind of statement',
      closing(async (closeAtEnd) => {
        const { proxy, gateway, account } = await startBehindProxy(closeAtEnd);
        const { key } = account;
        const token = await signIn(gateway, account);
        const viewer = () => graphql(gateway, '{ viewer { email } account { id } }', { token });
        // These two requests put the key and the session into the cache.
        expect((await gateway.call('GET', '/account', { key })).status).toBe(200);
        expect(codesOf(await viewer())).toEqual([]);
        await using sql = await openSql(gateway.database);
        await sql.query('BEGIN');
        await sql.query('LOCK TABLE plans IN ACCESS EXCLUSIVE MODE');
        const asked = Promise.all([gateway.call('GET', '/account', { key }), viewer()]);
        await eventually(async () => {
          const waiting =
            await sql.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'plans'::regclass
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
          return waiting.length === 2;
        });
        await proxy.cut();
        const [rest, graph] = await asked;
        expect([rest.status, rest.body.error.code]).toEqual([503, 'service_unavailable']);
        // The query has two fields, and both may have lost their connection. So there may be two errors.
        expect([graph.status, ...new Set(codesOf(graph))]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      }),
    );

    /** Starts a carrier that does not answer until the test tells it to. */
    const slowCarrier = async (closeAtEnd: CloseAtEnd) =>
      closeAtEnd(await startSmsc({ answersReversedBy: 1_000 }), (opened) => opened.stop());

    it.concurrent.each<[string, number]>([
      ['a moment', 500],
      ['longer than a job is held without a sign of life', 17_000],
    ])(
      "the carrier's answer is kept for %s: nothing is handed over twice",
      closing(async (closeAtEnd, _what: string, outageMs: number) => {
        const smsc = await slowCarrier(closeAtEnd);
        const { proxy, client } = await startBehindProxy(closeAtEnd, { SMS_ROUTES: `*=${smsc.url}` });
        const sent = await Promise.all(Array.from({ length: 5 }, () => client.send()));
        await eventually(() => smsc.received.length === 5);
        await proxy.cut();
        smsc.behave({ answersReversedBy: 1 });
        await new Promise((resolve) => setTimeout(resolve, outageMs));
        await proxy.restore();
        for (const each of sent) await isSent(client, each);
        expect(smsc.received).toHaveLength(5);
      }),
    );

    it.concurrent(
      'a process still stops on SIGTERM',
      closing(async (closeAtEnd) => {
        const smsc = await slowCarrier(closeAtEnd);
        const database = closeAtEnd(await createTestDatabase(), (opened) => opened.drop());
        const proxy = closeAtEnd(await startDatabaseProxy(database.connection), (opened) => opened.stop());
        const server = closeAtEnd(
          startServer(workplace, {
            DATA_DIR: await workplace.directory('ending'),
            DATABASE_URL: proxy.url,
            SMS_ROUTES: `*=${smsc.url}`,
            LOG_LEVEL: 'warn',
          }),
          (started) => started.kill(),
        );
        const client = clientOf(await server.ready(), quickstartOf(server.stdout()).key);
        await client.send();
        await eventually(() => smsc.received.length === 1);
        await proxy.cut();
        smsc.behave({ answersReversedBy: 1 });
        await eventually(() => server.stderr().includes('outcomes wait for the database'));
        const told = performance.now();
        expect(await server.stop()).toMatchObject({ code: 0 });
        expect(performance.now() - told).toBeLessThan(DRAIN_MS);
      }),
    );

    it.concurrent(
      'a lost answer to COMMIT gives 503 outcome_unknown: the message is stored, and charged once (R217)',
      closing(async (closeAtEnd) => {
        const { proxy, gateway, account, client } = await startBehindProxy(closeAtEnd, { ROLES: 'api' });
        const call = (method: string, path: string, more: object = {}) =>
          gateway.call(method, path, { key: account.key, ...more });
        await isAccepted(await client.send());
        const before = (await call('GET', '/account')).body.balance;
        const request = {
          body: { to: '+256700123456', message: 'once' },
          headers: { 'Idempotency-Key': 'k1' },
        };
        const lost = proxy.loseAnswerTo('intake-write');
        const asked = call('POST', '/developers/sms', request);
        await lost;
        await proxy.cut();
        const answer = await asked;
        expect([answer.status, answer.body.error.code]).toEqual([503, 'outcome_unknown']);
        expect(answer.headers.get('retry-after')).toBeNull();
        await proxy.restore();
        const { messageId } = answer.body.error.details;
        const found = await eventually(async () => {
          const looked = await call('GET', `/developers/messages/${messageId}`);
          return looked.status === 200 && looked;
        }, RECOVERY_MS);
        expect(found.body).toMatchObject({ id: messageId, content: 'once' });
        const repeated = await call('POST', '/developers/sms', request);
        expect([repeated.status, repeated.body.id]).toEqual([200, messageId]);
        expect((await call('GET', '/account')).body.balance).toBe(before - 30);
      }),
    );

    it.concurrent(
      'other processes continue when one is frozen inside a transaction that locks the account',
      closing(async (closeAtEnd) => {
        const { gateway, client } = await startBehindProxy(closeAtEnd);
        await isAccepted(await client.send());
        // This connection has a gateway's settings. It stays open and sends nothing, like the connection of a frozen
        // process.
        const goesOn = Promise.withResolvers<void>();
        const frozen = closeAtEnd(createKnex(gateway.database.connection, silentLogger), async (knex) => {
          goesOn.resolve();
          await knex.destroy();
        });
        const locked = Promise.withResolvers<void>();
        new Sql(frozen)
          .transaction(async (inside) => {
            await inside.query(statement('test-lock-accounts', 'SELECT id FROM accounts FOR UPDATE'), []);
            locked.resolve();
            await goesOn.promise;
          })
          .catch(() => undefined);
        await locked.promise;
        const accepted = await eventually(async () => {
          const response = await client.send();
          if (response.status === 200) return response;
          await isUnavailable(response);
          return undefined;
        }, RECOVERY_MS);
        await isSent(client, accepted);
      }),
    );

    it.concurrent(
      'a send that waited for its account and was refused is not charged',
      closing(async (closeAtEnd) => {
        const { gateway, account, client } = await startBehindProxy(closeAtEnd, { ROLES: 'api' });
        const before = (await gateway.call('GET', '/account', { key: account.key })).body.balance;
        await using sql = await openSql(gateway.database);
        await sql.query('BEGIN');
        await sql.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [account.accountId]);
        // Each send waits until the lock timeout. At that time PostgreSQL has already received the whole transaction
        // with its COMMIT.
        for (let time = 0; time < 2; time++) await isUnavailable(await client.send());
        await sql.query('ROLLBACK');
        await isAccepted(await client.send());
        expect(await sql.query('SELECT count(*)::int AS n FROM messages')).toEqual([{ n: 1 }]);
        expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(before - 30);
      }),
    );

    it.concurrent(
      'packets that are lost silently give 503 with Retry-After',
      closing(async (closeAtEnd) => {
        const { proxy, client } = await startBehindProxy(closeAtEnd);
        await isSent(client, await client.send());
        proxy.silence();
        await isUnavailable(await client.send());
        expect(await client.ready()).toBe(503);
        await proxy.restore();
        await recovers(client);
      }),
    );
  });
});
