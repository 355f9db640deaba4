import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { forgetOldRequests } from '../../src/workers/retention/request-retention.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const ROW = `id at environment method path status errorCode durationMs address requestId idempotencyKey messageId
  requestBytes requestBody responseBody isFull skippedBefore apiKey { keyId } message { id }`;
const LIST = `query ($filter: RequestFilter, $first: Int, $after: String) {
  requests(filter: $filter, first: $first, after: $after) { nodes { ${ROW} } totalCount pageInfo { hasNextPage endCursor } }
}`;
const DAY_MS = 86_400_000;

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer holds
type Row = any;

describe('the request log', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let account: TestAccount;
  let stranger: TestAccount;
  let token: string;
  let strangersToken: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
    account = await gateway.createAccount();
    stranger = await gateway.createAccount();
    token = await signIn(gateway, account);
    strangersToken = await signIn(gateway, stranger);
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  const keyIdOf = (key: string) => key.split('_')[1];
  const list = async (filter: object = {}, as = token, more: object = {}): Promise<Row> => {
    const answer = await graphql(gateway, LIST, { token: as, variables: { filter, ...more } });
    expect(codesOf(answer)).toEqual([]);
    return answer.body.data.requests;
  };
  /** Waits until the log has the request with this request id. */
  const logged = (requestId: string, as = token): Promise<Row> =>
    eventually(async () => (await list({ requestId }, as)).nodes[0]);
  const send = async (body: object, headers: Record<string, string> = {}, key = account.key) => {
    const requestId = `test-${randomUUID()}`;
    const answer = await gateway.call('POST', '/developers/sms', {
      key,
      body,
      headers: { 'X-Request-Id': requestId, ...headers },
    });
    return { requestId, answer };
  };

  it('has a send with its key, idempotency key, message and masked bodies (R415, R416)', async () => {
    const body = { to: '0700120001', message: 'Your code is 4711', purpose: 'otp' };
    const { requestId, answer } = await send(body, { 'Idempotency-Key': 'order-1' });
    const row = await logged(requestId);
    expect(row).toMatchObject({
      environment: 'PRODUCTION',
      method: 'POST',
      path: '/api/v1/developers/sms',
      status: 200,
      errorCode: null,
      address: expect.stringMatching(/127\.0\.0\.1|::1/),
      requestId,
      idempotencyKey: 'order-1',
      messageId: answer.body.id,
      requestBytes: JSON.stringify(body).length,
      isFull: false,
      skippedBefore: 0,
      apiKey: { keyId: keyIdOf(account.key) },
      message: { id: answer.body.id },
    });
    expect(row.durationMs).toBeGreaterThanOrEqual(0);
    expect(JSON.parse(row.requestBody)).toEqual({
      to: '[10 characters]',
      message: '[17 characters]',
      purpose: 'otp',
    });
    expect(JSON.parse(row.responseBody)).toMatchObject({
      id: answer.body.id,
      status: 'pending',
      cost: 30,
      content: '[17 characters]',
    });
    const asked = `{ request(id: "${row.id}") { requestId } message(id: "${answer.body.id}") { request { id } }
      node(id: "${row.id}") { __typename } search(text: "${requestId}") { __typename id } }`;
    expect((await graphql(gateway, asked, { token })).body.data).toEqual({
      request: { requestId },
      message: { request: { id: row.id } },
      node: { __typename: 'ApiRequest' },
      search: [{ __typename: 'ApiRequest', id: row.id }],
    });
    // A replay is a request of its own. The message keeps the request that sent it.
    const replay = await send(body, { 'Idempotency-Key': 'order-1' });
    expect(await logged(replay.requestId)).toMatchObject({ messageId: answer.body.id });
    expect((await graphql(gateway, asked, { token })).body.data.message.request.id).toBe(row.id);
  });

  it('has refused requests with their error code: body, scope, path, limit and ended key (R415)', async () => {
    const { key, keyId } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const calls = [
      { to: 'x', message: 'Hi', code: 'invalid_phone_number', status: 400, by: account.key },
      { to: '0700120001', message: 'Hi', code: 'forbidden', status: 403, by: key },
    ];
    for (const { by, code, status, ...body } of calls) {
      const { requestId } = await send(body, {}, by);
      expect(await logged(requestId)).toMatchObject({ errorCode: code, status, messageId: null });
    }
    const ask = async (path: string, headers = {}) => {
      const requestId = `test-${randomUUID()}`;
      await gateway.call('GET', path, { key, headers: { 'X-Request-Id': requestId, ...headers } });
      return logged(requestId);
    };
    expect(await ask('/developers/messages/+256700120001?to=%2B256700120001')).toMatchObject({
      errorCode: 'not_found',
      path: '/api/v1/developers/messages/***',
    });
    await graphql(gateway, `mutation { revokeApiKey(keyId: "${keyId}") { keyId } }`, { token });
    expect(await ask('/account')).toMatchObject({ errorCode: 'unauthorized', status: 401 });
  });

  it('has no request without the secret of a key (R415)', async () => {
    const guessed = `msg_${keyIdOf(account.key)}_${'0'.repeat(40)}`;
    const { requestId, answer } = await send({ to: '0700120001', message: 'Hi' }, {}, guessed);
    expect(answer.status).toBe(401);
    // A later request is written in the same statement or after it.
    const later = await send({ to: 'x', message: 'Hi' });
    await logged(later.requestId);
    expect(await sql.query('SELECT FROM api_requests WHERE request_id = $1', [requestId])).toEqual([]);
  });

  it('is filtered, and read in pages (R415)', async () => {
    const own = await gateway.createAccount();
    const as = await signIn(gateway, own);
    const body = { to: '0700120001', message: 'Hi' };
    const first = await send(body, { 'Idempotency-Key': 'a' }, own.key);
    await send(body, {}, own.sandboxKey);
    const bad = await send({ to: 'x', message: 'Hi' }, {}, own.key);
    await gateway.call('GET', '/account', { key: own.key, headers: { 'X-Request-Id': 'last-one' } });
    const last = await logged('last-one', as);
    const idsOf = async (filter: object) =>
      (await list(filter, as)).nodes.map((row: Row) => row.requestId as string);
    expect(await idsOf({})).toHaveLength(4);
    expect(await idsOf({ statusClass: 'CLIENT_ERROR' })).toEqual([bad.requestId]);
    expect(await idsOf({ statusClass: 'SERVER_ERROR' })).toEqual([]);
    expect(await idsOf({ errorCode: 'invalid_phone_number' })).toEqual([bad.requestId]);
    expect(await idsOf({ method: 'GET' })).toEqual(['last-one']);
    expect(await idsOf({ pathPrefix: '/api/v1/acc' })).toEqual(['last-one']);
    expect(await idsOf({ idempotencyKey: 'a' })).toEqual([first.requestId]);
    expect(await idsOf({ apiKeyId: keyIdOf(own.sandboxKey) })).toHaveLength(1);
    expect(await idsOf({ environment: 'SANDBOX' })).toHaveLength(1);
    expect(await idsOf({ environment: 'PRODUCTION' })).toHaveLength(3);
    expect(await idsOf({ since: new Date(Date.parse(last.at) + DAY_MS) })).toEqual([]);
    expect(await idsOf({ until: new Date(Date.parse(last.at) - DAY_MS) })).toEqual([]);
    expect(await idsOf({ since: new Date(Date.parse(last.at) - DAY_MS), method: 'GET' })).toHaveLength(1);
    const page = await list({}, as, { first: 3 });
    expect([page.nodes.length, page.totalCount, page.pageInfo.hasNextPage]).toEqual([3, 4, true]);
    const rest = await list({}, as, { first: 3, after: page.pageInfo.endCursor });
    expect(rest.nodes.map((row: Row) => row.requestId)).toEqual([first.requestId]);
    const tooLong = { token: as, variables: { filter: { pathPrefix: 'x'.repeat(201) } } };
    expect(codesOf(await graphql(gateway, LIST, tooLong))).toEqual(['BAD_USER_INPUT']);
  });

  it('is closed to other accounts, and to roles below DEVELOPER (R415)', async () => {
    const { requestId, answer } = await send({ to: '0700120001', message: 'Hi' });
    const row = await logged(requestId);
    expect((await list({ requestId }, strangersToken)).nodes).toEqual([]);
    const byId = `{ request(id: "${row.id}") { id } }`;
    expect(codesOf(await graphql(gateway, byId, { token: strangersToken }))).toEqual(['NOT_FOUND']);
    const found = `{ node(id: "${row.id}") { id } search(text: "${requestId}") { id } }`;
    expect((await graphql(gateway, found, { token: strangersToken })).body.data).toEqual({
      node: null,
      search: [],
    });
    for (const [role, isLetIn] of Object.entries({ DEVELOPER: true, SUPPORT: false, VIEWER: false })) {
      const as = await signIn(gateway, await inviteMember(gateway, token, role));
      expect(codesOf(await graphql(gateway, byId, { token: as }))).toEqual(isLetIn ? [] : ['FORBIDDEN']);
      expect((await graphql(gateway, found, { token: as })).body.data).toEqual(
        isLetIn ? { node: { id: row.id }, search: [{ id: row.id }] } : { node: null, search: [] },
      );
      const ofMessage = `{ message(id: "${answer.body.id}") { request { id } } }`;
      const { request } = (await graphql(gateway, ofMessage, { token: as })).body.data.message;
      expect(request).toEqual(isLetIn ? { id: row.id } : null);
    }
  });

  it('keeps bodies whole for a day on request, without secrets, and audits it (R416)', async () => {
    const set = (fullBodies: boolean) =>
      graphql(gateway, `mutation { setRequestLogging(fullBodies: ${fullBodies}) { fullBodiesUntil } }`, {
        token,
      });
    const until = async () =>
      (await graphql(gateway, '{ requestLogging { fullBodiesUntil } }', { token })).body.data.requestLogging
        .fullBodiesUntil;
    expect(await until()).toBeNull();
    const turnedOn = await set(true);
    const end = Date.parse(turnedOn.body.data.setRequestLogging.fullBodiesUntil);
    expect(Math.abs(end - Date.now() - DAY_MS)).toBeLessThan(60_000);
    expect(Date.parse(await until())).toBe(end);
    const body = { to: '0700120001', message: `My key is ${account.key}` };
    const { requestId } = await send(body);
    const row = await logged(requestId);
    expect(row.isFull).toBe(true);
    expect(JSON.parse(row.requestBody)).toEqual({ to: '0700120001', message: 'My key is ***' });
    const created = `test-${randomUUID()}`;
    const { body: made } = await gateway.call('POST', '/developer/keys', {
      key: account.key,
      body: { name: 'new', scopes: ['SEND_SMS'], environment: 'sandbox', enableHmac: true },
      headers: { 'X-Request-Id': created },
    });
    const ofKey = JSON.parse((await logged(created)).responseBody);
    expect(ofKey).toMatchObject({ key: '***', signingSecret: '***', apiKey: { name: 'new' } });
    for (const secret of [account.key, made.key, made.signingSecret]) {
      const holders = await sql.query('SELECT FROM api_requests r WHERE strpos(r::text, $1) > 0', [secret]);
      expect(holders).toEqual([]);
    }
    const other = await send({ to: '0700120001', message: 'Hello' }, {}, stranger.key);
    expect((await logged(other.requestId, strangersToken)).isFull).toBe(false);
    expect((await set(false)).body.data.setRequestLogging.fullBodiesUntil).toBeNull();
    expect(await until()).toBeNull();
    const masked = await send({ to: '0700120001', message: 'Hello' });
    expect((await logged(masked.requestId)).isFull).toBe(false);
    const entries = (
      await graphql(gateway, '{ auditLog(first: 20) { nodes { action after } } }', { token })
    ).body.data.auditLog.nodes.filter(({ action }: Row) => action === 'account.setRequestLogging');
    expect(entries.map(({ after }: Row) => after.fullBodies)).toEqual([false, true]);

    // A day later the whole body is gone, and the masked one stays. A week later the request is gone.
    const later = (days: number) =>
      forgetOldRequests(gateway.parts.stores.requests, { now: () => new Date(Date.now() + days * DAY_MS) });
    await later(0.9);
    expect((await list({ requestId })).nodes[0].isFull).toBe(true);
    await later(1.1);
    const [erased] = (await list({ requestId })).nodes;
    expect([erased.isFull, JSON.parse(erased.requestBody).to]).toEqual([false, '[10 characters]']);
    expect(await sql.query('SELECT FROM api_requests WHERE full_request_body IS NOT NULL')).toEqual([]);
    await later(6.9);
    expect((await list({ requestId })).totalCount).toBe(1);
    await later(7.1);
    expect((await list({ requestId })).totalCount).toBe(0);
  });

  it('needs a step-up to keep bodies whole (R416)', async () => {
    await sql.query(`UPDATE sessions SET verified_at = now() - interval '11 minutes'`);
    await sql.query(`SELECT pg_notify('gateway_changes', 'session *')`);
    const keep = 'mutation { setRequestLogging(fullBodies: true) { fullBodiesUntil } }';
    // The gateway reads the session again when the notification arrives.
    await eventually(async () =>
      codesOf(await graphql(gateway, keep, { token })).includes('STEP_UP_REQUIRED'),
    );
  });

  it('keeps no more than the bound of a day, of all processes together (R417)', async () => {
    const { requests } = gateway.parts.stores;
    const day = new Date('2020-02-29T12:00:00Z');
    const { keyId } = await gateway.createKey(account.accountId, {});
    const add = (requestId: string, at = day) =>
      requests.add(
        at,
        [
          {
            id: randomUUID(),
            accountId: account.accountId,
            at,
            environment: 'production',
            keyId,
            method: 'GET',
            path: '/api/v1/account',
            status: 200,
            errorCode: null,
            durationMs: 1,
            address: '127.0.0.1',
            requestId,
            idempotencyKey: null,
            messageId: null,
            requestBytes: 0,
            requestBody: null,
            responseBody: null,
            fullRequestBody: null,
            fullResponseBody: null,
            skippedBefore: 0,
          },
        ],
        2,
      );
    for (const requestId of ['bound-1', 'bound-2', 'bound-3']) await add(requestId);
    await add('bound-4', new Date('2020-03-01T00:00:00Z'));
    const stored = await sql.query(
      `SELECT request_id AS id FROM api_requests WHERE request_id LIKE 'bound-%' ORDER BY 1`,
    );
    expect(stored.map(({ id }) => id)).toEqual(['bound-1', 'bound-2', 'bound-4']);
  });

  it('is written at a stop (R415)', async () => {
    const second = await startTestGateway({}, gateway.database);
    const requestId = `test-${randomUUID()}`;
    await second.call('GET', '/account', { key: stranger.key, headers: { 'X-Request-Id': requestId } });
    await second.stop();
    expect((await list({ requestId }, strangersToken)).totalCount).toBe(1);
  });
});
