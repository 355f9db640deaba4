import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import {
  asks,
  type ConsoleBrowser,
  expectAccessible,
  holdAnswers,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const send = async (gateway: TestGateway, key: string, to: string, message = 'Hello') => {
  const answer = await gateway.call('POST', '/developers/sms', { key, body: { to, message } });
  expect(answer.status).toBe(200);
};
const figure = (page: Page, name: string | RegExp) =>
  page.getByRole('term').filter({ hasText: name }).locator('xpath=..');

describe('the overview of the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let isBroken = true;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver(() => (isBroken ? 500 : 200));
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await receiver?.stop();
    await gateway?.stop();
  });

  const register = async ({ key }: TestAccount, url = receiver.url) => {
    const body = { url, events: ['sms.sent'], maxRetries: 0 };
    const answer = await gateway.call('POST', '/developers/webhooks', { key, body });
    expect(answer.status).toBe(201);
  };

  inBrowser('shows volume, outcome and cost, and updates live', async () => {
    const account = await gateway.createAccount();
    await register(account);
    await send(gateway, account.key, '+256700000001');
    const { page, faults } = await browser.open({ person: account });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await figure(page, 'Messages, 24 hours').getByText('1 failed').waitFor();
    await figure(page, 'Delivery rate').getByText('0%', { exact: true }).waitFor();

    await page.evaluate('window.isSamePage = true');
    for (const to of ['+256700000011', '+256700000012', '+256700000013']) {
      await send(gateway, account.key, to, 'Your parcel is here');
    }
    await figure(page, 'Delivery rate').getByText('75%', { exact: true }).waitFor();
    await figure(page, 'Messages, 24 hours').getByText('4', { exact: true }).waitFor();
    await figure(page, 'Cost').getByText('UGX 120', { exact: true }).waitFor();
    await figure(page, 'Balance').getByText('UGX 99,910', { exact: true }).waitFor();
    await figure(page, 'Balance').getByText('lasts more than a year').waitFor();
    await page.getByRole('banner').getByText('UGX 99,910').waitFor();
    await page.getByRole('link', { name: '+256700000013' }).waitFor();
    // The receiver refuses every delivery, and a delivery has only one attempt.
    const failing = page.getByRole('region', { name: 'Webhooks' });
    await failing.getByText('3 failed').waitFor();
    expect(await failing.getByRole('link', { name: receiver.url }).getAttribute('href')).toMatch(
      /^\/console\/webhooks\/[0-9a-f-]{36}$/,
    );
    await failing.getByText('Failing', { exact: true }).waitFor();
    // What it missed still has to be delivered again, but it works.
    isBroken = false;
    await send(gateway, account.key, '+256700000014');
    await failing.getByText('Healthy', { exact: true }).waitFor();
    await failing.getByText('3 failed').waitFor();
    isBroken = true;
    expect(await page.evaluate('window.isSamePage')).toBe(true);
    await expectAccessible(page);
    await page.getByRole('link', { name: '1 failed' }).click();
    await page.getByRole('heading', { name: 'Messages' }).waitFor();
    await page.getByRole('link', { name: '+256700000001' }).waitFor();
    await page.getByRole('link', { name: '+256700000013' }).waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  inBrowser('figures are of the chosen period and grouping, also after a reload', async () => {
    const account = await gateway.createAccount();
    await register(account);
    await send(gateway, account.key, '+256700000011');
    const { key: other } = await gateway.createKey(account.accountId, {});
    await send(gateway, other, '+256700000012');
    const { page, faults } = await browser.open({ person: account, path: '/?period=7d' });
    await page.getByRole('button', { name: '7 days', pressed: true }).waitFor();
    await page.getByRole('button', { name: '24 hours' }).click();
    const chart = page.getByRole('region', { name: 'Messages per hour' });
    await chart.getByText('As a table').click();
    const table = () => page.getByRole('region', { name: /^Messages per/ }).getByRole('table');
    await table().waitFor();
    expect(await table().getByRole('columnheader').allInnerTexts()).toEqual([
      'When',
      'Delivered',
      'Sent',
      'Pending',
      'Failed',
    ]);
    await eventually(async () => (await table().getByRole('row').count()) === 25);
    await page.getByRole('button', { name: '30 days' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Messages per day' }).waitFor();
    await page.getByRole('button', { name: 'By API key' }).click();
    await page.reload();
    await page.getByRole('button', { name: '30 days', pressed: true }).waitFor();
    await page.getByRole('button', { name: 'By API key', pressed: true }).waitFor();
    await page.getByText('As a table').click();
    await table().waitFor();
    await eventually(async () => (await table().getByRole('row').count()) === 31);
    // Both keys of the account have the same name, so the chart must tell them apart.
    const [when, first, second] = await table().getByRole('columnheader').allInnerTexts();
    expect([when, first?.slice(0, 4), second?.slice(0, 4)]).toEqual(['When', 'test', 'test']);
    expect(first).not.toBe(second);
    expect(faults).toEqual([]);
  });

  inBrowser('sandbox messages are shown only on request', async () => {
    const account = await gateway.createAccount();
    await register(account);
    await send(gateway, account.key, '+256700000011');
    await send(gateway, account.sandboxKey, '+256700000012');
    await send(gateway, account.sandboxKey, '+256700000013');
    const { page, faults } = await browser.open({ person: account });
    await page.getByRole('button', { name: 'Production', pressed: true }).waitFor();
    await figure(page, 'Delivery rate').getByText('100%', { exact: true }).waitFor();
    await figure(page, 'Messages, 24 hours').getByText('1', { exact: true }).waitFor();
    const recent = page.getByRole('region', { name: 'Recent messages' }).getByRole('listitem');
    await eventually(async () => (await recent.count()) === 3);
    expect(await recent.filter({ hasText: 'Sandbox' }).count()).toBe(2);
    await page.getByRole('button', { name: 'Sandbox' }).click();
    await figure(page, 'Messages, 24 hours').getByText('2', { exact: true }).waitFor();
    await figure(page, 'Cost').getByText('UGX 0', { exact: true }).waitFor();
    await page.getByText('As a table').click();
    const table = page.getByRole('region', { name: /^Messages per/ }).getByRole('table');
    await table.waitFor();
    const counts = (await table.getByRole('cell').allInnerTexts()).filter((text) => /^\d+$/.test(text));
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(2);
    await page.reload();
    await page.getByRole('button', { name: 'Sandbox', pressed: true }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a hidden page holds no connection, and updates when it is shown again', async () => {
    const account = await gateway.createAccount();
    await register(account);
    await send(gateway, account.key, '+256700000011');
    const { page } = await browser.open({ person: account });
    await figure(page, 'Delivery rate').getByText('100%', { exact: true }).waitFor();
    const setHidden = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    const isStream = { predicate: (request: Request) => request.url().endsWith('/graphql/stream') };
    const [ended] = await Promise.all([page.waitForEvent('requestfailed', isStream), setHidden(true)]);
    expect(ended.failure()?.errorText).toBe('net::ERR_ABORTED');
    await send(gateway, account.key, '+256700000012');
    await Promise.all([page.waitForEvent('request', isStream), setHidden(false)]);
    await figure(page, 'Messages, 24 hours').getByText('2', { exact: true }).waitFor();
  });

  inBrowser('changes during the first load are shown too', async () => {
    const account = await gateway.createAccount();
    await register(account);
    await send(gateway, account.key, '+256700000011');
    const { page } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('link', { name: '+256700000011' }).waitFor();

    // The figures are computed before the second message, and their response is held back. The stream starts after this
    // message and so does not report it. The page must still show 2 messages.
    const figures = await holdAnswers(page, 'OverviewUsage');
    const stream = Promise.withResolvers<void>();
    await page.route('**/graphql/stream', async (route) => {
      await stream.promise;
      await route.continue();
    });
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click();
    await figures.held;
    await send(gateway, account.key, '+256700000012');
    await eventually(async () => {
      const { body } = await gateway.call('GET', '/developers/sms/history', { key: account.key });
      const states = body.data.map(({ status }: { status: string }) => status);
      return states.every((status: string) => status === 'delivered') && states.length === 2;
    });
    // The page asks for everything again after the stream has started. What is on its way then is asked after it.
    const again = page.waitForRequest((request) => asks(request, 'Session'));
    stream.resolve();
    await again;
    figures.release();
    await page.getByRole('link', { name: '+256700000012' }).waitFor();
    await figure(page, 'Messages, 24 hours').getByText('2', { exact: true }).waitFor();
    await figure(page, 'Delivery rate').getByText('100%', { exact: true }).waitFor();
  });

  inBrowser('a balance that lasts less than three days is reported', async () => {
    const account = await gateway.createAccount(70);
    await register(account);
    await send(gateway, account.key, '+256700000011');
    await send(gateway, account.key, '+256700000012');
    const { page } = await browser.open({ person: account });
    await page.getByText(/^The balance lasts about 1 day at the average of the last 7 days/).waitFor();
  });

  inBrowser('an empty account is led to the first steps once, later from the overview', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account });
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Nothing has been sent yet').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Take the first steps' }).click();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await send(gateway, account.key, '+256700000011');
    await page.goto(`${gateway.url}/console`);
    await page.getByText('No webhook is registered, so').waitFor();
    await figure(page, 'Messages, 24 hours').getByText('1', { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('operators see the platform: its carriers and its accounts', async () => {
    const email = 'operator@overview.example';
    const system = { kind: 'system', name: 'test' } as const;
    const { password } = await gateway.parts.operations.accounts.createOperator.run(system, { email });
    const { email: account } = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: { email, password } });
    await page
      .getByRole('table', { name: /^Carriers and providers/ })
      .getByText('Up')
      .first()
      .waitFor();
    await page
      .getByRole('table', { name: /^The newest of/ })
      .getByText(account)
      .waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });
});

