/** Tests a gateway whose DATABASE_READ_URL names an asynchronous standby. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { guideDocuments, guideVariables } from '../support/dashboard-documents.ts';
import type { ServerConnection } from '../support/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { askGraphql, signIn } from '../support/graphql-request.ts';
import { readMetrics } from '../support/metrics.ts';
import type { TestPostgres } from '../support/postgres-versions.ts';
import { type Replicas, startReplicas, startStandby } from '../support/replicas.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  type ServerProcess,
  type StartedDirectory,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';

jest.setTimeout(240_000);

/** The role of DATABASE_READ_URL. It may read everything but money and authentication. */
const READER = 'lists_reader';
const SECRET = [
  ...['ledger_entries', 'ledger_check', 'prices', 'plans', 'send_limits', 'idempotency_records'],
  ...['api_keys', 'users', 'sessions', 'access_tokens', 'second_factors', 'recovery_codes', 'mail_links'],
  ...[
    'sign_in_failures',
    'sign_in_challenges',
    'single_sign_on',
    'single_sign_on_identities',
    'spent_signatures',
  ],
  ...['webhooks', 'audit_entries', 'audit_head', 'provider_health', 'rate_limits', 'query_points'],
];
const CONTACTS = '{ contacts(first: 100) { totalCount nodes { phone } } }';
/** Looks for keys and people too. */
const EVERYTHING = '{ search(text: "Alice") { __typename } }';
const LISTS = [
  CONTACTS,
  '{ contacts(first: 5, search: "alice") { nodes { id } } }',
  '{ messages(first: 10) { totalCount edges { node { id status recipients { to status } } } } }',
  '{ messages(first: 10, filter: {search: "Hello", status: DELIVERED}) { totalCount edges { node { id } } } }',
  '{ recipients(first: 10) { totalCount edges { node { to status } } } }',
  EVERYTHING,
  `{ usage(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z", interval: DAY, groupBy: [CHANNEL]) { messages } }`,
];
const MONEY_AND_AUTHENTICATION = [
  '{ viewer { email role } }',
  '{ viewer { account { balance } } }',
  '{ ledger(first: 10) { edges { node { seq } } } }',
  '{ apiKeys { keyId name } }',
  '{ sessions { id } }',
  '{ prices { prefix } }',
];

let workplace: Workplace;
let replicas: Replicas;
/** A second standby, which follows the former primary after the promotion of the first. */
let late: TestPostgres;
/** The servers of DATABASE_URL and DATABASE_READ_URL. A new connection goes to the server that is named then. */
const [main, reads] = [{} as ServerConnection, {} as ServerConnection];
let mainProxy: DatabaseProxy;
let proxy: DatabaseProxy;
const servers: ServerProcess[] = [];
let started: StartedDirectory;
let urls: string[];
let token: string;
let key: string;

const onPrimary = (sql: string) => query(at(replicas.primary), sql);
const onStandby = (sql: string) => query(at(replicas.standby), sql);
const at = ({ connection }: TestPostgres): ServerConnection => ({ ...connection, database: 'gateway' });

