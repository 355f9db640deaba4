import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { startWebhookBench } from '../support/webhooks.ts';

describe('events in the console', () => {
  let bench: Awaited<ReturnType<typeof startWebhookBench>>;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    bench = await startWebhookBench({ SERVICE_NAME: 'Acme' });
    browser = await startConsoleBrowser(bench.gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await bench?.stop();
  });

  const rows = (page: Page, text = 'sms.sent') =>
    page
      .getByRole('table', { name: 'Deliveries to all webhooks' })
      .getByRole('row')
      .filter({ hasText: text });
  const shows = (page: Page, text: string, count: number) =>
    eventually(async () => (await rows(page, text).count()) === count);

  /** Makes an account with two webhooks, whose receivers answer 500 until `repair` is called. */
  async function failing() {
    const account = await bench.gateway.createAccount();
    let answer = 500;
    const receiving = async () => {
      const receiver = await bench.receiving(() => answer);
      const { id } = await bench.register(account, { url: receiver.url, maxRetries: 0 });
      return { ...receiver, id };
    };
    const both = [await receiving(), await receiving()] as const;
    const repair = () => {
      answer = 200;
    };
    return { account, both, repair };
  }

  inBrowser(
    'of all webhooks are listed, filtered and opened with the headers that were sent (R470–R472)',
    async () => {
      const { account, both } = await failing();
      const { page, faults } = await browser.open({ person: account, path: '/webhooks' });
      await page.getByRole('link', { name: 'Events', exact: true }).first().click();
      await page.getByText('No events yet').waitFor();
      await expectAccessible(page);
      const messageId = await bench.sendSms(account);
      await shows(page, 'Failed', 2);
      await bench.sendSms(account);
      await shows(page, 'Failed', 4);
      await expectAccessible(page);

      await page.getByLabel('Endpoint', { exact: true }).selectOption(both[0].id);
      await shows(page, 'Failed', 2);
      await page.getByLabel('Message id').fill(messageId);
      await page.keyboard.press('Enter');
      await shows(page, 'Failed', 1);
      expect(new URL(page.url()).searchParams.get('webhook')).toBe(both[0].id);
      await page.getByLabel('Status', { exact: true }).selectOption('SUCCESS');
      await page.getByText('Nothing fits').waitFor();
      await page.getByLabel('Status', { exact: true }).selectOption('FAILED');
      await shows(page, 'Failed', 1);
      await page.getByLabel('To', { exact: true }).fill('2026-01-01T00:00');
      await page.keyboard.press('Enter');
      await page.getByText('Nothing fits').waitFor();
      await page.getByLabel('To', { exact: true }).fill('');
      await page.getByLabel('From', { exact: true }).fill('2026-01-01T00:00');
      await page.keyboard.press('Enter');
      await shows(page, 'Failed', 1);

      const [hook] = both[0].received.filter(({ body }) => body.messageId === messageId);
      await rows(page).getByRole('link', { name: 'sms.sent' }).click();
      const drawer = page.getByRole('dialog', { name: 'Event' });
      const headers = drawer.getByRole('region', { name: 'Request headers' });
      const shown = async (name: string) =>
        (
          await headers
            .locator('dt', { hasText: new RegExp(`^${name}$`) })
            .locator('+ dd')
            .innerText()
        ).trim();
      await headers.waitFor();
      for (const name of ['User-Agent', 'Content-Type', 'X-Acme-Event', 'X-Acme-Delivery']) {
        expect([name, await shown(name)]).toEqual([name, hook?.headers[name.toLowerCase()]]);
      }
      expect(await shown('X-Acme-Signature')).toMatch(/^Changes with each attempt/);
      const payload = await drawer.getByRole('figure', { name: 'payload' }).locator('code').innerText();
      expect(JSON.parse(payload)).toEqual(hook?.body);
      await drawer.getByRole('figure', { name: 'response body' }).getByText('ok').waitFor();
      const attempts = drawer.getByRole('region', { name: 'Attempts' });
      expect(await attempts.getByRole('row').nth(1).innerText()).toContain('500');
      await expectAccessible(page);

      await page.goBack();
      await drawer.waitFor({ state: 'detached' });
      expect(await rows(page).count()).toBe(1);
      expect(faults).toEqual([]);
    },
  );

  inBrowser(
    'of several webhooks are sent again after one question, and what was left is named (R472)',
    async () => {
      const { account, both, repair } = await failing();
      const { page, faults } = await browser.open({ person: account, path: '/events' });
      for (const _ of [1, 2]) await bench.sendSms(account);
      await shows(page, 'Failed', 4);
      repair();
      const posts = () => both.map(({ received }) => received.length);
      await page.getByRole('checkbox', { name: 'Select all shown' }).check();
      await page.getByText('4 selected').waitFor();
      await page.getByRole('button', { name: 'Retry selected' }).click();
      const dialog = page.getByRole('dialog', { name: 'Retry 4 deliveries?' });
      await dialog.getByText('posted again now to 2 webhooks').waitFor();
      await expectAccessible(page);
      expect(posts()).toEqual([2, 2]);
      await dialog.getByRole('button', { name: 'Retry 4 deliveries' }).click();
      await page.getByText('4 deliveries queued.').waitFor();
      await shows(page, 'Success', 4);
      expect(posts()).toEqual([4, 4]);

      await bench.call(account, 'PUT', `/${both[1].id}`, { isActive: false });
      await page.reload();
      await shows(page, 'Success', 4);
      await page.getByRole('checkbox', { name: 'Select all shown' }).check();
      await page.getByRole('button', { name: 'Retry selected' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Retry 4 deliveries' }).click();
      await page.getByText('2 deliveries not sent again:').waitFor();
      expect(await page.getByText('Its webhook is paused: resume it to retry.').count()).toBe(2);
      await page.getByText('2 deliveries queued.').waitFor();
      await eventually(() => posts().join() === '6,4');
      expect(faults).toEqual([]);
    },
  );

  inBrowser('are read by a VIEWER, who has nothing to select (R472)', async () => {
    const { account } = await failing();
    await bench.sendSms(account);
    const viewer = await inviteMember(bench.gateway, await signIn(bench.gateway, account), 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/events' });
    await shows(page, 'Failed', 2);
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await rows(page).first().getByRole('link', { name: 'sms.sent' }).click();
    const drawer = page.getByRole('dialog', { name: 'Event' });
    await drawer.getByRole('region', { name: 'Request headers' }).waitFor();
    expect(await drawer.getByRole('button', { name: /Retry|again/ }).count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
