import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

const BROWSER_TIMEOUT_MS = 60_000;
/** The packaged Chromium runs on Linux x64 only. */
const inBrowser = process.platform === 'linux' && process.arch === 'x64' ? it : it.skip;

describe('the reference page at /docs (R5, R244)', () => {
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

  it('needs no key, and its policy allows nothing from another host', async () => {
    const response = await fetch(`${gateway.url}/docs`);
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(await response.text()).not.toMatch(/https?:|<script>/);
  });

  inBrowser(
    'shows every route and calls one with a key, without requests to other hosts',
    async () => {
      browser = await playwright.launch({
        executablePath: await chromium.executablePath(),
        args: [...chromium.args, '--no-sandbox'],
      });
      const page = await browser.newPage();
      const wandering: string[] = [];
      const faults: string[] = [];
      page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.protocol.startsWith('http') && url.origin !== gateway.url) wandering.push(request.url());
      });
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });
      page.on('pageerror', (error) => faults.push(error.message));

      await page.goto(`${gateway.url}/docs`);
      const routes = page.locator('.opblock');
      await routes.first().waitFor();
      const document = (await gateway.call('GET', '/openapi.json')).body;
      const count = [document.paths, document.webhooks]
        .flatMap((group) => Object.values(group) as object[])
        .flatMap((item) => Object.keys(item).filter((name) => name !== 'parameters')).length;
      expect(await routes.count()).toBe(count);

      await page.getByRole('button', { name: 'Authorize' }).first().click();
      const dialog = page.locator('.dialog-ux');
      await dialog.getByRole('textbox').fill(account.key);
      await dialog.getByRole('button', { name: 'Apply credentials' }).click();
      await dialog.getByRole('button', { name: 'Close' }).last().click();

      const block = page.locator('.opblock', { hasText: '/account' }).first();
      await block.locator('.opblock-summary-control').click();
      await block.getByRole('button', { name: 'Execute' }).click();
      const answer = block.locator('.live-responses-table .response').first();
      await answer.waitFor();
      expect(await answer.locator('.response-col_status').innerText()).toContain('200');
      expect(await answer.innerText()).toContain(account.email);

      expect(wandering).toEqual([]);
      expect(faults).toEqual([]);
    },
    BROWSER_TIMEOUT_MS,
  );
});
