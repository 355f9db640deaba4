import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ERROR_RESPONSES } from '../../src/rest/error-response.ts';
import { isBehindProxy, isRefusalOfProxy } from '../support/cell-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { type RawAnswer, rawExchange, rawRequest } from '../support/raw-http.ts';
import { openSql } from '../support/sql.ts';

const MIB = 1024 * 1024;
const SMS = { to: '0700123456', message: 'Hello' };
const JSON_TYPE = { 'content-type': 'application/json' };

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.createAccount(10_000_000);
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => gateway?.stop());

type Headers = Record<string, string | string[]>;
const send = (
  method: string,
  path: string,
  body?: Buffer | string,
  headers: Headers = JSON_TYPE,
  isChunked = false,
) =>
  rawRequest(gateway.url, {
    method,
    path: `/api/v1${path}`,
    headers: { 'x-api-key': account.key, ...headers },
    ...(body === undefined ? {} : { body, isChunked }),
  });
const post = (body: Buffer | string, headers?: Headers, isChunked?: boolean) =>
  send('POST', '/developers/sms', body, headers, isChunked);

function expectRefusal(answer: RawAnswer, status: number, code: string): void {
  expect([answer.status, answer.body]).toEqual([
    status,
    { error: expect.objectContaining({ code, message: expect.any(String) }) },
  ]);
  expect(
    Object.keys(answer.body.error).filter((name) => !['code', 'message', 'details'].includes(name)),
  ).toEqual([]);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
}

describe('the table of refusals (R2, R3, R168, R169)', () => {
  it('gives each code its status, and shape A only to authentication and rate limits', () => {
    const byStatus: Record<number, string[]> = {};
    for (const [code, { status }] of Object.entries(ERROR_RESPONSES))
      byStatus[status] = [...(byStatus[status] ?? []), code];
    for (const codes of Object.values(byStatus)) codes.sort();
    expect(byStatus).toEqual({
      400: [
        'all_recipients_suppressed',
        'destination_not_allowed',
        'idempotency_key_mismatch',
        'invalid_event_type',
        'invalid_json',
        'invalid_phone_number',
        'invalid_scheduled_time',
        'invalid_scope',
        'invalid_sender_id',
        'invalid_webhook_url',
        'message_too_long',
        'no_target_devices',
        'sender_not_approved',
        'session_window_closed',
        'unknown_template',
        'unpriced_destination',
        'validation_error',
      ],
      401: ['second_factor_required', 'unauthorized'],
      402: ['insufficient_balance', 'spend_limit_reached'],
      403: ['forbidden', 'step_up_required'],
      404: ['not_found'],
      409: [
        'contact_exists',
        'delivery_already_queued',
        'key_ended',
        'message_not_cancelable',
        'recipient_has_pending_messages',
        'webhook_limit',
      ],
      413: ['payload_too_large'],
      415: ['unsupported_media_type'],
      421: ['account_moved'],
      429: ['rate_limit_exceeded'],
      500: ['internal_error'],
      502: ['provider_error'],
      503: ['account_moving', 'outcome_unknown', 'service_unavailable'],
    });
    const ofShapeA = Object.entries(ERROR_RESPONSES).filter(([, { shape }]) => shape === 'A');
    expect(ofShapeA.map(([code]) => code)).toEqual([
      'unauthorized',
      'forbidden',
      'rate_limit_exceeded',
      'second_factor_required',
      'step_up_required',
    ]);
  });

  it('names the fields of a validation_error with their paths', async () => {
    const answer = await post(JSON.stringify({ message: 5, from: [] }));
    expectRefusal(answer, 400, 'validation_error');
    const paths = answer.body.error.details.fields.map((field: { path: string }) => field.path);
    expect(paths).toEqual(['to', 'message', 'from']);
  });

  it('names at most 20 faults of a request', async () => {
    const scopes = Array<number>(50_000).fill(1);
    const body = JSON.stringify({ name: 'x', scopes, environment: 'sandbox' });
    const answer = await send('POST', '/developer/keys', body);
    expectRefusal(answer, 400, 'validation_error');
    expect(answer.body.error.details.fields).toHaveLength(20);
  });
});

