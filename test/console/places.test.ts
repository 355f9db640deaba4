import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { signIn } from '../support/graphql.ts';
import { contactsCsv, endOfImport, startImport } from '../support/imports.ts';

const HERE = 'document.activeElement.textContent';
const TOP = 'Math.round(scrollY)';
/** More than a page of a list. */
const CONTACTS = 70;

describe('the place of a person in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    await endOfImport(gateway, token, await startImport(gateway, token, contactsCsv(CONTACTS)));
    for (const message of ['First', 'Second']) {
      await gateway.call('POST', '/developers/sms', {
        key: account.key,
        body: { to: '+256700120009', message },
      });
    }
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const isAt = (page: Page, top: number) => eventually(async () => (await page.evaluate(TOP)) === top);
  const hasFocus = (page: Page, text: string) => eventually(async () => (await page.evaluate(HERE)) === text);

  inBrowser('Back and a reload return to the place, the filter and the focus', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/contacts?search=person' });
    const link = page.locator('tbody tr').nth(40).getByRole('link').first();
    await link.scrollIntoViewIfNeeded();
    const name = await link.innerText();
    const top = Number(await page.evaluate(TOP));
    expect(top).toBeGreaterThan(500);
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await isAt(page, 0);
    await page.goBack();
    await isAt(page, top);
    await hasFocus(page, name);
    expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe('person');

    await page.reload();
    await isAt(page, top);
    await hasFocus(page, name);
    // The page goes where the menu leads, and starts at its top.
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await isAt(page, 0);
    await page.goBack();
    await isAt(page, top);
    expect(faults).toEqual([]);
  });

  inBrowser(
    'the next page of a list starts at its top, and Back returns to the end of the first',
    async () => {
      const { page, faults } = await browser.open({ person: account, path: '/contacts' });
      const next = page.getByRole('button', { name: 'Next' });
      await next.scrollIntoViewIfNeeded();
      const top = Number(await page.evaluate(TOP));
      expect(top).toBeGreaterThan(500);
      await next.press('Enter');
      await page.getByRole('button', { name: 'Previous' }).waitFor();
      await isAt(page, 0);
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
      await page.goBack();
      await next.waitFor();
      await isAt(page, top);
      expect(faults).toEqual([]);
    },
  );

  inBrowser('a drawer that is closed leaves the focus on its row', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    const row = page.getByRole('table').getByRole('link').nth(1);
    await row.focus();
    const text = await row.innerText();
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Message' });
    await drawer.waitFor();
    await page.goBack();
    await drawer.waitFor({ state: 'detached' });
    await hasFocus(page, text);
    expect(faults).toEqual([]);
  });

  inBrowser('a path without a page, and an object that is gone, say so and lead on', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/nowhere' });
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.goto(`${gateway.url}/console/contacts/01900000-0000-7000-8000-000000000000`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show the list' }).press('Enter');
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a page that could not be loaded offline comes by itself', async () => {
    const { page } = await browser.open({ person: account, path: '/contacts' });
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { name: 'This could not be loaded' }).waitFor();
    await page.getByText('The gateway does not answer.').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' });
  });

  inBrowser('times are of the zone of the person, with UTC on hover', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Africa/Kampala' });
    await page.reload();
    const time = page.getByRole('table').locator('time').first();
    const [local = '', utc = ''] = String(await time.getAttribute('title')).split('\n');
    expect(utc).toMatch(/ UTC$/);
    const hours = (text: string) => Date.parse(`${text.replace(' UTC', '')} UTC`) / 3_600_000;
    expect(hours(local) - hours(utc)).toBe(3);
    expect(hours(utc) * 3_600_000).toBe(
      Math.floor(Date.parse(String(await time.getAttribute('datetime'))) / 1_000) * 1_000,
    );
    expect(faults).toEqual([]);
  });

  inBrowser('the menu leads to the explorer and the documentation', async () => {
    const { page } = await browser.open({ person: account, path: '/contacts' });
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('link', { name: 'Docs' }).click();
    await page.waitForURL(`${gateway.url}/docs**`);
    await page.goBack();
    await menu.getByRole('link', { name: 'Explorer' }).click();
    await page.waitForURL(`${gateway.url}/graphql`);
    await page.goBack();
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill('explorer');
    await page.getByRole('option', { name: 'Explorer' }).click();
    await page.waitForURL(`${gateway.url}/graphql`);
  });
});
