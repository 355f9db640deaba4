import { readdirSync } from 'node:fs';
import { ApolloServerErrorCode } from '@apollo/server/errors';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ERROR_RESPONSES } from '../../src/rest/error-response.ts';
import { inBrowser } from '../support/browser.ts';
import { launchChromium } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

/** Time limit of a browser action, in ms. It is long, because several test workers share the machine. */
const ACTION_MS = 60_000;
/** The paths of all built pages below `/docs`. */
const paths = readdirSync('dist/docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.html'))
  .map((name) => name.replaceAll('\\', '/').slice(0, -'.html'.length))
  .map((name) => (name === 'index' ? '' : name));
/** Error codes that only GraphQL or the SDKs have. Their names differ from REST, or REST has no such code. */
const OTHER_CODES = [
  ...Object.values(ApolloServerErrorCode),
  ...[
    'UNAUTHENTICATED',
    'RATE_LIMITED',
    'BAD_USER_INPUT',
    'REFETCH',
    'network_error',
    'bad_gateway_response',
  ],
].map((code) => code.toLowerCase());

describe('the pages at /docs (R5, R244, R320)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: Browser | undefined;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}${path}`, { headers });

  it('need no key, and their policy allows nothing from another host, no style and no script in them', async () => {
    expect(paths.length).toBeGreaterThan(60);
    for (const path of paths) {
      const response = await get(`/docs${path ? `/${path}` : ''}`);
      expect([path, response.status]).toEqual([path, 200]);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(await response.text()).not.toMatch(/<script>|<style|style=|(?:src|<link[^>]*href)="https?:/);
    }
  });

  it('link only to pages and sections that exist', async () => {
    const sections = new Map<string, Set<string>>();
    const links: [string, string][] = [];
    for (const path of paths) {
      const html = await (await get(`/docs${path ? `/${path}` : ''}`)).text();
      sections.set(
        `/docs${path ? `/${path}` : ''}`,
        new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)),
      );
      for (const [, target = ''] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) links.push([path, target]);
    }
    const others = new Set<string>();
    const broken = links.filter(([path, target]) => {
      if (/^https?:/.test(target)) return false;
      const [place = '', section] = target.split('#');
      const page = place === '' ? `/docs${path ? `/${path}` : ''}` : place;
      const found = sections.get(page);
      if (!found) others.add(page);
      return found !== undefined && section !== undefined && !found.has(section);
    });
    expect(broken).toEqual([]);
    for (const place of others) expect([place, (await get(place)).status]).toEqual([place, 200]);
  });

  it('are compressed, asked for again after an update, and 404 where there is none', async () => {
    const response = await get('/docs/states', { 'Accept-Encoding': 'br' });
    expect(response.headers.get('content-encoding')).toBe('br');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const again = await get('/docs/states', {
      'If-Modified-Since': response.headers.get('last-modified') ?? '',
      // Without this header, `fetch` sends `no-cache`, and the server may not answer with 304.
      'Cache-Control': 'max-age=0',
    });
    expect(again.status).toBe(304);
    for (const path of [
      '/docs/nowhere',
      '/docs/errors/nowhere',
      '/docs/..%2fconsole%2findex.html',
      '/docs/assets/..%2f..%2f.built',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
  });

  it('has a page for every error code, which names the status of REST (R322)', async () => {
    for (const [code, { status }] of Object.entries(ERROR_RESPONSES)) {
      const text = await (await get(`/docs/errors/${code}.md`)).text();
      expect([code, text.startsWith(`# ${code}\n`)]).toEqual([code, true]);
      expect(text).toContain(`**${status}**`);
    }
    for (const code of OTHER_CODES) {
      expect([code, (await get(`/docs/errors/${code}`)).status]).toEqual([code, 200]);
    }
  });

  it('are linked from errors of REST (R322)', async () => {
    for (const [path, code] of [
      ['/api/v1/account', 'unauthorized'],
      ['/nowhere', 'not_found'],
    ] as const) {
      const link = (await get(path)).headers.get('link');
      expect(link).toBe(`</docs/errors/${code}>; rel="help"`);
    }
  });

  it('exist as Markdown, with a list of all and all in one file', async () => {
    for (const path of paths) {
      const response = await get(`/docs/${path || 'index'}.md`);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('content-type')).toMatch(/^text\/markdown/);
      expect(await response.text()).toMatch(/^# /);
    }
    const list = await (await get('/llms.txt')).text();
    const linked = [...list.matchAll(/\]\((\/[^)]+)\)/g)].map(([, target = '']) => target);
    expect(linked.length).toBeGreaterThan(20);
    for (const target of linked) expect([target, (await get(target)).status]).toEqual([target, 200]);
    expect(await (await get('/docs/llms.txt')).text()).toBe(list);
    expect((await (await get('/llms-full.txt')).text()).length).toBeGreaterThan(50_000);
  });

  it('the reference has every operation', async () => {
    const document = (await gateway.call('GET', '/openapi.json')).body;
    const operations = Object.values(
      document.paths as Record<string, Record<string, { operationId?: string }>>,
    )
      .flatMap((item) => Object.values(item))
      .flatMap(({ operationId }) => operationId ?? []);
    const pages = await Promise.all(
      paths
        .filter((path) => path.startsWith('api/'))
        .map(async (path) => (await get(`/docs/${path}`)).text()),
    );
    const shown = pages.flatMap((html) => [...html.matchAll(/<h2 id="(\w+)"/g)].map(([, id]) => id));
    expect(shown.sort()).toEqual(operations.sort());
  });

  describe('in a browser', () => {
    const faults: string[] = [];
    async function open(path: string, options: { colorScheme?: 'dark'; width?: number } = {}): Promise<Page> {
      browser ??= await launchChromium();
      const context = await browser.newContext({
        viewport: { width: options.width ?? 1280, height: 900 },
        colorScheme: options.colorScheme ?? 'light',
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const page = await context.newPage();
      page.setDefaultTimeout(ACTION_MS);
      page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.protocol.startsWith('http') && url.origin !== gateway.url) faults.push(request.url());
      });
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${gateway.url}${path}`);
      return page;
    }

    inBrowser('remember the chosen language, copy a sample and follow to the next page', async () => {
      const page = await open('/docs/authentication');
      await page.getByRole('tab', { name: 'Python' }).first().click();
      const sample = page.getByRole('tabpanel', { name: 'Python' }).first();
      await sample.hover();
      await sample.getByRole('button', { name: 'Copy' }).click();
      await eventually(async () =>
        String(await page.evaluate('navigator.clipboard.readText()')).includes('gateway.account.get()'),
      );
      await page
        .getByRole('navigation', { name: 'Previous and next page' })
        .getByRole('link', { name: /Next/ })
        .click();
      await page.getByRole('heading', { level: 1, name: 'Test numbers and sandbox' }).waitFor();
      expect(await page.getByRole('tab', { name: 'Python', selected: true }).count()).toBeGreaterThan(0);
      expect(await page.getByRole('tabpanel', { name: 'curl' }).count()).toBe(0);
      expect(faults).toEqual([]);
    });

    inBrowser('find a page by what it says', async () => {
      const page = await open('/docs');
      await page.keyboard.press('/');
      await page.getByRole('searchbox').fill('delivery_unconfirmed');
      await page
        .getByRole('dialog')
        .getByRole('link', { name: /^States: Every message ends/ })
        .click();
      await page.waitForURL(/\/docs\/states#every-message-ends$/);
      expect(faults).toEqual([]);
    });

    inBrowser('are dark where the system or the reader wants it, and keep it', async () => {
      const page = await open('/docs', { colorScheme: 'dark' });
      const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
      const dark = await paper();
      await page.getByRole('button', { name: 'Light' }).click();
      const light = await paper();
      expect(light).not.toBe(dark);
      await page.goto(`${gateway.url}/docs/states`);
      expect(await paper()).toBe(light);
      expect(faults).toEqual([]);
    });

    inBrowser('fit a phone', async () => {
      const page = await open('/docs/sending', { width: 360 });
      for (const path of ['/docs/sending', '/docs/api/sms', '/docs/states']) {
        await page.goto(`${gateway.url}${path}`);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      }
      await page.getByRole('button', { name: 'Menu' }).click();
      await page
        .getByRole('navigation', { name: 'Pages' })
        .getByRole('link', { name: 'Webhooks' })
        .first()
        .waitFor();
      expect(faults).toEqual([]);
    });

    inBrowser('try an operation with a sandbox key', async () => {
      const page = await open('/docs/api/sms');
      const operation = page.locator('.operation', {
        has: page.getByRole('heading', { name: /^Send an SMS/ }),
      });
      await operation.getByText('Try it').click();
      await operation.getByLabel('API key').fill(account.sandboxKey);
      await operation.getByRole('button', { name: 'Send' }).click();
      await eventually(async () => (await operation.locator('output').innerText()).startsWith('200 '));
      expect(await operation.locator('output').innerText()).toContain('"sandbox": true');
      await page.goto(`${gateway.url}/docs/api/account`);
      const ofAccount = page.locator('.operation').filter({ hasText: 'its balance and currency' });
      await ofAccount.getByText('Try it').click();
      await ofAccount.getByRole('button', { name: 'Send' }).click();
      await eventually(async () => (await ofAccount.locator('output').innerText()).includes(account.email));
      expect(faults).toEqual([]);
    });
  });
});
