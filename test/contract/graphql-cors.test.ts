import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';

const DASHBOARD = 'https://dashboard.example.com';
/**
 * Origins that differ only a little from the dashboard's, and values that browsers send for pages without an origin.
 */
const HOSTILE = [
  'https://dashboard.example.com.evil.example',
  'https://evil.example',
  'http://dashboard.example.com',
  'https://dashboard.example.com:8443',
  'https://DASHBOARD.example.com',
  'null',
];
const ALLOW = 'access-control-allow-origin';

describe('dashboards of other origins (R282)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ CORS_ORIGINS: `${DASHBOARD},https://second.example` });
    account = await gateway.createAccount();
  });
  afterAll(() => gateway?.stop());

  const preflight = (origin: string, path = '/graphql') =>
    fetch(gateway.url + path, {
      method: 'OPTIONS',
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    });
  const ask = (origin: string, headers: Record<string, string>) =>
    graphql(gateway, '{ viewer { email } }', { headers: { Origin: origin, ...headers } });

  it.each(['/graphql', '/graphql/stream'])(
    'a preflight of a dashboard may use %s, without cookies',
    async (path) => {
      const { status, headers } = await preflight(DASHBOARD, path);
      expect(status).toBe(200);
      expect(headers.get(ALLOW)).toBe(DASHBOARD);
      expect(headers.get('vary')).toContain('Origin');
      expect(headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE');
      expect(headers.get('access-control-allow-headers')).toMatch(/^Authorization, Content-Type, /);
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  it.each(HOSTILE)('a page of %s gets no permission', async (origin) => {
    const { headers } = await preflight(origin);
    const token = await signIn(gateway, account);
    const answer = await ask(origin, { Authorization: `Bearer ${token}` });
    for (const got of [headers, answer.headers]) {
      expect([...got.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(got.get('vary')).toContain('Origin');
    }
  });

  it('a dashboard reads answers and refusals with a bearer token', async () => {
    const token = await signIn(gateway, account);
    const answer = await ask(DASHBOARD, { Authorization: `Bearer ${token}` });
    expect(answer.body).toEqual({ data: { viewer: { email: account.email } } });
    expect(answer.headers.get(ALLOW)).toBe(DASHBOARD);
    expect(answer.headers.get('access-control-expose-headers')).toBe('Retry-After, X-Request-Id');
    const refused = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { Origin: DASHBOARD, 'Content-Type': 'application/json' },
      body: '{',
    });
    expect([refused.status, refused.headers.get(ALLOW)]).toEqual([400, DASHBOARD]);
  });

  it('a dashboard neither uses nor gets the cookie, and the console does', async () => {
    const token = await signIn(gateway, account);
    const cookie = { Cookie: `session=${token}` };
    expect((await ask(DASHBOARD, cookie)).body.errors[0].extensions.code).toBe('UNAUTHENTICATED');
    const own = await ask(DASHBOARD, { ...cookie, 'Sec-Fetch-Site': 'same-origin' });
    expect(own.body.errors).toBeUndefined();
    const query = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
    const variables = { e: account.email, p: account.password };
    const signed = await graphql(gateway, query, { variables, headers: { Origin: DASHBOARD } });
    expect(signed.body.data.signIn.token).toEqual(expect.any(String));
    expect(signed.headers.get('set-cookie')).toBeNull();
  });

  it('without CORS_ORIGINS no origin is let in', async () => {
    const closed = await startTestGateway({}, gateway.database);
    try {
      const { headers } = await graphql(closed, '{ __typename }', { headers: { Origin: DASHBOARD } });
      expect([headers.get(ALLOW), headers.get('vary')]).toEqual([null, null]);
    } finally {
      await closed.stop();
    }
  });
});
