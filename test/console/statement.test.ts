import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { withKnex } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('the monthly statement in the console (R460)', () => {
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

  inBrowser('is reached from the ledger and from usage, adds up, and prints without the frame', async () => {
    const account = await gateway.createAccount();
    const body = { to: '+256700123456,+256700123457', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key: account.key, body });
    const { page, faults } = await browser.open({ person: account, path: '/usage' });
    await page.getByRole('link', { name: 'Monthly statement' }).waitFor();
    await page.getByRole('link', { name: 'Ledger' }).click();
    await page.getByRole('row', { name: /Charge/ }).waitFor();
    await page.getByRole('link', { name: 'Monthly statement' }).click();
    const lines = page.getByRole('row');
    await page.getByRole('row', { name: /Closing balance/ }).waitFor();
    expect((await lines.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual([
      'What Number Amount',
      'Opening balance UGX 0',
      'Top-ups 1 top-up UGX 100,000',
      'SMS 1 message -UGX 60',
      'Refunds 0 recipients UGX 0',
      'Closing balance UGX 99,940',
    ]);
    await page.getByText('The month is not over').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await expectAccessible(page);

    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('navigation', { name: 'Pages' }).isVisible()).toBe(false);
    expect(await page.getByRole('banner').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
    expect(await page.getByRole('row', { name: /Closing balance/ }).isVisible()).toBe(true);
    const paper = await page.evaluate(
      'getComputedStyle(document.querySelector(".statement")).backgroundColor',
    );
    expect(paper).toBe('rgb(255, 255, 255)');
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    expect(faults).toEqual([]);
  });

  inBrowser('goes back to earlier months of the account, and shows a fault of the sums', async () => {
    const account = await gateway.createAccount(500);
    const [year, month] = new Date().toISOString().split('-').map(Number);
    const earlier = new Date(Date.UTC(year!, month! - 2)).toISOString();
    await withKnex(gateway.database.connection, async (knex) => {
      await knex('accounts').where({ id: account.accountId }).update({ created_at: earlier });
      const counted = { channel: 'push', environment: 'production', status: 'sent', api_key_id: '' };
      const place = { account_id: account.accountId, hour: earlier, block: 0, bitmap: 0 };
      await knex('usage_deltas').insert({ ...place, ...counted, messages: 1, cost_minor: 7 });
    });
    const { page, faults } = await browser.open({ person: account, path: '/statement' });
    const name = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    await page.getByRole('link', { name: name.format(new Date(earlier)) }).click();
    await page.getByRole('alert').getByText('differ from the closing balance by UGX 7').waitFor();
    expect(new URL(page.url()).search).toBe(`?month=${earlier.slice(0, 7)}`);
    await page.getByRole('link', { name: name.format(new Date()) }).click();
    await page.getByRole('row', { name: /Closing balance UGX 500/ }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });
});