describe('an internal error (R3, R177)', () => {
  it('is 500 internal_error that says nothing but the request id', async () => {
    const secret = 'SELECT secret_hash FROM api_keys at /srv/src/storage/postgres/sql.ts:12:3';
    jest.spyOn(gateway.parts.operations.accounts.get, 'run').mockRejectedValue(new Error(secret));
    const answer = await send('GET', '/account', undefined, { 'x-request-id': 'find-me' });
    expectRefusal(answer, 500, 'internal_error');
    expect(answer.body.error).toEqual({
      code: 'internal_error',
      message: 'Something went wrong here. Quote request find-me.',
    });
    expect(answer.headers['x-ratelimit-remaining']).toMatch(/^\d+$/);
  });
});

describe('a database that is reachable but cannot answer (R3)', () => {
  it('does not invite a retry of a change that was made and could not be read', async () => {
    const token = await signIn(gateway, account);
    await using sql = await openSql(gateway.database);
    await sql.query('BEGIN');
    await sql.query('LOCK TABLE api_key_scope_uses IN ACCESS EXCLUSIVE MODE');
    const mutation = `mutation($input: CreateApiKeyInput!) {
      createApiKey(input: $input) { apiKey { keyId scopeUse { scope } } }
    }`;
    const input = { name: 'made once', scopes: ['SEND_SMS'], environment: 'PRODUCTION' };
    const answer = await graphql(gateway, mutation, { token, variables: { input } });
    await sql.query('ROLLBACK');
    expect([answer.status, codesOf(answer), answer.headers.get('retry-after')]).toEqual([
      503,
      ['OUTCOME_UNKNOWN'],
      null,
    ]);
    expect(await sql.query('SELECT name FROM api_keys WHERE name = $1', [input.name])).toHaveLength(1);
  });

  it('[R217] does not refuse a cancellation that was made and could not be read', async () => {
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const sms = { to: '0700123456', message: 'Canceled once', scheduledFor };
    const { id } = (await post(JSON.stringify(sms))).body;
    await using sql = await openSql(gateway.database);
    await sql.query('BEGIN');
    // Among the statements of a cancellation, only the one that reads the answer uses this table.
    await sql.query('LOCK TABLE timeline_notes IN ACCESS EXCLUSIVE MODE');
    const answer = await send('DELETE', `/developers/messages/${id}`);
    await sql.query('ROLLBACK');
    expectRefusal(answer, 503, 'outcome_unknown');
    expect([answer.headers['retry-after'], answer.body.error.details]).toEqual([
      undefined,
      { messageId: id },
    ]);
    const { body } = await send('GET', `/developers/messages/${id}`);
    expect(body.recipients[0]).toMatchObject({ status: 'failed', error: { code: 'canceled' } });
  });

  it('[R217] does not invite a retry of a deleted endpoint whose deliveries could not be canceled', async () => {
    const body = { url: 'http://127.0.0.1:9/hook', events: ['sms.sent'] };
    const { webhook } = (await send('POST', '/developers/webhooks', JSON.stringify(body))).body;
    await using sql = await openSql(gateway.database);
    await sql.query('BEGIN');
    await sql.query('LOCK TABLE webhook_deliveries IN ACCESS EXCLUSIVE MODE');
    const answer = await send('DELETE', `/developers/webhooks/${webhook.id}`);
    await sql.query('ROLLBACK');
    expectRefusal(answer, 503, 'outcome_unknown');
    expect([answer.headers['retry-after'], answer.body.error.details]).toEqual([
      undefined,
      { webhookId: webhook.id },
    ]);
    expect((await send('GET', `/developers/webhooks/${webhook.id}`)).status).toBe(404);
  });

  it('gives 503 service_unavailable with Retry-After, over REST and GraphQL, until it works again', async () => {
    const token = await signIn(gateway, account);
    const ask = {
      rest: () => send('GET', '/account'),
      graphql: () => graphql(gateway, '{ account { id } }', { token }),
    };
    await using sql = await openSql(gateway.database);
    await using other = await openSql(gateway.database);
    await sql.query('BEGIN');
    await sql.query('LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE');
    const asked = Promise.all([ask.rest(), ask.graphql()]);
    let answered = false;
    void asked.finally(() => {
      answered = true;
    });
    // Cancel the waiting statements, as a `statement_timeout` that the operator set would do.
    await eventually(async () => {
      await other.query(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return answered;
    });
    const [rest, asGraphql] = await asked;
    expectRefusal(rest, 503, 'service_unavailable');
    expect(rest.headers['retry-after']).toBe('1');
    expect([asGraphql.status, codesOf(asGraphql), asGraphql.headers.get('retry-after')]).toEqual([
      503,
      ['SERVICE_UNAVAILABLE'],
      '1',
    ]);
    await sql.query('ROLLBACK');
    expect([(await ask.rest()).status, (await ask.graphql()).status]).toEqual([200, 200]);
  });
});

describe('bodies (R3, R5, R35)', () => {
  it.each([
    undefined,
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json, text/plain',
  ])('of type %s get 415', async (type) => {
    const answer = await post(JSON.stringify(SMS), type === undefined ? {} : { 'content-type': type });
    expectRefusal(answer, 415, 'unsupported_media_type');
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ])('of type %s are read', async (type) => {
    expect((await post(JSON.stringify(SMS), { 'content-type': type })).status).toBe(200);
  });

  it.each(['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip'])(
    'in encoding %s get 415',
    async (encoding) => {
      const answer = await post(gzipSync(JSON.stringify(SMS)), {
        ...JSON_TYPE,
        'content-encoding': encoding,
      });
      expectRefusal(answer, 415, 'unsupported_media_type');
    },
  );

  it.each([
    ['empty', ''],
    ['broken', '{"to":"0700123456",'],
    ['followed by more', '{}{}'],
    ['with a comment', '{/**/}'],
    ['with NaN', '{"to":NaN}'],
    ['of a byte order mark and JSON', `\uFEFF${JSON.stringify(SMS)}`],
    ['nested 33 levels', `{"x":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['nested 100,000 levels', '['.repeat(100_000)],
    ['with a bare U+0000', '{"to":"0700123456","message":"a\0b"}'],
  ])('%s get 400 invalid_json and are not quoted', async (_, body) => {
    const answer = await post(body);
    expectRefusal(answer, 400, 'invalid_json');
    expect(answer.text).not.toContain('0700');
  });

  it.each([
    ['a stray byte', [0xff]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
  ])('that are not UTF-8 (%s) get 400 invalid_json', async (_, bytes) => {
    const [before = '', after = ''] = JSON.stringify({ ...SMS, message: '|' }).split('|');
    expectRefusal(
      await post(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])),
      400,
      'invalid_json',
    );
  });

  it.each([
    ['message', '{"to":"0700123456","message":"a\\u0000b"}'],
    ['message', '{"to":"0700123456","message":"\\ud800"}'],
    ['message', '{"to":"0700123456","message":"\\udc00\\ud800"}'],
    ['idempotencyKey', '{"to":"0700123456","message":"x","idempotencyKey":"\\u0000"}'],
  ])('whose %s cannot be stored get 400 validation_error: %s', async (path, body) => {
    const answer = await post(body);
    expectRefusal(answer, 400, 'validation_error');
    expect(answer.body.error.details.fields[0].path).toBe(path);
  });

  it.each(['null', '5', '"x"', '[]', 'true'])(
    'that are %s and no object get 400 validation_error',
    async (body) => {
      expectRefusal(await post(body), 400, 'validation_error');
    },
  );

  it('may have unknown members with any content', async () => {
    const body = `{"to":"0700123456","message":"Hello","x":"\\u0000\\ud800","deep":${'['.repeat(31)}${']'.repeat(31)}}`;
    expect((await post(body)).status).toBe(200);
  });

  it('cannot change the prototype of objects', async () => {
    const evil =
      '{"to":"0700123456","message":"Hello","__proto__":{"cost":0,"sandbox":true,"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const answer = await post(evil);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ cost: 30, sandbox: false });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expectRefusal(await post('{"__proto__":{"to":"0700123456","message":"x"}}'), 400, 'validation_error');
  });

  it('and their type are optional when the route needs none', async () => {
    const { apiKey } = JSON.parse(
      (
        await send(
          'POST',
          '/developer/keys',
          JSON.stringify({ name: 'x', scopes: ['SEND_SMS'], environment: 'sandbox' }),
        )
      ).text,
    );
    expect((await send('POST', `/developer/keys/${apiKey.keyId}/rotate`, undefined, {})).status).toBe(201);
    expect((await send('GET', '/account', 'rubbish', { 'content-type': 'text/plain' })).status).toBe(200);
  });
});

describe('sizes of requests (R3, R168–R177)', () => {
  const sized = (bytes: number) => {
    const bare = JSON.stringify({ ...SMS, padding: '' });
    return JSON.stringify({ ...SMS, padding: 'a'.repeat(bytes - bare.length) });
  };

  it('may be 1 MiB, and one byte more is 413, with a length or in chunks', async () => {
    expect((await post(sized(MIB))).status).toBe(200);
    expect((await post(sized(MIB), JSON_TYPE, true)).status).toBe(200);
    expectRefusal(await post(sized(MIB + 1)), 413, 'payload_too_large');
    expectRefusal(await post(sized(MIB + 1), JSON_TYPE, true), 413, 'payload_too_large');
  });

  it('of a signed request is limited before the signature is checked', async () => {
    const { key } = await gateway.createKey(account.accountId, { enableHmac: true });
    const signed = {
      ...JSON_TYPE,
      'x-api-key': key,
      'x-timestamp': String(Math.floor(Date.now() / 1000)),
      'x-signature': 'a'.repeat(64),
    };
    expectRefusal(await post('a'.repeat(2 * MIB), signed), 413, 'payload_too_large');
    // The gateway refuses a request that cannot be genuine before it reads the body (R9).
    const { 'x-signature': _, ...unsigned } = signed;
    const stale = { ...signed, 'x-timestamp': '1700000000' };
    for (const headers of [unsigned, stale, { ...signed, 'x-signature': 'nonsense' }]) {
      const answer = await post('a'.repeat(2 * MIB), headers);
      expect([answer.status, answer.body.error]).toEqual([401, 'unauthorized']);
    }
  });

  it('is refused before the body when the client sends Expect', async () => {
    const head = (length: number) =>
      `POST /api/v1/developers/sms HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${account.key}\r\nExpect: 100-continue\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
    expect((await rawExchange(gateway.url, head(20 * MIB))).text).toMatch(/^HTTP\/1\.1 413 /);
    expect((await rawExchange(gateway.url, head(10), { quietMs: 500 })).text).toMatch(/^HTTP\/1\.1 100 /);
  });

  it('of an endless upload is answered, and then cut off', async () => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) });
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => undefined);
    const isClosed = new Promise((resolve) => socket.on('close', resolve));
    socket.write(
      `POST /api/v1/developers/sms HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${account.key}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', pump);
    pump();
    await isClosed;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('of headers is limited: 10 kB are read, 40 kB are 431', async () => {
    expect((await send('GET', '/account', undefined, { 'x-long': 'a'.repeat(10_000) })).status).toBe(200);
    const long = `GET /api/v1/account HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`;
    if (isBehindProxy)
      return expect(isRefusalOfProxy((await rawExchange(gateway.url, long)).text)).toBe(true);
    const answer = await send('GET', '/account', undefined, { 'x-long': 'a'.repeat(40_000) });
    expectRefusal(answer, 431, 'validation_error');
  });
});

describe('a body with a misspelt member (R581)', () => {
  it('names the missing member, and the unknown one beside it', async () => {
    const answer = await post(JSON.stringify({ to: '+256700123456', body: 'Hello' }));
    expectRefusal(answer, 400, 'validation_error');
    const message = 'is missing: it must be text (unknown here: body)';
    expect(answer.body.error.details.fields).toEqual([{ path: 'message', message }]);
    expect(answer.body.error.message).toBe(`message: ${message}`);
  });
});

describe('addresses and methods (R1, R3, R175)', () => {
  it.each([
    ['GET', '/nope'],
    ['GET', '/'],
    ['GET', '/../v1/account'],
    ['GET', '/account%00'],
    ['GET', '/Account'],
    ['GET', '/../../API/v1/account'],
    ['GET', '/developers/messages/%ZZ'],
    ['GET', '/developers/messages/%C0%AF'],
    ['GET', '/developers/messages/%00'],
    ['GET', "/developers/messages/'--"],
    ['GET', '/developers/messages/019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3'],
    ['GET', '/developers/sms'],
    ['DELETE', '/account'],
    ['PATCH', '/developers/sms'],
    ['TRACE', '/account'],
    ['PROPFIND', '/account'],
  ])('%s %s is 404 not_found in JSON', async (method, path) => {
    expectRefusal(await send(method, path), 404, 'not_found');
  });

  it('a method that a path lacks gets the methods that it has', async () => {
    expect((await send('PATCH', '/account')).headers.allow).toBe('GET, HEAD, OPTIONS');
    expect((await send('OPTIONS', '/developer/keys')).body).toEqual({
      allow: ['GET', 'POST', 'HEAD', 'OPTIONS'],
    });
    const head = await send('HEAD', '/account');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(0);
  });

  it('no header overrides the method, the path or the key', async () => {
    const override = {
      'x-http-method-override': 'DELETE',
      'x-http-method': 'DELETE',
      'x-method-override': 'DELETE',
    };
    expect((await send('GET', '/account', undefined, override)).status).toBe(200);
    const rewrite = { 'x-original-url': '/api/v1/account', 'x-rewrite-url': '/api/v1/account' };
    expectRefusal(await send('GET', '/nope', undefined, rewrite), 404, 'not_found');
    const twice = await send('GET', '/account', undefined, { 'x-api-key': [account.key, account.key] });
    expect(twice.status).toBe(401);
    const bearer = await send('GET', '/account', undefined, {
      'x-api-key': '',
      authorization: `Bearer ${account.key}`,
    });
    expect(bearer.status).toBe(401);
    expect(
      (await send('GET', `/account?api_key=${account.key}`, undefined, { 'x-api-key': '' })).status,
    ).toBe(401);
  });

  it('HTTP/1.1 without a Host header is refused like any malformed request; HTTP/1.0 needs none', async () => {
    const ask = (version: string) =>
      rawExchange(
        gateway.url,
        `GET /api/v1/account HTTP/${version}\r\nX-Api-Key: ${account.key}\r\nConnection: close\r\n\r\n`,
      );
    const { text } = await ask('1.1');
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    for (const header of [
      'X-Request-Id',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ]) {
      expect(text).toMatch(new RegExp(`\r\n${header}: `, 'i'));
    }
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).error).toMatchObject({
      code: 'validation_error',
      message: 'An HTTP/1.1 request must have a Host header.',
    });
    expect((await ask('1.0')).text).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('an absolute URL in the request line is the same path', async () => {
    const ask = (host: string) =>
      rawExchange(
        gateway.url,
        `GET http://elsewhere.example/api/v1/account HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${account.key}\r\nConnection: close\r\n\r\n`,
      );
    expect((await ask('elsewhere.example')).text).toMatch(/^HTTP\/1\.1 200 /);
    const { text } = await ask('a');
    if (!isRefusalOfProxy(text)) expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });
});
