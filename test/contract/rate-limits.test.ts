import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isBehindProxy, isRefusalOfProxy } from '../support/cell-proxy.ts';
import { createTestDatabase, type TestDatabase, withKnex } from '../support/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { rawExchange, rawRequest } from '../support/raw-http.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
/** The default limits that the documentation names. */
const DEFAULTS = { RATE_LIMIT_PER_MINUTE: '', RATE_LIMIT_PER_SECOND: '', RATE_LIMIT_WEBHOOKS_PER_MINUTE: '' };
const HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

let gateway: TestGateway;
/** A second gateway process on the same database. */
let second: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway(DEFAULTS);
  second = await startTestGateway(DEFAULTS, gateway.database);
  account = await gateway.createAccount();
});
afterAll(async () => {
  await second?.stop();
  await gateway?.stop();
});

const newKey = async (scopes = ['FULL_ACCESS']) =>
  (await gateway.createKey(account.accountId, { scopes })).key;
const get = (key: string | undefined, at = gateway) =>
  at.call('GET', '/account', key === undefined ? {} : { key });
const remaining = (headers: Headers) => Number(headers.get('x-ratelimit-remaining'));
const spend = async (count: number, key: string | undefined, at = gateway) => {
  for (let left = count; left > 0; left--) await get(key, at);
};

