import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

const languageOf = (page: Page) => page.locator('html').getAttribute('lang');

describe('the language of the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    browser = await startConsoleBrowser(gateway);
    account = await gateway.createAccount();
    const body = { to: '0700120001,+256700120002', message: 'Bonjour' };
    await gateway.call('POST', '/developers/sms', { key: account.key, body });
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser('is chosen in the menu, holds on every page and stays after a reload (R462)', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/api-keys' });
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    expect(await languageOf(page)).toBe('en');
    await page.getByText(/ · Owner$/).click();
    await page.getByRole('menuitemradio', { name: 'English', checked: true }).waitFor();
    await page.getByRole('menuitemradio', { name: 'Français' }).click();
    await page.getByRole('heading', { level: 1, name: 'Clés API' }).waitFor();
    expect(await languageOf(page)).toBe('fr');
    await expectAccessible(page);
    for (const [path, heading] of [
      ['/start', 'Premiers pas'],
      ['/messages', 'Messages'],
      ['/usage', 'Consommation'],
    ] as const) {
      await page.goto(`${gateway.url}/console${path}`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await page.getByText('Chargement').first().waitFor({ state: 'detached' });
      await expectAccessible(page).catch((error: Error) => {
        throw new Error(`${path}: ${error.message}`);
      });
    }
    await page.getByRole('term').filter({ hasText: 'Taux de remise' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Consommation' }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('is chosen before the sign-in, too; numbers and plurals follow it (R462)', async () => {
    const { page, faults } = await browser.open({ path: '/sign-in' });
    await page.getByRole('button', { name: 'Kiswahili' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ingia' }).waitFor();
    expect(await languageOf(page)).toBe('sw');
    await page.getByLabel('Barua pepe', { exact: true }).fill(account.email);
    await page.getByLabel('Nenosiri', { exact: true }).fill(account.password);
    await page.getByRole('button', { name: 'Ingia', exact: true }).click();
    await page.getByRole('link', { name: 'Ujumbe', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Ujumbe', exact: true }).waitFor();
    await page.getByRole('link', { name: /\+256700120001/ }).click();
    await page.getByText(/wapokeaji 2 × kipimo 1 cha malipo/).waitFor();
    // The sentence of the API after it is English.
    await page.getByText('Imekataliwa:', { exact: true }).waitFor();
    await page.locator('[lang=en]').getByText('The carrier rejected it').waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });
});
