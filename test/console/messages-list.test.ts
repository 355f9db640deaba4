import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

/** The simulator refuses numbers that end with 0001, and delivers the others. */
const REFUSED = '+256700120001';
const MIXED = `+256700120009,${REFUSED},+256700120019`;

describe('the list of messages in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    for (const body of [
      { to: MIXED, message: 'Your parcel is here' },
      { to: REFUSED, message: 'Where are you?', from: 'SHOP' },
      { to: '+256700120009', message: 'Your order 987654321 left' },
    ]) {
      const { id } = (await gateway.call('POST', '/developers/sms', { key: account.key, body })).body;
      await eventually(async () => {
        const found = await gateway.call('GET', `/developers/messages/${id}`, { key: account.key });
        return found.body.recipients.every(({ status }: { status: string }) =>
          ['delivered', 'failed'].includes(status),
        );
      });
    }
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const row = (page: Page, name: RegExp) => page.getByRole('table').getByRole('row', { name });
  const downloaded = async (page: Page) => {
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export as CSV' }).click();
    const download = await downloading;
    const text = await readFile(await download.path(), 'utf8');
    return { name: download.suggestedFilename(), lines: text.slice(1).trimEnd().split('\r\n') };
  };

  inBrowser('a message that failed for one recipient says so, and is found under Failed (R410)', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByText('3 in all').waitFor();
    await row(page, /parcel/)
      .getByText('2 of 3 delivered')
      .waitFor();
    await page.getByLabel('Status', { exact: true }).selectOption('Failed');
    await page.getByText('2 in all').waitFor();
    await row(page, /parcel/)
      .getByText('2 of 3 delivered')
      .waitFor();
    await row(page, /Where are you/)
      .getByText('Failed', { exact: true })
      .waitFor();
    await page.getByLabel('Status', { exact: true }).selectOption('Delivered');
    await row(page, /987654321/).waitFor();
    await row(page, /parcel/).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('the rows are recipients when a whole number is searched, in any spelling', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    for (const spelling of ['0700 120 001', REFUSED]) {
      await page.getByLabel('Search', { exact: true }).fill(spelling);
      await page.keyboard.press('Enter');
      await page.getByText('2 messages to this recipient').waitFor();
    }
    const parcel = row(page, /parcel/);
    await parcel.getByText(REFUSED, { exact: true }).waitFor();
    await parcel.getByText('Failed', { exact: true }).waitFor();
    await expectAccessible(page);
    const { name, lines } = await downloaded(page);
    expect(name).toMatch(/^recipients-\d{4}-\d\d-\d\d\.csv$/);
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^\+256700120001,FAILED,.*,SHOP,.*,Where are you\?$/);
    await parcel.getByRole('link').click();
    await page.getByRole('dialog', { name: 'Message' }).getByText('Your parcel is here').first().waitFor();
    await page.goBack();

    await page.getByLabel('Status', { exact: true }).selectOption('Delivered');
    await page.getByRole('heading', { name: 'No message matches' }).waitFor();
    await page.getByLabel('Status', { exact: true }).selectOption('All');
    // Digits that are no recipient's are looked for in the texts.
    await page.getByLabel('Search', { exact: true }).fill('987654321');
    await page.keyboard.press('Enter');
    await page.getByText('1 in all').waitFor();
    await row(page, /Your order 987654321 left/).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('an export asks for a confirmation of the last 10 minutes, and then goes on (R253)', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByText('3 in all').waitFor();
    await withKnex(gateway.database.connection, async (knex) => {
      await knex.raw(`UPDATE sessions SET verified_at = now() - interval '11 minutes'`);
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    const button = page.getByRole('button', { name: 'Export as CSV' });
    await button.click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByLabel('Password').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Nothing was downloaded.').waitFor();
    const downloading = page.waitForEvent('download');
    await button.click();
    await dialog.getByLabel('Password').fill(account.password);
    await page.keyboard.press('Enter');
    const lines = (await readFile(await (await downloading).path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines).toHaveLength(4);
    await page.goto(`${gateway.url}/console/audit`);
    await page.getByText('exported messages of account').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('columns are chosen, and stay chosen; rows have 40 px', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByText('3 in all').waitFor();
    const headers = () => page.getByRole('columnheader').allInnerTexts();
    expect(await headers()).toEqual(['To', 'Message', 'Status', 'Channel', 'Cost', 'Accepted']);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Sender' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'API key' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Channel' }).click();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    const chosen = ['To', 'Message', 'Status', 'Sender', 'API key', 'Cost', 'Accepted'];
    expect(await headers()).toEqual(chosen);
    await row(page, /Where are you/)
      .getByRole('cell', { name: 'SHOP', exact: true })
      .waitFor();
    await page.reload();
    await page.getByText('3 in all').waitFor();
    expect(await headers()).toEqual(chosen);
    const heights = await page
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((each) => (each as unknown as { offsetHeight: number }).offsetHeight));
    expect(heights).toEqual([40, 40, 40]);
    expect(faults).toEqual([]);
  });

  inBrowser('filters are saved as a view under a name, and opened again with it', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByText('3 in all').waitFor();
    await page.getByLabel('Status', { exact: true }).selectOption('Failed');
    await page.getByText('2 in all').waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Save these filters' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save these filters' });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('Give it a name.').waitFor();
    await dialog.getByLabel('Name').fill('Failures');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Failures' }).waitFor();

    await page.goto(`${gateway.url}/console/messages`);
    await page.getByText('3 in all').waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Failures', exact: true }).click();
    await page.getByText('2 in all').waitFor();
    expect(new URL(page.url()).search).toBe('?status=FAILED');
    await page.getByRole('button', { name: 'Failures' }).click();
    await page.getByRole('menuitem', { name: 'Delete “Failures”' }).click();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByText('Filters that you save are listed here.').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('an export has what the filters show, and says when it has not all of it', async () => {
    const path = '/messages?status=FAILED&search=parcel';
    const { page, faults } = await browser.open({ person: account, path });
    await page.getByText('1 in all').waitFor();
    const { name, lines } = await downloaded(page);
    expect(name).toMatch(/^messages-\d{4}-\d\d-\d\d\.csv$/);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(
      'id,acceptedAt,channel,environment,to,from,status,delivered,failed,cost,currency,key,content',
    );
    expect(lines[1]).toContain(
      `,SMS,PRODUCTION,'${MIXED.replaceAll(',', ' ')},SERVICE,DELIVERED,2,1,90,UGX,`,
    );

    // Answers as if there were many pages.
    let pages = 0;
    await page.route('**/graphql', async (route) => {
      const { operationName, variables } = route.request().postDataJSON();
      if (operationName !== 'Messages' || variables.Messages_first !== 100) return route.continue();
      pages += 1;
      const first = { ...route.request().postDataJSON(), variables: { ...variables, Messages_after: null } };
      const json = await (await route.fetch({ postData: first })).json();
      const { nodes } = json.data.Messages_messages;
      const page = {
        nodes: Array.from({ length: 100 }, () => nodes[0]),
        pageInfo: { hasNextPage: true, endCursor: 'more' },
      };
      return route.fulfill({ json: { data: { Messages_messages: page } } });
    });
    expect((await downloaded(page)).lines).toHaveLength(1_001);
    expect(pages).toBe(10);
    await page.getByText('The file has the first 1,000 rows').waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });
});
