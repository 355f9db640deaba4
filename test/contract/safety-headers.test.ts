import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isBehindProxy, isRefusalOfProxy } from '../support/cell-proxy.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

const HSTS = 'max-age=31536000';

/** Sends `text` as raw bytes, and returns the head of the answer. */
function raw(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      answer += chunk;
      if (!answer.includes('\r\n\r\n')) return;
      resolve(answer);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const connectTo = (url: string) =>
  new Promise<Record<string, unknown>>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = httpRequest({ hostname, port, method: 'CONNECT', path: 'example.com:443', agent: false });
    request.on('connect', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode, ...response.headers });
    });
    request.on('error', reject);
    request.end();
  });

describe.each([
  ['in production', { NODE_ENV: 'production' }, HSTS],
  ['outside production', {}, null],
])('security headers of every answer, %s', (_, environment, hsts) => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ ...environment, WHATSAPP_VERIFY_TOKEN: 'verify' });
    account = await gateway.createAccount();
  });
  afterAll(() => gateway?.stop());

  const json = { 'Content-Type': 'application/json' };
  const surfaces: [string, string, RequestInit, number?][] = [
    ['REST, found by method and address', '/api/v1/account', {}, 200],
    ['REST, found by Express', '/api/v1/account?x=1', {}, 200],
    ['REST with a parameter', '/api/v1/developers/messages/none', {}, 404],
    ['REST without a key', '/api/v1/account', { headers: { 'X-Api-Key': '' } }, 401],
    [
      'REST with a body that is none',
      '/api/v1/developers/sms',
      { method: 'POST', body: '{', headers: json },
      400,
    ],
    ['OPTIONS of REST', '/api/v1/developers/sms', { method: 'OPTIONS' }, 200],
    ['HEAD of REST', '/api/v1/account', { method: 'HEAD' }, 200],
    ['no address of REST', '/api/v1/nowhere', {}, 404],
    ['the OpenAPI document', '/api/v1/openapi.json', {}, 200],
    ['no address', '/nowhere', {}, 404],
    ['an address that cannot be decoded', '/%ff', {}, 404],
    ['health', '/health/live', {}, 200],
    ['readiness', '/health/ready', {}, 200],
    ['metrics', '/metrics', {}],
    ['the docs', '/docs', {}, 200],
    ['a script of the docs', '/docs/assets/site.js', {}, 200],
    ['a page of the docs as Markdown', '/docs/states.md', {}, 200],
    ['the console', '/console', {}, 200],
    ['an asset of the console that is not there', '/console/assets/none.js', {}, 404],
    ['GraphQL', '/graphql', { method: 'POST', body: '{"query":"{ viewer { id } }"}', headers: json }],
    ['GraphQL with a body that is none', '/graphql', { method: 'POST', body: '{', headers: json }, 400],
    ['GraphQL by GET', '/graphql?query={__typename}', {}],
    ['an event stream', '/graphql/stream', { method: 'POST', body: '{"query":"{ x }"}', headers: json }],
    ['an event stream by GET', '/graphql/stream', {}, 405],
    ['a carrier’s callback', '/callbacks/sms/nobody', { method: 'POST', body: 'x=1' }, 404],
    [
      'a handshake of WhatsApp',
      '/callbacks/whatsapp?hub.mode=subscribe&hub.verify_token=verify&hub.challenge=1',
      {},
      200,
    ],
    ['a callback of WhatsApp', '/callbacks/whatsapp', { method: 'POST', body: '{}' }, 401],
    ['the simulated receiver', '/simulator/webhook/mine', { method: 'POST', body: '{}' }],
  ];
  it.each(surfaces.map(([name, ...rest]) => [name, rest] as const))(
    '%s',
    async (_name, [path, init, status]) => {
      const headers = { 'X-Api-Key': account.key, ...init.headers };
      const response = await fetch(gateway.url + path, { redirect: 'manual', ...init, headers });
      await response.body?.cancel();
      if (status !== undefined) expect(response.status).toBe(status);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('strict-transport-security')).toBe(hsts);
    },
  );

  it('malformed requests', async () => {
    for (const text of [
      'nonsense\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      `GET / HTTP/1.1\r\nx: ${'y'.repeat(70_000)}`,
    ]) {
      const answer = await raw(gateway.url, text);
      if (isRefusalOfProxy(answer)) continue;
      const head = answer.split('\r\n\r\n')[0] ?? '';
      expect(head).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(head.match(/x-content-type-options: nosniff/gi)).toHaveLength(1);
      expect(head.toLowerCase().match(/strict-transport-security: .*/g)).toEqual(
        hsts === null ? null : [`strict-transport-security: ${hsts}`],
      );
    }
    // HAProxy refuses it itself.
    if (isBehindProxy) return expect(await connectTo(gateway.url)).toMatchObject({ status: 400 });
    expect(await connectTo(gateway.url)).toMatchObject({
      status: 404,
      'x-content-type-options': 'nosniff',
      ...(hsts === null ? {} : { 'strict-transport-security': hsts }),
    });
  });
});
