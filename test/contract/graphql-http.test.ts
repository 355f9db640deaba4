import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { auditServer } from 'graphql-http';
import type { FoundSession } from '../../src/domain/ports/people-stores.ts';
import { isBehindProxy } from '../support/cell-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';

describe('GraphQL over HTTP (R208)', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  it('passes the audit of graphql-http without a warning', async () => {
    const results = await auditServer({ url: `${gateway.url}/graphql`, fetchFn: fetch });
    expect(results.length).toBeGreaterThan(50);
    const faults = results.flatMap((result) =>
      result.status === 'ok' || result.status === 'notice'
        ? []
        : [`${result.id} ${result.name}: ${result.reason}`],
    );
    expect(faults).toEqual([]);
    // What a server may do besides: answer a GET of any client. Here another site could send one with a cookie.
    const notices = results.flatMap(({ id, status }) => (status === 'notice' ? [id] : []));
    expect(notices).toEqual(['5A70', 'D6D5', '6A70']);
  });

  it("accepts a query by GET from the gateway's own pages and from clients with a token, but not from other sites", async () => {
    const Accept = 'application/graphql-response+json, application/json, text/event-stream';
    const ask = async (headers: Record<string, string>, query = '{ __typename }') => {
      const url = `${gateway.url}/graphql?query=${encodeURIComponent(query)}`;
      return (await fetch(url, { headers: { Accept, ...headers } })).status;
    };
    expect(await ask({ 'Sec-Fetch-Site': 'same-origin' })).toBe(200);
    expect(await ask({ Authorization: 'Bearer unknown' })).toBe(200);
    expect(await ask({ 'Apollo-Require-Preflight': '1' })).toBe(200);
    for (const site of ['cross-site', 'same-site', 'none', '']) {
      expect(await ask({ 'Sec-Fetch-Site': site, Cookie: 'session=unknown' })).toBe(400);
    }
    expect(await ask({})).toBe(400);
    expect(await ask({ 'Sec-Fetch-Site': 'same-origin', Accept: '*/*' })).toBe(400);
    // Mutations are refused with GET.
    expect(await ask({ 'Sec-Fetch-Site': 'same-origin' }, 'mutation { signOut }')).toBe(405);
  });

  it('executes nothing that a form of another site can send with the cookie (CSRF)', async () => {
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const query = 'mutation { createContact(input: { externalId: "forged" }) { id } }';
    const count = async () =>
      (await graphql(gateway, '{ contacts { totalCount } }', { token })).body.data.contacts.totalCount;
    const form = new FormData();
    form.set('operations', JSON.stringify({ query }));
    const bodies: [string | undefined, string | FormData | Blob][] = [
      ['application/x-www-form-urlencoded', `query=${encodeURIComponent(query)}`],
      ['text/plain', JSON.stringify({ query })],
      ['text/plain; application/json', JSON.stringify({ query })],
      [undefined, form],
      // A Blob without a type sends no Content-Type.
      [undefined, new Blob([JSON.stringify({ query })])],
    ];
    for (const [type, body] of bodies) {
      const headers = { Cookie: `session=${token}`, ...(type && { 'Content-Type': type }) };
      const { status } = await fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body });
      expect([type, status]).toEqual([type, 415]);
    }
    expect(await count()).toBe(0);
    // The same body as JSON is executed. A browser sends this to another origin only after a preflight.
    const headers = { Cookie: `session=${token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ query });
    const answer = await fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body });
    expect([answer.status, await count()]).toEqual([200, 1]);
  });

  it('answers OPTIONS, and allows no other origin', async () => {
    const answer = await fetch(`${gateway.url}/graphql`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://elsewhere.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect([answer.status, answer.headers.get('allow')]).toEqual([200, 'GET, POST, OPTIONS']);
    expect(await answer.json()).toEqual({ allow: ['GET', 'POST', 'OPTIONS'] });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('accepts an import of contacts up to the size limit after Expect: 100-continue', async () => {
    const head = (length: number) =>
      'POST /graphql HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${length}\r\n\r\n`;
    const first = async (length: number) => {
      const { hostname, port } = new URL(gateway.url);
      const socket = connect(Number(port), hostname);
      socket.write(head(length));
      const [answer] = await once(socket, 'data');
      socket.destroy();
      return String(answer).slice(0, 12);
    };
    const MIB = 1024 * 1024;
    expect(await first(12 * MIB)).toBe('HTTP/1.1 100');
    expect(await first(16 * MIB)).toBe('HTTP/1.1 100');
    expect(await first(16 * MIB + 1)).toBe('HTTP/1.1 413');
  });

  it("refuses requests while one client's waiting ones could fill the memory, and accepts them again afterwards", async () => {
    const { sessions } = gateway.parts.stores;
    const { promise: found, resolve: find } = Promise.withResolvers<readonly FoundSession[]>();
    const finding = jest.spyOn(sessions, 'findMany').mockReturnValue(found);
    const ask = () => graphql(gateway, '{ viewer { id } }', { token: 'nobody' });
    const body = JSON.stringify({ query: '{ viewer { id } }' });
    const { host, hostname, port } = new URL(gateway.url);
    const request =
      `POST /graphql HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer nobody\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    // Send the requests on one connection without waiting for the answers (pipelining). HAProxy would send one after
    // another to the gateway, so behind it each has its own connection.
    const connections = isBehindProxy ? 600 : 1;
    const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname));
    let answers = '';
    for (const socket of sockets) {
      socket.on('data', (chunk) => {
        answers += chunk.toString();
      });
    }
    try {
      for (const socket of sockets) socket.write(request.repeat(600 / connections));
      await eventually(() => finding.mock.calls.length >= 500);
      let isAnswered = false;
      const asked = ask().finally(() => {
        isAnswered = true;
      });
      await eventually(() => isAnswered || finding.mock.calls.length > 500);
      expect(finding.mock.calls).toHaveLength(500);
      const refused = await asked;
      expect([refused.status, codesOf(refused)]).toEqual([503, ['SERVICE_UNAVAILABLE']]);
      expect(refused.headers.get('retry-after')).toBe('1');
      // HAProxy may pass on the last ones later.
      if (isBehindProxy) await eventually(() => answers.match(/HTTP\/1\.1 503 /g)?.length === 100);
      find([]);
      await eventually(() => answers.match(/HTTP\/1\.1 /g)?.length === 600);
      expect(answers.match(/HTTP\/1\.1 503 /g)).toHaveLength(100);
    } finally {
      find([]);
      for (const socket of sockets) socket.destroy();
      finding.mockRestore();
    }
    expect(codesOf(await ask())).toEqual(['UNAUTHENTICATED']);
  });
});
