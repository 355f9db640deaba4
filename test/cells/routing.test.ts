import { readFile, readlink } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type CellProxy, checkProxyFiles, startCellProxy, twoCells } from '../support/cell-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { countStatements } from '../support/statements.ts';

jest.setTimeout(180_000);

const NEUTRAL = 'sms.example.com';

describe('two cells behind HAProxy (R501, R502)', () => {
  let a: TestGateway;
  let b: TestGateway;
  let proxy: CellProxy;
  let ofA: TestAccount;
  let ofB: TestAccount;
  beforeAll(async () => {
    a = await startTestGateway({ CELL_SLOTS: '000-7ff' });
    b = await startTestGateway({ CELL_SLOTS: '800-fff' });
    [ofA, ofB] = [await a.createAccount(), await b.createAccount()];
    proxy = await startCellProxy(twoCells(a.url, b.url));
    await checkProxyFiles(proxy.path);
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await Promise.all([a.stop(), b.stop()]);
  });

  /** Sends a request to the proxy. `fetch` does not let a caller choose the host. */
  function call(path: string, headers: Record<string, string>, body?: object) {
    return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const method = body ? 'POST' : 'GET';
      const sent = request(
        new URL(path, proxy.url),
        { method, headers: { 'Content-Type': 'application/json', ...headers } },
        async (response) => {
          let text = '';
          for await (const chunk of response) text += chunk;
          resolve({ status: response.statusCode, text });
        },
      );
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  }
  async function send(account: TestAccount, host = NEUTRAL) {
    const sms = { to: '+256772000001', message: 'Hello' };
    return (await call('/api/v1/developers/sms', { Host: host, 'X-Api-Key': account.key }, sms)).status;
  }
  async function signIn(account: TestAccount, host: string): Promise<string | undefined> {
    const query = `mutation ($email: String!, $password: String!) {
      signIn(email: $email, password: $password) { token } }`;
    const variables = { email: account.email, password: account.password };
    const { text } = await call('/graphql', { Host: host }, { query, variables });
    return JSON.parse(text).data?.signIn?.token;
  }

  it('each key reaches its cell, whatever host the request names', async () => {
    for (const account of [ofA, ofB])
      for (const host of [NEUTRAL, 'a.sms.example.com', 'b.sms.example.com'])
        expect(await send(account, host)).toBe(200);
  });

  it('HAProxy keeps an idle connection longer than the answers say', async () => {
    const answer = await fetch(`${proxy.url}/health/live`);
    const promised = Number(/timeout=(\d+)/.exec(answer.headers.get('keep-alive') ?? '')?.[1]);
    const config = await readFile(join(proxy.path, 'haproxy.cfg'), 'utf8');
    const kept = Number(/timeout http-keep-alive (\d+)s/.exec(config)?.[1]);
    expect(promised).toBeGreaterThan(0);
    expect(kept).toBeGreaterThan(promised);
  });

  it('a person signs in at the host of their cell', async () => {
    expect(await signIn(ofB, 'b.sms.example.com')).toEqual(expect.any(String));
    expect(await signIn(ofB, 'a.sms.example.com')).toBeUndefined();
    expect(await signIn(ofA, 'a.sms.example.com')).toEqual(expect.any(String));
  });

  it('what a client has asked ends at the gateway when the client goes away', async () => {
    const token = await signIn(ofB, 'b.sms.example.com');
    const blocker = new pg.Client({ connectionString: b.database.url });
    await blocker.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE contacts IN ACCESS EXCLUSIVE MODE');
      using counted = countStatements();
      const asked = request(new URL('/graphql', proxy.url), {
        method: 'POST',
        headers: {
          Host: 'b.sms.example.com',
          'Content-Type': 'application/json',
          Authorization: `Bearer ${token}`,
        },
      });
      // The client goes away, so its request fails.
      asked.on('error', () => undefined);
      asked.end(JSON.stringify({ query: '{ contacts { nodes { id } } }' }));
      await eventually(() => counted.texts().some((text) => /from "?contacts\b/i.test(text)));
      asked.destroy();
      await eventually(() => counted.texts().some((text) => text.includes('pg_cancel_backend')));
    } finally {
      await blocker.end();
    }
  });

  // Only root can change to another user.
  (process.getuid?.() === 0 ? it : it.skip)(
    'the service of docs/operations/cells.md takes requests as its own user (R501)',
    async () => {
      const cells = await readFile(join(import.meta.dirname, '../../docs/operations/cells.md'), 'utf8');
      const [, service = ''] = /```\n(global\n.*?)```/s.exec(cells) ?? [];
      await using own = await startCellProxy(twoCells(a.url, b.url), { service });
      const status = await readFile(`/proc/${own.pid}/status`, 'utf8');
      const [, uid] = /^Uid:\t(\d+)/m.exec(status) ?? [];
      expect(Number(uid)).toBeGreaterThan(0);
      expect(await readlink(`/proc/${own.pid}/root`)).toBe('/var/lib/haproxy');
      const headers = { 'X-Api-Key': ofA.key };
      expect((await fetch(`${own.url}/api/v1/account`, { headers })).status).toBe(200);
    },
  );

  it('with one cell gone, the other has no error', async () => {
    await a.stop();
    const answers = await Promise.all(Array.from({ length: 200 }, () => send(ofB)));
    expect(new Set(answers)).toEqual(new Set([200]));
    const refused = await fetch(`${proxy.url}/api/v1/account`, { headers: { 'X-Api-Key': ofA.key } });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toEqual({
      error: { code: 'service_unavailable', message: expect.stringContaining('No gateway of your account') },
    });
  });
});
