import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AccessError,
  BalanceError,
  ConflictError,
  Gateway,
  GatewayError,
  type GatewayOptions,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  UnavailableError,
  UncertainError,
} from '../../sdk/typescript/src/index.ts';
import { delayBefore } from '../../sdk/typescript/src/retries.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { losesFirstAnswers, startHttpProxy } from '../support/http-proxy.ts';

const SMS = { to: '+256700123456', message: 'Hello' };
const ABSENT = '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3';
/** Resolves to the error of a promise that rejects. Fails if the promise resolves. */
const errorOf = (work: PromiseLike<unknown>): Promise<GatewayError> =>
  Promise.resolve(work).then(
    () => {
      throw new Error('it succeeded');
    },
    (error) => error,
  );

let server: TestGateway;
beforeAll(async () => {
  server = await startTestGateway();
});
afterAll(() => server?.stop());

describe('errors of the SDK say what to do next [R228]', () => {
  let account: TestAccount;
  let gateway: Gateway;
  beforeAll(async () => {
    account = await server.createAccount(20);
    gateway = new Gateway({ apiKey: account.key, baseUrl: server.url });
  });

  it('with the code, status, details and request id that the gateway gave', async () => {
    const error = await errorOf(gateway.sms.send(SMS));
    expect(error).toBeInstanceOf(BalanceError);
    expect(error).toMatchObject({
      name: 'BalanceError',
      code: 'insufficient_balance',
      statusCode: 402,
      message: expect.stringContaining('20 UGX'),
      details: { balance: 20, required: 30, currency: 'UGX' },
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      retryAfter: null,
      attempts: 1,
    });
  });

  it.each([
    ['invalid_phone_number', InvalidRequestError, () => gateway.sms.send({ to: '12', message: 'Hi' })],
    ['validation_error', InvalidRequestError, () => gateway.contacts.create({ name: 'Nobody' })],
    ['not_found', NotFoundError, () => gateway.messages.get(ABSENT)],
    ['unauthorized', AccessError, () => new Gateway({ apiKey: 'msg_x', baseUrl: server.url }).account.get()],
    [
      'contact_exists',
      ConflictError,
      async () => {
        await gateway.contacts.create({ externalId: 'twice' });
        return gateway.contacts.create({ externalId: 'twice' });
      },
    ],
  ])('%s', async (code, type, call) => {
    const error = await errorOf(call());
    expect(error).toBeInstanceOf(type);
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ code, attempts: 1 });
  });

  it('forbidden, with the scopes that would do', async () => {
    const { key } = await server.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    const error = await errorOf(new Gateway({ apiKey: key, baseUrl: server.url }).contacts.list());
    expect(error).toBeInstanceOf(AccessError);
    expect(error).toMatchObject({
      code: 'forbidden',
      statusCode: 403,
      message: expect.stringContaining('READ_CONTACTS'),
    });
  });
});

