import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const FEW = 60;

describe('the console when the session has used up its requests', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway({ RATE_LIMIT_SESSION_PER_MINUTE: String(FEW) });
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser('says so, keeps the page, and continues by itself', async () => {
    const account = await gateway.createAccount();
    await gateway.call('POST', '/developers/contacts', { key: account.key, body: { phone: '0700000001' } });
    const { page, faults } = await browser.open({ person: account, path: '/contacts' });
    await page.getByText('+256700000001').first().waitFor();
    await page.clock.install();
    const spent = await page.evaluate(async (most) => {
      const body = '{"query":"{__typename}"}';
      const headers = { 'content-type': 'application/json' };
      for (let asked = 0; asked <= most; asked += 1) {
        const { status } = await fetch('/graphql', { method: 'POST', headers, body });
        if (status === 429) return asked;
      }
      return undefined;
    }, FEW);
    // The loop used up the rest of this minute's budget. The console itself had used less than half of it.
    expect(spent).toBeGreaterThan(FEW / 2);
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    const banner = page.getByText(
      /This session has used up its requests for now\. More than 60 requests in 60 s/,
    );
    await banner.waitFor();
    await page.getByRole('heading', { name: 'This could not be loaded' }).waitFor();
    await page.getByRole('link', { name: 'Contacts', exact: true }).click();
    await page.getByText('+256700000001').first().waitFor();

    const system = { kind: 'system', name: 'test' } as const;
    const { set, assign } = gateway.parts.operations.plans;
    const plan = {
      name: 'more',
      perMinute: 100,
      perSecond: 0,
      webhooksPerMinute: 20,
      sessionPerMinute: 1_000,
    };
    await set.run(system, plan);
    await assign.run(system, { accountId: account.accountId, plan: 'more' });
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.clock.fastForward(61_000);
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await banner.waitFor({ state: 'detached' });
    expect(await page.getByRole('heading', { name: 'This could not be loaded' }).count()).toBe(0);
    // The browser logs an error for each response with status 429. No other error is allowed.
    expect(faults.filter((fault) => !fault.includes('429'))).toEqual([]);
  });
});
