import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('the environment switch of the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    for (const [key, name] of [
      [account.key, 'Real'],
      [account.sandboxKey, 'Trial'],
    ] as const) {
      const make = (path: string, body: object) => gateway.call('POST', `/developers/${path}`, { key, body });
      await make('contacts', { name: `${name} Person`, phone: '+256772000001' });
      await make('push/devices', { token: 'token', platform: 'android', userId: `${name} user` });
      await make('webhooks', { url: `http://127.0.0.1:4999/${name}`, events: ['webhook.test'] });
    }
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser('is in one place, and the address keeps the choice from page to page', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/contacts' });
    const shown = (name: string) => page.getByRole('table').getByText(name).first().waitFor();
    const gone = (name: string) => page.getByText(name).first().waitFor({ state: 'detached' });
    await shown('Real Person');
    await page.getByRole('group', { name: 'Environment' }).getByRole('button', { name: 'Sandbox' }).click();
    await shown('Trial Person');
    await gone('Real Person');
    expect(new URL(page.url()).searchParams.get('environment')).toBe('SANDBOX');
    await expectAccessible(page);

    // A search stays in the sandbox, and so does clearing the search.
    await page.getByLabel('Search', { exact: true }).fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing fits').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await shown('Trial Person');

    const navigation = page.getByRole('navigation', { name: 'Pages' });
    await navigation.getByRole('link', { name: 'Devices' }).click();
    await shown('Trial user');
    await gone('Real user');
    await navigation.getByRole('link', { name: 'Webhooks' }).click();
    await shown('/Trial');
    await gone('/Real');

    await navigation.getByRole('link', { name: 'Contacts' }).click();
    await page.getByRole('link', { name: 'Add a contact' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Second Trial');
    await page.getByLabel('External id').fill('second');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.getByText('The contact is added.').waitFor();
    const { data } = (await gateway.call('GET', '/developers/contacts', { key: account.sandboxKey })).body;
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['Second Trial', 'Trial Person']);

    await navigation.getByRole('link', { name: 'Contacts' }).click();
    await shown('Second Trial');
    await page
      .getByRole('group', { name: 'Environment' })
      .getByRole('button', { name: 'Production' })
      .click();
    await shown('Real Person');
    await gone('Second Trial');
    expect(new URL(page.url()).search).toBe('');
    expect(faults).toEqual([]);
  });
});