beforeAll(async () => {
  workplace = await buildWorkplace();
  started = await startedDirectory(workplace);
  const { dataDir, stdout } = started;
  replicas = await startReplicas({ isSynchronous: false, cluster: join(dataDir, 'postgres') });
  const columns = (await onPrimary(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = 'accounts'::regclass AND attnum > 0 AND NOT attisdropped AND attname !~ 'balance'`,
  )) as { name: string }[];
  await onPrimary(
    `CREATE ROLE ${READER} LOGIN IN ROLE pg_read_all_stats; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${READER};
     REVOKE SELECT ON accounts, ${SECRET.join()} FROM ${READER};
     GRANT SELECT (${columns.map(({ name }) => name).join()}) ON accounts TO ${READER}`,
  );
  Object.assign(main, at(replicas.primary));
  Object.assign(reads, { ...at(replicas.standby), user: READER });
  mainProxy = await startDatabaseProxy(main);
  proxy = await startDatabaseProxy(reads);
  const variables = {
    DATABASE_URL: mainProxy.url,
    DATABASE_READ_URL: proxy.url,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'info',
    RATE_LIMIT_SESSION_PER_MINUTE: '1000000',
    RATE_LIMIT_POINTS_PER_MINUTE: '1000000000',
  };
  for (const ROLES of ['api,worker', 'api']) servers.push(startServer(workplace, { ...variables, ROLES }));
  urls = await Promise.all(servers.map((server) => server.ready()));
  const owner = quickstartOf(stdout);
  ({ key } = owner);
  token = await signIn({ url: urls[0]! }, owner);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  await Promise.all([proxy?.stop(), mainProxy?.stop()]);
  await late?.stop();
  await replicas?.stop();
  await workplace?.remove();
});
afterEach(async () => {
  await proxy?.restore();
  await onStandby('SELECT pg_wal_replay_resume()').catch(() => undefined);
});

async function ask(text: string, { variables = {}, server = 0 } = {}) {
  const { body } = await askGraphql({ url: urls[server]! }, text, { token, variables });
  expect(body.errors).toBeUndefined();
  return body.data;
}
let last = 256_700_000_000;
/** Makes a contact at a process. Returns its phone number. */
async function addContact(server = 0): Promise<string> {
  last += 1;
  const created = await fetch(`${urls[server]}/api/v1/developers/contacts`, {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ phone: `+${last}`, name: 'Alice' }),
  });
  expect(created.status).toBe(201);
  return ((await created.json()) as { phone: string }).phone;
}
async function phones(server = 0): Promise<string[]> {
  const { contacts } = await ask(CONTACTS, { server });
  return contacts.nodes.map(({ phone }: { phone: string }) => phone);
}
async function served(server = 0) {
  const metrics = await readMetrics(urls[server]!);
  const by = (name: string) => metrics.sum('gateway_replica_reads_total', { server: name });
  return { replica: by('replica'), primary: by('primary'), isIn: metrics.sum('gateway_replica_in_service') };
}
/** Waits until the replica serves. */
async function isBack() {
  await eventually(() => timesLogged('the replica serves reads again') === timesOut());
  await eventually(async () => {
    const before = await served();
    await ask(CONTACTS);
    return (await served()).replica > before.replica;
  });
}
/** Asks until the replica has served all of it. On a busy machine the replica may be behind at first. */
const onlyFromReplica = (text: string) =>
  eventually(async () => {
    const before = await served();
    await ask(text);
    const after = await served();
    if (after.replica === before.replica) throw new Error(`the replica has not served ${text}`);
    if (after.primary > before.primary) throw new Error(`the primary has served a part of ${text}`);
    return true;
  });
async function move(way: DatabaseProxy): Promise<void> {
  await way.cut();
  await way.restore();
}
const timesLogged = (message: string) => servers[0]!.stderr().split(message).length - 1;
/** Returns how often the log says that the replica cannot serve. */
const timesOut = () => timesLogged('the replica cannot serve reads');

describe('a replica', () => {
  it('serves lists, searches and usage (R420)', async () => {
    await addContact();
    await isBack();
    for (const text of LISTS) await onlyFromReplica(text);
    expect(await onStandby(`SELECT FROM pg_stat_activity WHERE usename = '${READER}'`)).not.toEqual([]);
  });

  it('is asked for no money, key, person or session (R420)', async () => {
    await isBack();
    const before = await served();
    for (const text of MONEY_AND_AUTHENTICATION) await ask(text);
    const sent = await fetch(`${urls[0]}/api/v1/developers/sms`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
    });
    expect(sent.status).toBe(200);
    expect(await served()).toEqual(before);
    // Its role may not read them: a statement that does would fail here.
    const { id } = (await sent.json()) as { id: string };
    const variables = guideVariables(id, new Date(Date.now() - 86_400_000), new Date());
    // A replica that was only behind, on a busy machine, is waited for: it must get every document.
    for (const document of await guideDocuments()) {
      await isBack();
      await ask(document.text, { variables });
    }
    expect(timesLogged('permission denied')).toBe(0);
  });

  it('that refuses a read gives it to the primary (R422)', async () => {
    await isBack();
    await onPrimary(`REVOKE SELECT ON contacts FROM ${READER}`);
    try {
      const phone = await addContact();
      expect(await phones()).toContain(phone);
      expect((await served()).isIn).toBe(0);
    } finally {
      await onPrimary(`GRANT SELECT ON contacts TO ${READER}`);
    }
    await isBack();
  });

  it('shows nothing that the primary may lose with its synchronous standbys (R421)', async () => {
    await isBack();
    const setStandbys = async (names: string) => {
      await onPrimary(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await onPrimary('SELECT pg_reload_conf()');
    };
    // There is no such standby: commits wait.
    await setStandbys('nobody');
    try {
      const before = await served();
      const asked = phones();
      const isWaiting = `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%emit_message%'
        AND application_name = 'messaging-gateway reads'`;
      await eventually(async () => (await onPrimary(isWaiting)).length > 0);
      expect(await Promise.race([asked, 'waits'])).toBe('waits');
      await setStandbys('');
      await asked;
      expect((await served()).replica).toBeGreaterThan(before.replica);
    } finally {
      await setStandbys('');
    }
  });

  it('shows each caller what it wrote, at any process (R421)', async () => {
    await onStandby(`ALTER SYSTEM SET recovery_min_apply_delay = '30ms'`);
    await onStandby('SELECT pg_reload_conf()');
    try {
      for (let number = 0; number < 20; number += 1) {
        const phone = await addContact(number % 2);
        expect(await phones((number + 1) % 2)).toContain(phone);
      }
      await isBack();
    } finally {
      await onStandby('ALTER SYSTEM RESET recovery_min_apply_delay');
      await onStandby('SELECT pg_reload_conf()');
    }
  });

  it('that is behind is left out until it has caught up (R421) (R422)', async () => {
    await isBack();
    await onStandby('SELECT pg_wal_replay_pause()');
    const phone = await addContact();
    const before = await served();
    expect(await phones()).toContain(phone);
    expect(await phones()).toContain(phone);
    expect(await served()).toMatchObject({ isIn: 0, replica: before.replica });
    await onStandby('SELECT pg_wal_replay_resume()');
    await isBack();
    expect(await phones()).toContain(phone);
  });

  it.each(['cut', 'silence'] as const)('that is gone (%s) costs no read an error (R422)', async (fault) => {
    await isBack();
    let isLive = true;
    let reads = 0;
    const readers = Array.from({ length: 6 }, async () => {
      while (isLive) {
        await ask(CONTACTS);
        reads += 1;
        await sleep(20);
      }
    });
    await eventually(() => reads > 30);
    await proxy[fault]();
    await eventually(async () => (await served()).isIn === 0);
    const [before, told] = [reads, timesOut()];
    await eventually(() => reads > before + 30);
    expect(timesOut()).toBe(told);
    isLive = false;
    await Promise.all(readers);
    await proxy.restore();
    await isBack();
  });

  it('serves lists to sessions that were in use while there is no primary, and nothing else (R520)', async () => {
    const own = quickstartOf(started.stdout);
    const [ended, unused] = [await signIn({ url: urls[0]! }, own), await signIn({ url: urls[1]! }, own)];
    const made = await ask(
      'mutation ($at: String!) { createAccessToken(input: {name: "t", permissions: ["contact.list"], expiresAt: $at}) { token } }',
      { variables: { at: new Date(Date.now() + 3_600_000).toISOString() } },
    );
    const accessToken: string = made.createAccessToken.token;
    const asked = (text: string, by = token) => askGraphql({ url: urls[0]! }, text, { token: by });
    const isRefused = async (answer: ReturnType<typeof asked>) => {
      const { status, headers, body } = await answer;
      expect([status, headers.get('Retry-After')]).toEqual([503, '1']);
      expect(body.errors.map((error: { extensions: { code: string } }) => error.extensions.code)).toContain(
        'SERVICE_UNAVAILABLE',
      );
      return body;
    };
    await isBack();
    for (const one of [token, ended, accessToken]) await asked(CONTACTS, one);
    // Another process ends this session. This process must not remember it.
    await askGraphql({ url: urls[1]! }, 'mutation { signOut }', { token: ended });
    await eventually(async () =>
      (await asked('{ viewer { email } }', ended)).text.includes('UNAUTHENTICATED'),
    );
    const phone = await addContact();
    await mainProxy.cut();
    try {
      const stale = await eventually(async () => {
        const answer = await asked(CONTACTS);
        return answer.body.extensions?.stale === true ? answer : undefined;
      });
      expect(stale.status).toBe(200);
      for (const text of LISTS.filter((list) => list !== EVERYTHING)) {
        const { status, body } = await asked(text);
        const { errors, extensions } = body;
        expect([text, status, errors, extensions]).toEqual([text, 200, undefined, { stale: true }]);
      }
      // The console learns by such a request whether the database takes changes again.
      expect((await asked('{ __typename }')).body.extensions).toEqual({ stale: true });
      // What was written before is seen.
      const { body } = await asked(CONTACTS);
      expect(body.data.contacts.nodes.map((node: { phone: string }) => node.phone)).toContain(phone);
      for (const text of [...MONEY_AND_AUTHENTICATION, EVERYTHING]) await isRefused(asked(text));
      await isRefused(asked('mutation { signOut }'));
      for (const other of [ended, unused, accessToken]) await isRefused(asked(CONTACTS, other));
      const sent = await fetch(`${urls[0]}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
      });
      expect(sent.status).toBe(503);
      const streamed = await fetch(`${urls[0]}/graphql/stream`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: 'subscription { auditUpdates { __typename } }' }),
      });
      expect(streamed.status).toBe(503);
    } finally {
      await mainProxy.restore();
    }
    // Nothing was restarted: the same session changes things again.
    await eventually(async () => (await asked('{ viewer { email } }')).status === 200);
    await isBack();
    expect((await asked(CONTACTS)).body.extensions).toBeUndefined();
  });

  it('that is behind what the primary had serves nothing while there is no primary (R520)', async () => {
    await isBack();
    await onStandby('SELECT pg_wal_replay_pause()');
    const before = (await onStandby('SELECT pg_last_wal_replay_lsn() AS lsn')) as { lsn: string }[];
    await addContact();
    // The primary tells its position while it is there.
    await sleep(2_000);
    await mainProxy.cut();
    try {
      await eventually(async () => {
        const { status } = await askGraphql({ url: urls[0]! }, CONTACTS, { token });
        return status === 503 && timesLogged('cannot listen for database notifications') > 1;
      });
      expect(await onStandby('SELECT pg_last_wal_replay_lsn() AS lsn')).toEqual(before);
      await onStandby('SELECT pg_wal_replay_resume()');
      await eventually(async () => (await askGraphql({ url: urls[0]! }, CONTACTS, { token })).status === 200);
    } finally {
      await mainProxy.restore();
    }
    await isBack();
  });

  it('whose read is cancelled by the replay of changes gives it to the primary (R422)', async () => {
    await isBack();
    // The replay waits for no reader, so that a read which locks a table is in its way.
    await onStandby(`ALTER SYSTEM SET max_standby_streaming_delay = '0'`);
    await onStandby('SELECT pg_reload_conf()');
    let isLive = true;
    const readers = Array.from({ length: 4 }, async () => {
      while (isLive) await ask(CONTACTS);
    });
    for (let round = 0; round < 20; round += 1)
      await onPrimary('BEGIN; LOCK TABLE contacts IN ACCESS EXCLUSIVE MODE; COMMIT');
    isLive = false;
    await Promise.all(readers);
  });

  it('that is promoted serves no more reads, and one that follows another primary serves none (R421) (R422)', async () => {
    late = await startStandby(replicas.primary);
    await isBack();
    await replicas.promote();
    await eventually(async () => {
      await addContact();
      await phones();
      return (await served()).isIn === 0;
    });
    const phone = await addContact();
    expect(await phones()).toContain(phone);
    // The other standby takes its place.
    Object.assign(reads, { ...at(late), user: READER });
    await move(proxy);
    await isBack();
    // The gateway now uses the promoted server. The replica follows the former primary, whose log has become longer.
    await onPrimary(`SELECT pg_logical_emit_message(false, '', repeat('x', 20000000))`);
    const [end] = (await onPrimary('SELECT pg_current_wal_lsn() AS lsn')) as { lsn: string }[];
    await eventually(
      async () =>
        (await query(at(late), `SELECT WHERE pg_last_wal_replay_lsn() >= '${end!.lsn}'`)).length > 0,
    );
    Object.assign(main, at(replicas.standby));
    await move(mainProxy);
    const newest = await eventually(() => addContact().catch(() => undefined));
    expect(await phones()).toContain(newest);
    expect((await served()).isIn).toBe(0);
  });
});