describe('the SDK retries [R227]', () => {
  /** Starts an HTTP server for one test. Its client waits only 1 ms between retries. */
  async function startServer(listener: RequestListener) {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return {
      client: (options: Partial<GatewayOptions> = {}) =>
        new Gateway({ apiKey: 'msg_x', baseUrl: `http://127.0.0.1:${port}`, retryDelayMs: 1, ...options }),
      [Symbol.asyncDispose]: () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }
  const json =
    (status: number, body: object, headers = {}): RequestListener =>
    (_request, response) => {
      response
        .writeHead(status, { 'Content-Type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    };
  const refusal = (code: string) => ({ error: { code, message: 'No.' } });
  /** Gives the responses in order, then repeats the last one. Records the idempotency keys of the requests. */
  const inTurn = (...answers: RequestListener[]) => {
    const keys: (string | undefined)[] = [];
    const listener: RequestListener = (request, response) => {
      keys.push(request.headers['idempotency-key'] as string | undefined);
      answers[Math.min(keys.length, answers.length) - 1]?.(request, response);
    };
    return { keys, listener };
  };
  const reset: RequestListener = (request) => request.socket.resetAndDestroy();

  it('a send with one idempotency key over all tries: network error, 5xx, proxy page, 429 [R19]', async () => {
    const { keys, listener } = inTurn(
      reset,
      json(500, refusal('internal_error')),
      (_request, response) =>
        response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>'),
      json(503, refusal('outcome_unknown')),
      json(429, { statusCode: 429, error: 'rate_limit_exceeded', message: 'No.', retryAfter: 0 }),
      json(200, { id: 'done' }),
    );
    await using server = await startServer(listener);
    expect(await server.client({ maxRetries: 5 }).sms.send(SMS)).toEqual({ id: 'done' });
    expect(keys).toHaveLength(6);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it('with the key that the caller gives, and names it in the error', async () => {
    const { keys, listener } = inTurn(reset);
    await using server = await startServer(listener);
    const error = await errorOf(server.client().sms.send(SMS, { idempotencyKey: 'order-1', maxRetries: 1 }));
    expect(error).toBeInstanceOf(UncertainError);
    expect(error).toMatchObject({
      code: 'network_error',
      statusCode: null,
      idempotencyKey: 'order-1',
      attempts: 2,
    });
    const inBody = await errorOf(
      server
        .client({ maxRetries: 0 })
        .email.send({ to: 'a@b.example', subject: 's', idempotencyKey: 'order-2' }),
    );
    expect(inBody.idempotencyKey).toBe('order-2');
    expect(keys).toEqual(['order-1', 'order-1', 'order-2']);
  });

  it.each([400, 401, 402, 403, 404, 409, 413, 415])('nothing after %i', async (status) => {
    const { keys, listener } = inTurn(json(status, refusal('some_code')));
    await using server = await startServer(listener);
    expect(await errorOf(server.client().sms.send(SMS))).toMatchObject({
      code: 'some_code',
      statusCode: status,
    });
    expect(keys).toHaveLength(1);
  });

  it('what could be done twice only where it was surely not done', async () => {
    const attemptsAfter = async (first: RequestListener) => {
      const { keys, listener } = inTurn(first, json(200, {}));
      await using server = await startServer(listener);
      await server
        .client()
        .contacts.create({ name: 'A' })
        .catch((error) => expect(error).toBeInstanceOf(UncertainError));
      expect(keys.every((key) => key === undefined)).toBe(true);
      return keys.length;
    };
    expect(await attemptsAfter(reset)).toBe(1);
    expect(await attemptsAfter(json(500, refusal('internal_error')))).toBe(1);
    expect(await attemptsAfter(json(503, refusal('outcome_unknown')))).toBe(1);
    expect(await attemptsAfter((_request, response) => response.writeHead(503).end('busy'))).toBe(1);
    expect(await attemptsAfter(json(503, refusal('service_unavailable')))).toBe(2);
    expect(await attemptsAfter(json(429, { error: 'rate_limit_exceeded', message: 'No.' }))).toBe(2);
    const tries: number[] = [];
    const nobody = new Gateway({
      apiKey: 'msg_x',
      baseUrl: `http://127.0.0.1:${await freePort()}`,
      retryDelayMs: 1,
      onTry: ({ attempt }) => tries.push(attempt),
    });
    expect(await errorOf(nobody.webhooks.register({ url: 'https://x.example', events: [] }))).toMatchObject({
      code: 'network_error',
      message: expect.stringContaining('ECONNREFUSED'),
      cause: expect.anything(),
    });
    expect(tries).toEqual([1, 2, 3, 4]);
  });

  it('after what the gateway asks for, and not at all where that is more than a minute', async () => {
    const { keys, listener } = inTurn(json(503, refusal('service_unavailable'), { 'Retry-After': '61' }));
    await using server = await startServer(listener);
    const error = await errorOf(server.client().account.get());
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error.retryAfter).toBe(61);
    expect(keys).toHaveLength(1);
    expect(delayBefore(1, 500, 2, 0)).toBe(2_000);
    expect(delayBefore(1, 500, null, 1)).toBe(500);
    expect(delayBefore(3, 500, null, 0.5)).toBe(1_000);
    expect(delayBefore(20, 500, null, 1)).toBe(8_000);
  });

  it('until the caller ends it, also while it waits', async () => {
    const { keys, listener } = inTurn(json(429, refusal('rate_limit_exceeded'), { 'Retry-After': '60' }));
    await using server = await startServer(listener);
    const stop = new AbortController();
    const client = server.client({ onTry: () => stop.abort(new Error('enough')) });
    const error = await errorOf(client.account.get({ signal: stop.signal }));
    expect(error).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(await errorOf(client.account.get({ signal: stop.signal }))).toMatchObject({
      code: 'network_error',
      message: 'GET /account: enough',
    });
    const later = new AbortController();
    const waiting = errorOf(
      server.client({ onTry: () => setImmediate(() => later.abort()) }).account.get({ signal: later.signal }),
    );
    expect(await waiting).toMatchObject({ code: 'network_error', cause: { name: 'AbortError' } });
    expect(keys).toHaveLength(2);
  });

  it('what is not answered in time', async () => {
    const { keys, listener } = inTurn(() => undefined, json(200, { id: 'a' }));
    await using server = await startServer(listener);
    expect(await server.client({ timeoutMs: 50 }).account.get()).toEqual({ id: 'a' });
    expect(keys).toHaveLength(2);
    const { listener: silent } = inTurn(() => undefined);
    await using other = await startServer(silent);
    expect(await errorOf(other.client({ maxRetries: 0 }).account.get({ timeoutMs: 20 }))).toMatchObject({
      code: 'network_error',
      message: 'GET /account: no answer within 20 ms',
      cause: { name: 'TimeoutError' },
    });
  });

  it('an answer that breaks off', async () => {
    const { keys, listener } = inTurn(
      (request, response) => {
        response.writeHead(200, { 'Content-Length': '100' }).write('{"id":');
        setImmediate(() => request.socket.resetAndDestroy());
      },
      json(200, { id: 'a' }),
    );
    await using server = await startServer(listener);
    expect(await server.client().account.get()).toEqual({ id: 'a' });
    expect(keys).toHaveLength(2);
  });

  it('not what somebody else answers below 500, and says where to look [R228]', async () => {
    await using server = await startServer((request, response) => {
      if (request.url?.endsWith('/account'))
        response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Nothing here</h1>');
      else if (request.url?.endsWith('/sms'))
        response.writeHead(301, { Location: 'https://x.example/' }).end();
      else response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Sign in to the hotel</h1>');
    });
    const error = await errorOf(server.client().account.get());
    expect(error).not.toBeInstanceOf(UncertainError);
    expect(error).toMatchObject({
      code: 'bad_gateway_response',
      statusCode: 404,
      details: { contentType: 'text/html', body: '<h1>Nothing here</h1>' },
      message: expect.stringContaining('baseUrl is wrong'),
    });
    expect((await errorOf(server.client().sms.send(SMS))).message).toContain(
      'It leads to https://x.example/',
    );
    expect(await errorOf(server.client().contacts.list())).toMatchObject({
      code: 'bad_gateway_response',
      statusCode: 200,
    });
  });

  it('tells of a rate limit that stays [R12]', async () => {
    await using limited = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '2' }, server.database);
    const { key } = await limited.createAccount();
    const gateway = new Gateway({ apiKey: key, baseUrl: limited.url, maxRetries: 0 });
    await gateway.account.get();
    await gateway.account.get();
    const error = await errorOf(gateway.account.get());
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.retryAfter).toBeGreaterThan(0);
  });
});

describe('sends whose answers are lost', () => {
  it('are accepted and charged once: 1,000 resets after the commit, before the answer [R19]', async () => {
    const { key } = await server.createAccount(100_000);
    const proxy = await startHttpProxy(server.url, losesFirstAnswers());
    const gateway = new Gateway({ apiKey: key, baseUrl: proxy.url, retryDelayMs: 1 });
    const ids = new Set<string>();
    let left = 1_000;
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const to = `+25670${String(left).padStart(3, '0')}9999`;
        ids.add((await gateway.sms.send({ to, message: 'Once' })).id);
      }
    };
    await Promise.all(Array.from({ length: 25 }, worker));
    expect({ lost: proxy.lost, ids: ids.size }).toEqual({ lost: 1_000, ids: 1_000 });
    expect(proxy.requests.length).toBe(2_000);
    expect((await gateway.sms.history()).pagination.total).toBe(1_000);
    expect((await gateway.account.get()).balance).toBe(100_000 - 1_000 * 30);
    await proxy.stop();
  });

  it('are repeated by the SDK where the answer to the COMMIT was lost: one message, one charge [R217]', async () => {
    const lossy: DatabaseProxy = await startDatabaseProxy(server.database.connection);
    await using behind = await startTestGateway({ DATABASE_URL: lossy.url }, server.database);
    const { key } = await behind.createAccount();
    const codes: (number | null)[] = [];
    const gateway = new Gateway({
      apiKey: key,
      baseUrl: behind.url,
      retryDelayMs: 1,
      maxRetries: 20,
      onTry: ({ statusCode }) => codes.push(statusCode),
    });
    const marker = randomUUID();
    const isLost = lossy.loseAnswerTo(marker);
    const sending = gateway.sms.send({ to: '+256700123456', message: marker });
    await isLost;
    await lossy.cut();
    await lossy.restore();
    const { id } = await sending;
    expect(codes[0]).toBe(503);
    expect(codes.at(-1)).toBe(200);
    expect((await gateway.sms.history()).data.map((entry) => entry.id)).toEqual([id]);
    expect((await gateway.account.get()).balance).toBe(99_970);
    await behind.stop();
    await lossy.stop();
  });
});