describe('a lost connection', () => {
  inBrowser('is reported, and missed changes are shown when the gateway is back', async () => {
    const database = await createTestDatabase();
    const variables = { PORT: String(await freePort()) };
    const closings = [() => database.drop()];
    try {
      const before = await startTestGateway(variables, database);
      closings.push(() => before.stop());
      const account = await before.createAccount();
      await send(before, account.key, '+256700000011');
      const browser = await startConsoleBrowser(before);
      closings.push(() => browser.close());
      const { page } = await browser.open();
      await signInHere(page, account);
      await page.getByRole('heading', { name: 'First steps' }).waitFor();
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click();
      await figure(page, 'Messages, 24 hours').getByText('1', { exact: true }).waitFor();
      await page.evaluate('window.isSamePage = true');

      await before.stop();
      await page.getByText('The gateway does not answer.').waitFor();
      await figure(page, 'Messages, 24 hours').getByText('1', { exact: true }).waitFor();
      await expectAccessible(page);
      const after = await startTestGateway(variables, database);
      closings.push(() => after.stop());
      await send(after, account.key, '+256700000012');
      await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' });
      await figure(page, 'Messages, 24 hours').getByText('2', { exact: true }).waitFor();
      await send(after, account.key, '+256700000013');
      await figure(page, 'Messages, 24 hours').getByText('3', { exact: true }).waitFor();
      expect(await page.evaluate('window.isSamePage')).toBe(true);
    } finally {
      for (const close of closings.reverse()) await close();
    }
  });
});
