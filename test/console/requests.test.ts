import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { openSql } from '../support/sql.ts';

describe('requests in the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser(
    'are listed, filtered, opened beside the list, found by the search and kept whole on request (R415, R416)',
    async () => {
      const account = await gateway.createAccount();
      const { page, faults } = await browser.open({ person: account, path: '/requests' });
      await page.getByText('No requests in the last 7 days').waitFor();
      await expectAccessible(page);
      const send = (to: string, requestId: string) =>
        gateway.call('POST', '/developers/sms', {
          key: account.key,
          body: { to, message: 'Your code is 4711' },
          headers: { 'X-Request-Id': requestId },
        });
      const { body: message } = await send('0700120001', 'good-request');
      await send('nobody', 'bad-request');
      await using sql = await openSql(gateway.database);
      const isLogged = (count: number) =>
        eventually(async () => (await sql.query('SELECT FROM api_requests')).length === count);
      await isLogged(2);
      await page.reload();
      const rows = page.getByRole('table').getByRole('row').filter({ hasText: '/api/v1/developers/sms' });
      await rows.nth(1).waitFor();
      expect(await rows.nth(0).innerText()).toMatch(/POST[\s\S]*400[\s\S]*invalid_phone_number[\s\S]*ms/);
      await expectAccessible(page);

      await page.getByLabel('Outcome').selectOption('SUCCESS');
      await eventually(async () => (await rows.count()) === 1);
      await rows.first().getByRole('link').click();
      const drawer = page.getByRole('dialog', { name: 'Request' });
      const body = drawer.getByRole('figure', { name: 'body of the request' });
      await body.getByText('[17 characters]').waitFor();
      await drawer.getByText('good-request', { exact: true }).waitFor();
      await expectAccessible(page);
      expect(await page.content()).not.toContain('4711');
      await drawer.getByRole('link', { name: 'The message that it sent' }).click();
      await page.waitForURL(`**/messages/${message.id}`);

      const facts = page.getByRole('region', { name: 'The message' });
      await facts.getByRole('link', { name: 'POST /api/v1/developers/sms' }).click();
      await drawer.getByText('good-request', { exact: true }).waitFor();
      // The open drawer is not a filter of the list.
      expect(await page.getByRole('link', { name: 'Clear', includeHidden: true }).count()).toBe(0);
      await page.goto(`${gateway.url}/console/messages/${message.id}`);
      await facts.waitFor();

      await page.keyboard.press('Control+K');
      await page.getByRole('combobox').fill('bad-request');
      await page.getByRole('option', { name: /POST/ }).first().click();
      await drawer.getByText('bad-request', { exact: true }).waitFor();
      const help = drawer.getByRole('link', { name: /What invalid_phone_number means/ });
      expect(await help.getAttribute('href')).toBe('/docs/errors/invalid_phone_number');
      await page.keyboard.press('Escape');

      await page.getByRole('button', { name: 'Keep whole bodies for a day' }).click();
      await page
        .getByRole('dialog', { name: 'Keep whole bodies for a day?' })
        .getByRole('button', { name: 'Keep whole bodies' })
        .click();
      await page.getByText(/Bodies are kept whole until/).waitFor();
      await send('0700120001', 'whole-request');
      await isLogged(3);
      await page.getByLabel('Request id').fill('whole-request');
      await page.keyboard.press('Enter');
      await eventually(async () => (await rows.count()) === 1);
      await rows.first().getByRole('link').click();
      await body.getByText('Your code is 4711').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Mask bodies again' }).click();
      await page.getByRole('button', { name: 'Keep whole bodies for a day' }).waitFor();
      expect(faults).toEqual([]);
    },
  );

  inBrowser('are not in the menu of a VIEWER (R415)', async () => {
    const account = await gateway.createAccount();
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    const { page } = await browser.open({ person: viewer, path: '/webhooks' });
    await page.getByRole('link', { name: 'Webhooks', exact: true }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Requests', exact: true }).count()).toBe(0);
  });
});
