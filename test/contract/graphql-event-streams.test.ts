import { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { announceLive } from '../../src/storage/postgres/pg-live.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { askStream, eventCodes, type Subscription, subscribe } from '../support/live.ts';

const ALL = 'subscription { messageUpdated { id status } }';

describe('event streams of subscriptions (graphql-sse, distinct connections) (R208)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let knex: ReturnType<typeof createKnex>;
  let database: Sql;
  const open: { stop(): void }[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway({
      NODE_ENV: 'production',
      SMS_ROUTES: '*=simulator:',
      METRICS_TOKEN: 'for-metrics',
    });
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    knex = createKnex(gateway.database.url, silentLogger);
    database = new Sql(knex);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const each of open.splice(0)) each.stop();
    await eventually(() => gateway.parts.live.size === 0);
  });
  afterAll(async () => {
    await knex?.destroy();
    await gateway?.stop();
  });

  async function watch(query = ALL, as = token, on = gateway): Promise<Subscription> {
    const subscription = await subscribe(on, as, query);
    open.push(subscription);
    return subscription;
  }
  const send = async (message: string) => {
    const body = { to: '+256700123456', message };
    return (await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body })).body
      .id as string;
  };
  const touch = (ids: readonly string[]) =>
    database.transaction(async (sql) =>
      announceLive(
        sql,
        'message',
        ids.map((id) => ({ accountId: account.accountId, id })),
      ),
    );

  it('are served at /graphql/stream, and at /graphql when requested, with a bearer token or the cookie', async () => {
    for (const path of ['/graphql/stream', '/graphql']) {
      for (const headers of [{ Authorization: `Bearer ${token}` }, { Cookie: `__Host-session=${token}` }]) {
        const answer = await askStream(gateway, ALL, {
          path,
          headers: { ...headers, 'X-Request-Id': 'live-1' },
        });
        expect([path, answer.status, answer.text]).toEqual([path, 200, ':\n\n']);
        expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
        expect(answer.headers.get('cache-control')).toBe('no-store');
        expect(answer.headers.get('x-request-id')).toBe('live-1');
      }
    }
    const accept = 'application/json;q=0.5, text/event-stream';
    const both = await askStream(gateway, ALL, { path: '/graphql', token, headers: { Accept: accept } });
    expect(both.text).toBe(':\n\n');
  });

  it('need POST and JSON, so that another site cannot start one from a browser', async () => {
    const url = `${gateway.url}/graphql/stream?query=${encodeURIComponent(ALL)}`;
    const headers = { Cookie: `__Host-session=${token}`, Accept: 'text/event-stream' };
    const got = await fetch(url, { headers });
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    const form = await fetch(url, { method: 'POST', headers, body: new URLSearchParams({ query: ALL }) });
    expect(form.status).toBe(415);
    const text = JSON.stringify({ query: ALL });
    const plain = await fetch(url, { method: 'POST', headers, body: text });
    expect(plain.status).toBe(415);
    const large = await askStream(gateway, ALL, { token, variables: { text: 'x'.repeat(110 * 1024) } });
    expect([large.status, codesOf(large)]).toEqual([413, ['PAYLOAD_TOO_LARGE']]);
    const anyForm = { token, path: '/graphql', variables: { text: 'x'.repeat(110 * 1024) } };
    const eitherForm = { Accept: 'application/json, text/event-stream' };
    const kept = await askStream(gateway, ALL, { ...anyForm, headers: eitherForm });
    expect([kept.status, codesOf(kept)]).toEqual([413, ['PAYLOAD_TOO_LARGE']]);
  });

  it('carry one result of a query or mutation when the client accepts nothing else', async () => {
    for (const path of ['/graphql/stream', '/graphql']) {
      const query = await askStream(gateway, '{ viewer { email } }', { token, path });
      expect([query.status, query.headers.get('content-type')]).toEqual([
        200,
        'text/event-stream; charset=utf-8',
      ]);
      expect(query.body).toMatchObject({ data: { viewer: { email: account.email } } });
      expect(codesOf(await askStream(gateway, '{ viewer { email } }', { path }))).toEqual([
        'UNAUTHENTICATED',
      ]);
    }
    const words = `mutation { signIn(email: "${account.email}", password: "${account.password}") { token } }`;
    const signedIn = await askStream(gateway, words);
    expect(signedIn.headers.get('set-cookie')).toMatch(/^__Host-session=/);
    const { token: another } = signedIn.body.data.signIn;
    expect((await askStream(gateway, 'mutation { signOut }', { token: another })).body.data.signOut).toBe(
      true,
    );
    expect(codesOf(await askStream(gateway, '{ viewer { id } }', { token: another }))).toEqual([
      'UNAUTHENTICATED',
    ]);
  });

  it('are refused to a client that accepts none, with instructions', async () => {
    const ask = (Accept: string, query = ALL) => graphql(gateway, query, { token, headers: { Accept } });
    for (const accept of ['application/json', 'text/html', 'application/json, text/event-stream;q=0']) {
      const refused = await ask(accept);
      expect([refused.status, codesOf(refused)]).toEqual([406, ['BAD_REQUEST']]);
      expect(refused.body.errors[0].message).toMatch(/send this with Accept: text\/event-stream/);
    }
    for (const accept of ['*/*', '']) {
      const refused = await ask(accept);
      expect([refused.status, codesOf(refused)]).toEqual([400, ['BAD_REQUEST']]);
    }
    const urql =
      'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed';
    const query = await ask(urql, '{ viewer { email } }');
    expect(query.headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
    expect(query.body.data.viewer.email).toBe(account.email);
    const neither = await ask('text/html', '{ viewer { email } }');
    expect([neither.status, codesOf(neither)]).toEqual([406, ['BAD_REQUEST']]);
  });

  const FIELDS = Array.from({ length: 16 }, (_, i) => `a${i}: id`).join(' ');
  it.each([
    ['a query of nothing', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['a mutation of nothing', 'mutation { nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['two mutations at once', 'mutation { signOut again: signOut }', 'GRAPHQL_VALIDATION_FAILED'],
    ['what is no GraphQL', 'subscription {', 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', 'subscription { messageUpdate { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['two at once', 'subscription { messageUpdated { id } usageTick { at } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['introspection', `{ __schema { types { name } } } ${ALL}`, 'GRAPHQL_VALIDATION_FAILED'],
    ['too many aliases', `subscription { messageUpdated { ${FIELDS} } }`, 'GRAPHQL_VALIDATION_FAILED'],
    ['too many tokens', `subscription { messageUpdated { ${'id '.repeat(1000)} } }`, 'GRAPHQL_PARSE_FAILED'],
    [
      'what costs too much for many events at once',
      'subscription { messageUpdated { events { type } deliveries { id attemptLog { at } webhook { deliveries { nodes { id } } } } } }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    ['no such filter', 'subscription { messageUpdated(filter: { channel: FAX }) { id } }', 'BAD_USER_INPUT'],
    [
      'a long search',
      `subscription { messageUpdated(filter: { search: "${'x'.repeat(101)}" }) { id } }`,
      'BAD_USER_INPUT',
    ],
    [
      'no such variable',
      'subscription ($f: MessageFilter!) { messageUpdated(filter: $f) { id } }',
      'BAD_USER_INPUT',
    ],
  ])('report %s in the stream, and then end', async (_, query, code) => {
    const answer = await askStream(gateway, query, { token });
    expect([answer.status, ...new Set(codesOf(answer))]).toEqual([200, code]);
    expect(answer.text).toMatch(/^event: next\ndata: \{.*\}\n\nevent: complete\ndata:\n\n$/);
    expect(answer.text).not.toMatch(/Did you mean|node_modules/);
    expect(gateway.parts.live.size).toBe(0);
  });

  it.each([
    ['no object', '[]', 200],
    ['no query', '{}', 200],
    ['variables that are none', '{"query": "subscription { usageTick { at } }", "variables": 5}', 200],
    ['a name that is none', '{"query": "subscription { usageTick { at } }", "operationName": {}}', 200],
    ['broken JSON', '{', 400],
  ])('refuse a body with %s', async (_, body, status) => {
    const response = await fetch(`${gateway.url}/graphql/stream`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body,
    });
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(/BAD_USER_INPUT|INVALID_JSON/);
  });

  it('need a session in an account', async () => {
    expect(codesOf(await askStream(gateway, ALL))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await askStream(gateway, ALL, { token: 'unknown' }))).toEqual(['UNAUTHENTICATED']);
    expect(codesOf(await askStream(gateway, ALL, { token: account.key }))).toEqual(['UNAUTHENTICATED']);
  });

  it('hide an unexpected error, and give the request id that the log has', async () => {
    const live = await watch('subscription { messageUpdated { id apiKey { name } } }');
    const { apiKeyLists } = gateway.parts.operations;
    jest.spyOn(apiKeyLists.findMany, 'run').mockRejectedValueOnce(new Error('relation "api_keys" is gone'));
    const id = await send('fails');
    await eventually(() => live.events.length > 0);
    const requestId = live.events[0]?.errors?.[0]?.extensions?.requestId;
    expect(live.events[0]).toMatchObject({
      data: { messageUpdated: { id, apiKey: null } },
      errors: [
        {
          message: `Something went wrong here. Quote request ${requestId}.`,
          path: ['messageUpdated', 'apiKey'],
        },
      ],
    });
    expect(eventCodes(live.events[0])).toEqual(['INTERNAL_SERVER_ERROR']);
    expect(live.end).toBeUndefined();
    jest
      .spyOn(gateway.parts.stores.messageLists, 'findMany')
      .mockRejectedValueOnce(new Error('no such column'));
    await touch([id]);
    await eventually(() => live.end);
    expect([live.end, eventCodes(live.events.at(-1))]).toEqual(['complete', ['INTERNAL_SERVER_ERROR']]);
    expect(JSON.stringify(live.events)).not.toMatch(/no such column|is gone/);
  });

  it('break off while the database cannot be read, so that the client reconnects', async () => {
    const live = await watch();
    const fault = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    jest.spyOn(gateway.parts.stores.messageLists, 'findMany').mockRejectedValueOnce(fault);
    await touch([account.accountId]);
    await eventually(() => live.end);
    expect(live.end).toBeInstanceOf(Error);
    expect(live.events).toEqual([]);
  });

  it('tell the client to read everything again after the LISTEN connection was lost', async () => {
    const live = await watch();
    const killed: { killed: boolean }[] = await knex('pg_stat_activity')
      .where({ application_name: 'messaging-gateway listen', datname: knex.raw('current_database()') })
      .select(knex.raw('pg_terminate_backend(pid) AS killed'));
    expect(killed).toEqual([{ killed: true }]);
    await eventually(() => live.events.length > 0);
    expect(live.events[0]?.data).toEqual({ messageUpdated: null });
    expect(eventCodes(live.events[0])).toEqual(['REFETCH']);
    const id = await send('after');
    await eventually(() => live.events.some(({ data }) => data?.messageUpdated?.id === id));
  });

  it('end with the session, and with a change of the role', async () => {
    const owner = await gateway.createAccount();
    const ownerToken = await signIn(gateway, owner);
    const signedOut = await watch(ALL, await signIn(gateway, owner));
    const leaving = await signIn(gateway, owner);
    const left = await watch(ALL, leaving);
    const member = await inviteMember(gateway, ownerToken, 'VIEWER');
    const promoted = await watch('subscription { usageTick { at } }', await signIn(gateway, member));
    const gone = await inviteMember(gateway, ownerToken, 'ADMIN');
    const removed = await watch('subscription { deliveryUpdated { id } }', await signIn(gateway, gone));
    const staying = await watch(ALL, ownerToken);
    await graphql(gateway, 'mutation { signOut }', { token: leaving });
    const set = `mutation { setMemberRole(userId: "${member.id}", role: DEVELOPER) { id } }`;
    await graphql(gateway, set, { token: ownerToken });
    await graphql(gateway, `mutation { removeMember(userId: "${gone.id}") }`, { token: ownerToken });
    await eventually(() => left.end && promoted.end && removed.end);
    expect([left, promoted, removed].map(({ end }) => end)).toEqual(Array(3).fill('complete'));
    expect([left, promoted, removed].map(({ events }) => eventCodes(events[0]))).toEqual([
      ['UNAUTHENTICATED'],
      ['FORBIDDEN'],
      ['UNAUTHENTICATED'],
    ]);
    expect([signedOut.end, staying.end]).toEqual([undefined, undefined]);
    await knex('sessions').update({ expires_at: new Date(0) });
    await eventually(() => signedOut.end && staying.end);
    expect(eventCodes(staying.events[0])).toEqual(['UNAUTHENTICATED']);
    token = await signIn(gateway, account);
  });

  it('are at most 20 for a session', async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => watch()));
    const refused = await askStream(gateway, ALL, { token });
    expect(refused.body.errors[0]).toMatchObject({
      message: 'A session may have 20 event streams open, and an account 200. End one first.',
      extensions: { code: 'RATE_LIMITED' },
    });
    expect(gateway.parts.live.size).toBe(20);
    const another = await askStream(gateway, ALL, { token: await signIn(gateway, account) });
    expect(another.text).toBe(':\n\n');
    streams[0]?.stop();
    await eventually(() => gateway.parts.live.size === 19);
    expect((await askStream(gateway, ALL, { token })).text).toBe(':\n\n');
    const metrics = await fetch(`${gateway.url}/metrics`, {
      headers: { authorization: 'Bearer for-metrics' },
    });
    expect(await metrics.text()).toMatch(/^gateway_live_subscribers (19|20)$/m);
  });

  it('are at most 200 for an account and 1,000 for a process', async () => {
    const openMany = async (person: Pick<TestAccount, 'email' | 'password'>) => {
      for (let session = 0; session < 10; session += 1) {
        const as = await signIn(gateway, person);
        await Promise.all(Array.from({ length: 20 }, () => watch(ALL, as)));
      }
    };
    await openMany(account);
    const ofAccount = await askStream(gateway, ALL, { token: await signIn(gateway, account) });
    expect([eventCodes(ofAccount.body), gateway.parts.live.size]).toEqual([['RATE_LIMITED'], 200]);
    for (let others = 0; others < 4; others += 1) await openMany(await gateway.createAccount());
    const stranger = await gateway.createAccount();
    const ofProcess = await askStream(gateway, ALL, { token: await signIn(gateway, stranger) });
    expect([eventCodes(ofProcess.body), gateway.parts.live.size]).toEqual([['SERVICE_UNAVAILABLE'], 1_000]);
    expect(ofProcess.body.errors[0].message).toBe('This process serves no more event streams. Try again.');
    open.shift()?.stop();
    await eventually(() => gateway.parts.live.size === 999);
    const instead = await askStream(gateway, ALL, { token: await signIn(gateway, stranger) });
    expect(instead.text).toBe(':\n\n');
  });

  it('end at once when the process drains, so that the client connects to another', async () => {
    const draining = await startTestGateway({ ROLES: 'api' }, gateway.database);
    const live = await watch(ALL, token, draining);
    const cutOff = jest.spyOn(Server.prototype, 'closeAllConnections');
    await draining.stop();
    expect(cutOff).not.toHaveBeenCalled();
    await eventually(() => live.end);
    expect(live.end).toBeInstanceOf(Error);
    expect(draining.parts.live.size).toBe(0);
  });
});
