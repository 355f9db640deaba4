import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';

const FOREVER = 'public, max-age=31536000, immutable';

describe('the files of the console at /console', () => {
  let gateway: TestGateway;
  let page: string;
  let script: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    page = await (await get('/console')).text();
    script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? '';
  });
  afterAll(() => gateway?.stop());

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(gateway.url + path, { headers, redirect: 'manual' });

  it('open in a browser from the address that the gateway prints; programs get 404 there (R580)', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console']);
    expect(browser.headers.get('vary')).toBe('Accept');
    for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5']) {
      const program = await get('/', { accept });
      expect(program.status).toBe(404);
      expect(await program.json()).toMatchObject({ error: { code: 'not_found' } });
    }
  });

  it.each(['/console', '/console/', '/console/api-keys', '/console/messages/1?status=SENT'])(
    '%s returns the page, which is revalidated each time',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-cache');
      expect(await response.text()).toBe(page);
      // `fetch` cannot be used here: it adds `no-cache` to conditional requests.
      const { headers } = await rawRequest(gateway.url, { method: 'HEAD', path });
      const again = { 'if-modified-since': String(headers['last-modified']) };
      expect((await rawRequest(gateway.url, { method: 'GET', path, headers: again })).status).toBe(304);
    },
  );

  it('allow nothing from another host, and no framing', async () => {
    for (const path of ['/console', script]) {
      const { headers } = await get(path);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
  ])('an asset for Accept-Encoding %s is sent as %s, and may be cached', async (accepted, encoding) => {
    const response = await get(script, { 'accept-encoding': accepted });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-encoding')).toBe(encoding);
    expect(response.headers.get('vary')).toBe('Accept-Encoding');
    expect(response.headers.get('cache-control')).toBe(FOREVER);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(await response.text()).toBe(await (await get(script, { 'accept-encoding': 'identity' })).text());
  });

  it.each([
    '/console/assets/none.js',
    '/console/assets/',
    '/console/assets',
    '/console/assets/index.html/none',
    '/console/assets/..%2findex.html',
    '/console/assets/..%2f..%2f..%2fpackage.json',
    '/console/assets/%2e%2e%2f%2e%2e%2fsrc%2fmain.js',
    '/console/assets/..%5c..%5cpackage.json',
    '/console/assets/../../package.json',
    '/console/assets/%00.js',
    '/console/assets/%ZZ',
  ])('%s is 404 as everywhere', async (path) => {
    const answer = await rawRequest(gateway.url, { method: 'GET', path });
    expect(answer.status).toBe(404);
    expect(answer.body.error.code).toBe('not_found');
    expect(answer.headers['cache-control']).not.toBe(FOREVER);
    expect(answer.headers['content-encoding']).toBeUndefined();
  });

  it('a path that leads out of the console returns at most the page', async () => {
    const outside = await fetch(`${gateway.url}/console/%2e%2e%2f%2e%2e%2fpackage.json`);
    expect(await outside.text()).toBe(page);
  });
});