describe('the sliding window (R12, R178, R179, R181)', () => {
  it('passes exactly 100 of 200 concurrent requests over two processes', async () => {
    const key = await newKey();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => get(key, index % 2 ? gateway : second)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(100);
    const left = answers.filter(({ status }) => status === 200).map(({ headers }) => remaining(headers));
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  it('counts every answer except 429, for each key alone', async () => {
    const [key, other] = [await newKey(['SEND_SMS']), await newKey()];
    const before = await get(key);
    expect(remaining(before.headers)).toBe(99);
    expect(before.headers.get('x-ratelimit-limit')).toBe('100');
    const refused = await gateway.call('POST', '/developers/sms', { key, body: {} });
    expect([refused.status, remaining(refused.headers)]).toEqual([400, 98]);
    const forbidden = await gateway.call('GET', '/developers/sms/history', { key });
    expect([forbidden.status, remaining(forbidden.headers)]).toEqual([403, 97]);
    const unknown = await gateway.call('GET', '/nothing', { key });
    expect([unknown.status, remaining(unknown.headers)]).toEqual([404, 96]);
    expect(remaining((await get(other)).headers)).toBe(99);
  });

  it('refuses the 101st with 429 in shape A, which says when to retry (R2, R176)', async () => {
    const key = await newKey();
    const first = Math.floor(Date.now() / 1000);
    await spend(100, key);
    const answer = await get(key);
    expect(answer.status).toBe(429);
    const seconds = Number(answer.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(answer.body).toEqual({
      statusCode: 429,
      error: 'rate_limit_exceeded',
      message: `More than 100 requests in 60 seconds. Try again in ${seconds} s.`,
      retryAfter: seconds,
    });
    expect(remaining(answer.headers)).toBe(0);
    expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeGreaterThanOrEqual(first + 60);
    // A refused request is not counted, so the reset time is unchanged.
    expect((await get(key)).headers.get('x-ratelimit-reset')).toBe(answer.headers.get('x-ratelimit-reset'));
  });
});

describe('other limits (R12, R180, R182)', () => {
  it('RATE_LIMIT_PER_SECOND refuses, and the message names that limit', async () => {
    await using bursty = await startTestGateway(
      { ...DEFAULTS, RATE_LIMIT_PER_SECOND: '3' },
      gateway.database,
    );
    const key = await newKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(key, bursty)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3);
    expect(refused[0]?.body).toMatchObject({
      message: expect.stringContaining('More than 3 requests in one second.'),
      retryAfter: 1,
    });
    expect(refused[0]?.headers.get('x-ratelimit-limit')).toBe('100');
    expect(remaining(refused[0]?.headers ?? new Headers())).toBeGreaterThan(0);
  });

  it('webhook registrations have 20 a minute besides', async () => {
    const key = await newKey();
    const register = () => gateway.call('POST', '/developers/webhooks', { key, body: {} });
    for (let count = 1; count <= 20; count++) {
      const answer = await register();
      expect([answer.status, remaining(answer.headers)]).toEqual([400, 100 - count]);
    }
    const refused = await register();
    expect(refused.status).toBe(429);
    expect(refused.body.message).toContain('More than 20 webhook registrations in 60 seconds.');
    expect(Number(refused.headers.get('retry-after'))).toBe(refused.body.retryAfter);
    const elsewhere = await get(key);
    expect([elsewhere.status, remaining(elsewhere.headers)]).toEqual([200, 79]);
  });

  it('a request counts on both budgets or on none', async () => {
    const key = await newKey();
    const register = () => gateway.call('POST', '/developers/webhooks', { key, body: {} });
    const keyId = key.split('_')[1] ?? '';
    const { setRateLimit } = gateway.parts.operations.apiKeys;
    await setRateLimit.run(SYSTEM, { keyId, perMinute: 5, perSecond: null });
    for (let count = 1; count <= 5; count++) expect((await register()).status).toBe(400);
    for (let count = 1; count <= 30; count++) {
      const refused = await register();
      expect([refused.status, refused.body.message]).toEqual([
        429,
        expect.stringContaining('More than 5 requests in 60 seconds.'),
      ]);
    }
    // The key has made 5 of its 20 registrations a minute, so 15 are left.
    await setRateLimit.run(SYSTEM, { keyId, perMinute: 100, perSecond: null });
    for (let count = 6; count <= 20; count++) expect((await register()).status).toBe(400);
    expect((await register()).body.message).toContain('More than 20 webhook registrations in 60 seconds.');
  });

  it("the account's plan replaces the defaults, and the key's own limit replaces the plan", async () => {
    const { accountId, key } = await gateway.createAccount();
    const limitOf = async (at = gateway) => (await get(key, at)).headers.get('x-ratelimit-limit');
    for (const at of [gateway, second]) expect(await limitOf(at)).toBe('100');
    await withKnex(gateway.database.connection, async (knex) => {
      const plan = { id: randomUUID(), name: 'small', per_minute: 30, per_second: 0, webhooks_per_minute: 1 };
      await knex('plans').insert({ ...plan, created_at: new Date() });
      await knex('accounts').where({ id: accountId }).update({ plan_id: plan.id });
    });
    const planned = await gateway.createKey(accountId, {});
    const register = () => gateway.call('POST', '/developers/webhooks', { key: planned.key, body: {} });
    const first = await register();
    expect([first.status, first.headers.get('x-ratelimit-limit')]).toEqual([400, '30']);
    expect((await register()).status).toBe(429);

    const keyId = key.split('_')[1] ?? '';
    const { setRateLimit } = gateway.parts.operations.apiKeys;
    await setRateLimit.run(SYSTEM, { keyId, perMinute: 7, perSecond: null });
    expect(await limitOf()).toBe('7');
    await eventually(async () => (await limitOf(second)) === '7');
    await setRateLimit.run(SYSTEM, { keyId, perMinute: null, perSecond: null });
    expect(await limitOf()).toBe('30');
  });

  it('only operators set the limit of a key', async () => {
    const { accountId, key } = await gateway.createAccount();
    const { setRateLimit, create } = gateway.parts.operations.apiKeys;
    const limits = { keyId: key.split('_')[1] ?? '', perMinute: 500, perSecond: null };
    const owner = { kind: 'member', accountId, userId: randomUUID(), role: 'OWNER' } as const;
    await expect(setRateLimit.run(owner, limits)).rejects.toMatchObject({ code: 'forbidden' });
    const wanted = { name: 'x', scopes: ['SEND_SMS'], environment: 'sandbox', rateLimit: limits };
    await expect(create.run(owner, wanted)).rejects.toMatchObject({ code: 'forbidden' });
    const operator = { kind: 'operator', userId: randomUUID() } as const;
    expect((await setRateLimit.run(operator, limits)).rateLimit).toEqual({ perMinute: 500, perSecond: null });
    for (const perMinute of [0, -1, 1.5, 1_000_001, Number.NaN]) {
      await expect(setRateLimit.run(operator, { ...limits, perMinute })).rejects.toMatchObject({
        code: 'validation_error',
      });
    }
  });
});

describe('requests without a valid key (R11)', () => {
  it('share a budget for each address, so that guessing keys is slow, and valid keys are not affected', async () => {
    await using behind = await startTestGateway({ ...DEFAULTS, TRUST_PROXY: '127.0.0.1' }, gateway.database);
    const guess = (address: string, index = 0) =>
      behind.call('GET', '/account', {
        key: `msg_f${index.toString(16).padStart(15, '0')}_${'a'.repeat(40)}`,
        headers: { 'X-Forwarded-For': address },
      });
    const answers = await Promise.all(Array.from({ length: 120 }, (_, index) => guess('203.0.113.1', index)));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(100);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    expect((await guess('203.0.113.2')).status).toBe(401);
    const known = await behind.call('GET', '/account', {
      key: account.key,
      headers: { 'X-Forwarded-For': '203.0.113.1' },
    });
    expect(known.status).toBe(200);

    await Promise.all(Array.from({ length: 100 }, (_, index) => guess(`2001:db8::${index.toString(16)}`)));
    expect((await guess('2001:db8::ffff:1')).status).toBe(429);
    expect((await guess('2001:db8:0:1::1')).status).toBe(401);
  });

  it("do not use up a key's budget by a forged signature or from outside its allowlist", async () => {
    const hmac = await gateway.createKey(account.accountId, { enableHmac: true });
    const away = await gateway.createKey(account.accountId, { ipAllowlist: ['203.0.113.0/24'] });
    for (const { key } of [hmac, away]) await spend(3, key);
    const buckets = await withKnex(gateway.database.connection, (knex) =>
      knex('rate_limits').whereIn('bucket', [`key:${hmac.keyId}`, `key:${away.keyId}`]),
    );
    expect(buckets).toEqual([]);
  });
});

describe('rate-limit headers and X-Request-Id (R4, R183)', () => {
  const isComplete = (get: (name: string) => string | null | undefined) => {
    for (const name of HEADERS) expect(get(name)).toMatch(/^\d+$/);
    expect(get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect(get('x-content-type-options')).toBe('nosniff');
    expect(get('cache-control')).toBe('no-store');
  };

  it.each([
    [200, 'GET', '/api/v1/account', true],
    [200, 'HEAD', '/api/v1/account', true],
    [200, 'OPTIONS', '/api/v1/account', true],
    [200, 'GET', '/api/v1/openapi.json', false],
    [401, 'GET', '/api/v1/account', false],
    [401, 'GET', '/api/v1/nothing', false],
    [404, 'GET', '/api/v1/nothing', true],
    [404, 'PATCH', '/api/v1/account', true],
    [404, 'GET', '/api/v1/developers/sms/%ZZ', true],
    [404, 'GET', '/nothing', false],
    [404, 'GET', '/%ZZ', false],
    [404, 'TRACE', '/', false],
    [415, 'POST', '/api/v1/developers/sms', true],
  ])('are in %i of %s %s', async (status, method, path, hasKey) => {
    const { headers, ...answer } = await rawRequest(gateway.url, {
      method,
      path,
      headers: hasKey ? { 'x-api-key': await newKey() } : {},
      ...(status === 415 ? { body: 'x' } : {}),
    });
    expect(answer.status).toBe(status);
    isComplete((name) => headers[name] as string | undefined);
    expect(headers['content-type']).toMatch(/^application\/json/);
  });

  it.each([
    ['400', 'NONSENSE\r\n\r\n'],
    ['431', `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`],
    ['404', 'CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('are in the %s of a malformed request', async (status, bytes) => {
    const { text, isClosed } = await rawExchange(gateway.url, bytes);
    if (isBehindProxy) return expect([isRefusalOfProxy(text), isClosed]).toEqual([true, true]);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    isComplete((name) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]);
    expect(JSON.parse(body).error).toEqual({ code: expect.any(String), message: expect.any(String) });
    expect(isClosed).toBe(true);
  });

  it('repeat a well-formed X-Request-Id of the caller, and no other', async () => {
    const idFor = async (id: string) =>
      (
        await gateway.call('GET', '/account', { key: account.key, headers: { 'X-Request-Id': id } })
      ).headers.get('x-request-id');
    expect(await idFor('Abc-1.2_3')).toBe('Abc-1.2_3');
    expect(await idFor('a'.repeat(64))).toBe('a'.repeat(64));
    for (const bad of ['a'.repeat(65), 'a b', 'a,b', '']) expect(await idFor(bad)).not.toBe(bad);
  });
});

describe('without a database (R3, R177)', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let cutOff: TestGateway;
  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await startDatabaseProxy(database.connection);
    cutOff = await startTestGateway(DEFAULTS, { ...database, url: proxy.url });
  });
  afterAll(async () => {
    await proxy?.restore();
    await cutOff?.stop();
    await proxy?.stop();
    await database?.drop();
  });

  it('a request gets 503 with Retry-After and all headers, with or without a known key, and passes again afterwards', async () => {
    const { key } = await cutOff.createAccount();
    expect((await get(key, cutOff)).status).toBe(200);
    await proxy.cut();
    for (const presented of [key, `msg_${'f'.repeat(16)}_${'0'.repeat(40)}`, undefined]) {
      const answer = await get(presented, cutOff);
      expect(answer.status).toBe(503);
      expect(answer.body).toEqual({
        error: { code: 'service_unavailable', message: expect.any(String) },
      });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(answer.headers.get('x-ratelimit-limit')).toBe('100');
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('0');
      expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeGreaterThan(1_700_000_000);
    }
    await proxy.restore();
    await eventually(async () => (await get(key, cutOff)).status === 200);
  });
});
