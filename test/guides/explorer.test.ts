import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { EXAMPLES } from '../../src/explorer/examples.ts';
import { inBrowser } from '../support/browser.ts';
import { launchChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('the explorer at /graphql (R324)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let browser: Browser | undefined;
  const post = async (body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { data?: Record<string, { token: string }>; errors?: unknown };
  };
  const signIn = () => ({
    query:
      'mutation SignIn($email: String!, $password: String!) { signIn(email: $email, password: $password) { token } }',
    variables: { email: account.email, password: account.password },
  });
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = (await post(signIn())).data?.signIn?.token ?? '';
    const message = { to: '+256700000001', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key: account.key, body: message });
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  it('is for browsers: a program gets what it got before', async () => {
    const page = await fetch(`${gateway.url}/graphql`, { headers: { Accept: BROWSER_ACCEPT } });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(await page.text()).not.toMatch(/<script>|<style|https?:/);
    for (const [path, Accept] of [
      ['/graphql', '*/*'],
      ['/graphql', 'application/json'],
      ['/graphql?query={__typename}', BROWSER_ACCEPT],
    ] as const) {
      const answer = await fetch(gateway.url + path, { headers: { Accept } });
      expect([path, Accept, answer.headers.get('content-type')]).toEqual([
        path,
        Accept,
        expect.stringMatching(/json/),
      ]);
    }
    for (const path of ['/graphql/assets/none.js', '/graphql/assets/..%2findex.html', '/graphql/nothing']) {
      expect([path, (await fetch(gateway.url + path)).status]).toEqual([path, 404]);
    }
  });

  it('lets the schema be downloaded', async () => {
    const response = await fetch(`${gateway.url}/graphql/schema.graphql`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toBe(await readFile('schema/schema.graphql', 'utf8'));
  });

  it('in production shows the schema to people who are signed in only (R224)', async () => {
    const production = await startTestGateway(
      { NODE_ENV: 'production', SMS_ROUTES: '*=simulator:', EMAIL_URL: 'simulator:', METRICS_TOKEN: 'm' },
      gateway.database,
    );
    try {
      const url = `${production.url}/graphql/schema.graphql`;
      expect((await fetch(url)).status).not.toBe(200);
      const signedIn = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
      expect(await signedIn.text()).toContain('type Query {');
    } finally {
      await production.stop();
    }
  });

  it.each(EXAMPLES.filter(({ query }) => !query.startsWith('subscription')))(
    'has the example "$name", which works',
    async ({ query, variables }) => {
      const answer = await post(
        { query, variables: variables?.() ?? {} },
        { Authorization: `Bearer ${token}` },
      );
      expect(answer.errors).toBeUndefined();
    },
  );

  inBrowser('asks with the session, follows changes, and breaks its policy nowhere', async () => {
    browser = await launchChromium();
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    const faults: string[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol.startsWith('http') && url.origin !== gateway.url) faults.push(request.url());
    });
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));

    await page.goto(`${gateway.url}/graphql`);
    await page.getByText('Nobody is signed in').waitFor();
    await page.context().request.post(`${gateway.url}/graphql`, { data: signIn() });
    await page.reload();
    await page.getByText(account.email).waitFor();
    const result = page.getByRole('region', { name: 'Result Window' });
    await page.getByRole('button', { name: /^Execute query/ }).click();
    await eventually(async () => (await result.innerText()).includes('OWNER'));

    await page.getByLabel('Example').selectOption('Watch messages change');
    await page.getByRole('button', { name: /^Execute query/ }).click();
    await page.getByRole('button', { name: /^Stop query/ }).waitFor();
    const message = { to: '+256700001000', message: 'Watch me' };
    // An SMS that is sent before the stream has started causes no event, so send until an event arrives.
    await eventually(async () => {
      await gateway.call('POST', '/developers/sms', { key: account.key, body: message });
      return (await result.innerText()).includes('messageUpdated');
    });
    await page.getByRole('button', { name: /^Stop query/ }).click();

    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.getByText('subscription: Subscription').waitFor();
    await page.getByRole('button', { name: 'Open short keys dialog' }).click();
    await page.getByRole('dialog').waitFor();
    expect(faults).toEqual([]);
  });
});
