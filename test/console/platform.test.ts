import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;

describe('what operators see of all accounts in the console', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let browser: ConsoleBrowser;
  let shop: TestAccount;
  let operator: { email: string; password: string };
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
    shop = await gateway.createAccount();
    const { accounts } = gateway.parts.operations;
    await accounts.create.run(SYSTEM, { email: 'kes@test.example', currency: 'KES', balance: 5 });
    const email = 'operator@platform.example';
    const { password } = await accounts.createOperator.run(SYSTEM, { email });
    operator = { email, password };
    browser = await startConsoleBrowser(gateway);
    for (const to of ['+256700120001', '+256700123456', '+256700123457', '+256700123458']) {
      const body = { to, message: 'A private text' };
      await gateway.call('POST', '/developers/sms', { key: shop.key, body });
    }
    await eventually(
      async () =>
        (await sql.query(`SELECT FROM recipients WHERE status IN ('delivered', 'failed')`)).length === 4,
    );
    await foldAnalytics(gateway, sql);
  });
  afterAll(async () => {
    await browser?.close();
    await sql?.close();
    await gateway?.stop();
  });

  inBrowser('the overview has totals, a chart and the accounts in trouble (R510, R511)', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/?period=7d' });
    const figure = (name: string) => page.getByRole('term').filter({ hasText: name }).locator('xpath=..');
    await figure('Messages, 7 days').getByText('4', { exact: true }).waitFor();
    await figure('Messages, 7 days').getByText('1 failed').waitFor();
    await figure('Delivery rate').getByText('75%', { exact: true }).waitFor();
    await figure('Cost in UGX').getByText('UGX 90', { exact: true }).waitFor();
    await page.getByText('No prices are set in KES, so an account cannot send').waitFor();
    await page.getByRole('button', { name: 'By account' }).click();
    await page.getByRole('group', { name: 'Messages per day (UTC), By account' }).waitFor();
    await page.locator('figure').getByText(shop.email).first().waitFor();
    await expectAccessible(page);
    const troubled = page.getByRole('table', { name: 'Accounts that need attention' });
    await troubled.getByRole('link', { name: 'kes@test.example' }).click();
    await page.getByText('No prices are set in KES, so the account cannot send').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a bar of the overview leads to the accounts that sent then (R527)', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/?period=7d' });
    const bars = page.getByRole('region', { name: 'Messages per day (UTC)' }).getByRole('link');
    await bars.first().waitFor();
    expect(await bars.count()).toBe(7);
    await bars.first().click();
    await page.getByText('Nothing was sent in this period').waitFor();
    await page.goBack();
    await bars.last().press('Enter');
    await page.getByRole('heading', { name: 'Traffic', level: 1 }).waitFor();
    const accounts = page.getByRole('table', { name: '1 account that sent in production' });
    await accounts.getByRole('row', { name: new RegExp(`^${shop.email} 4 4 3 1 75%$`) }).waitFor();
    const carriers = page.getByRole('table', { name: 'Their carriers' });
    await carriers.getByRole('row', { name: /^SMS · simulator 4 3 1 75%$/ }).waitFor();
    await expectAccessible(page);
    await accounts.getByRole('link', { name: shop.email }).press('Enter');
    await page.getByRole('heading', { name: shop.email, level: 1 }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a day of a carrier leads to the accounts whose messages it had (R527)', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/providers' });
    await page
      .getByRole('row', { name: /^simulator SMS/ })
      .getByRole('button', { name: 'Show simulator by day' })
      .click();
    const days = page.getByRole('region', { name: 'simulator by day (UTC)' });
    const bars = days.getByRole('group').getByRole('link');
    expect(await bars.count()).toBe(30);
    await bars.last().press('Enter');
    const row = page.getByRole('row', { name: new RegExp(`^${shop.email} 4 3 1 75%$`) });
    await row.waitFor();
    expect(await page.getByLabel('Carrier').inputValue()).toBe('simulator');
    expect(await page.getByLabel('Channel').inputValue()).toBe('SMS');
    await expectAccessible(page);
    await page.getByLabel('Channel').selectOption({ label: 'Email' });
    await page.getByText('Nothing was sent in this period').waitFor();
    await page.goBack();
    await row.waitFor();
    await page.goBack();
    await days.getByRole('table').getByRole('link').first().click();
    await row.waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('accounts show balance and troubles together, and are ordered by either (R525)', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/accounts' });
    const first = page.locator('tbody tr').first();
    await page
      .getByRole('row', { name: /kes@test\.example.*KES\s5.*No prices/ })
      .first()
      .waitFor();
    const order = page.getByLabel('Order');
    await order.selectOption({ label: 'The lowest balance first' });
    await page.getByRole('table', { name: 'By currency, the lowest balance first' }).waitFor();
    await first.getByText(/KES\s5/).waitFor();
    await expectAccessible(page);
    await order.selectOption({ label: 'The most trouble first' });
    const troubled = page.getByRole('table', { name: 'Accounts that need attention' });
    await troubled.getByRole('row', { name: /kes@test\.example No prices/ }).waitFor();
    expect(await troubled.getByText(shop.email).count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel('Search', { exact: true }).fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No account needs attention').waitFor();
    expect(new URL(page.url()).searchParams.get('order')).toBe('trouble');
    expect(faults).toEqual([]);
  });

  inBrowser('carriers show the last 30 days, in total and by day (R512)', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/providers' });
    const month = page.getByRole('table', { name: 'The last 30 days' });
    await month
      .getByRole('row', { name: /^simulator SMS/ })
      .getByText('75%', { exact: true })
      .waitFor();
    await month.getByRole('button', { name: 'Show simulator by day' }).first().waitFor();
    await month.getByRole('img', { name: 'Recipients per day of simulator' }).first().waitFor();
    await month
      .getByRole('row', { name: /^simulator SMS/ })
      .getByRole('button')
      .press('Enter');
    await page.getByRole('group', { name: 'Recipients of simulator per day' }).waitFor();
    await page.getByRole('table', { name: 'simulator by day', exact: true }).getByText('75%').waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser(
    'prices are edited in the table, previewed, saved together and tested (R513, R514, R515)',
    async () => {
      const { page, faults } = await browser.open({ person: operator, path: '/prices' });
      await page.getByLabel('Price of SMS to every destination').fill('25.5');
      await page.getByRole('button', { name: 'Add a price' }).click();
      await page.getByLabel('Prefix of the new price').fill('+4477');
      await page.getByRole('button', { name: 'Preview 2 changes' }).click();
      await page.getByText('The price is needed.').waitFor();
      await page.getByLabel('Price of the new price').fill('90');
      await page.getByRole('button', { name: 'Preview 2 changes' }).click();
      await page.getByText('The amount has more than 0 decimals').waitFor();
      await expectAccessible(page);
      await page.getByLabel('Price of SMS to every destination').fill('60');
      await page.getByRole('button', { name: 'Preview 2 changes' }).click();
      const dialog = page.getByRole('dialog', { name: 'Save these 2 changes?' });
      await dialog.getByText(/SMS to every destination: UGX\s60 instead of UGX\s30/).waitFor();
      await dialog.getByText(/SMS to \+4477…: UGX\s90 \(new\)/).waitFor();
      await dialog.getByText(/cost UGX\s120; at the new prices UGX\s240/).waitFor();
      await dialog.getByRole('row', { name: new RegExp(`${shop.email}.*240`) }).waitFor();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The prices are changed. They hold from now on.').waitFor();

      const history = page.getByRole('table', { name: 'The latest changes of prices in UGX' });
      await history
        .getByRole('row', { name: /operator@platform\.example SMS to every destination UGX\s30 UGX\s60/ })
        .waitFor();
      await page.getByLabel('Number', { exact: true }).fill('+447700900123');
      await page.getByRole('button', { name: 'Find its price' }).click();
      await page.getByText(/costs UGX\s90: the price for \+4477…/).waitFor();

      await page.getByRole('button', { name: 'Remove SMS to +4477…' }).click();
      await page.getByRole('button', { name: 'Preview 1 change' }).click();
      await page.getByRole('dialog').getByText('no price any more').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await history.getByRole('row', { name: /SMS to \+4477… UGX\s90 removed/ }).waitFor();
      expect(faults).toEqual([]);
    },
  );

  inBrowser('the search finds a message of any account without its text (R516)', async () => {
    const { page, faults } = await browser.open({ person: operator });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Number or id of a message, or a page').fill('0700 120 001');
    await page.getByRole('option', { name: 'Look up “0700 120 001” in all accounts' }).click();
    const found = page.getByRole('region', { name: `SMS of ${shop.email}` });
    await found.getByRole('row', { name: /^\+256700120001 Failed/ }).waitFor();
    await found.getByText('14 characters, hidden').waitFor();
    expect(await page.content()).not.toContain('A private text');
    await expectAccessible(page);
    await page.getByLabel('Number, email or id').fill('+256799999999');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing found').waitFor();
    // A page that is loaded again makes no look-up, and no number is in the URL.
    expect(page.url()).toBe(`${gateway.url}/console/look-up`);
    await page.reload();
    await page.getByRole('heading', { name: 'Look up a message' }).waitFor();
    await page.goBack();
    await page.goForward();
    await page.getByRole('heading', { name: 'Look up a message' }).waitFor();
    const entries = await sql.query(`SELECT FROM audit_entries WHERE action = 'platform.lookUp'`);
    expect(entries).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  inBrowser('traffic is ordered by failures, and the span is chosen (R527)', async () => {
    const { account } = await gateway.parts.operations.accounts.create.run(SYSTEM, {
      ...{ email: 'failing@test.example', name: 'The failing shop', currency: 'UGX', balance: 500 },
    });
    const { key } = await gateway.createKey(account.id, {});
    const to = '+256700130001,+256700140001';
    await gateway.call('POST', '/developers/sms', { key, body: { to, message: 'Hello' } });
    const failed = `SELECT FROM recipients r JOIN messages m ON m.id = r.message_id
      WHERE m.account_id = '${account.id}' AND r.status IN ('delivered', 'failed')`;
    await eventually(async () => (await sql.query(failed)).length === 2);
    await foldAnalytics(gateway, sql);
    const { page, faults } = await browser.open({ person: operator, path: '/traffic' });
    const rows = page.getByRole('table', { name: '2 accounts that sent in production' }).locator('tbody tr');
    await rows.first().getByText(shop.email).waitFor();
    await page.getByLabel('Order').selectOption({ label: 'The most failures first' });
    await rows.first().getByText('The failing shop · failing@test.example').waitFor();
    await expectAccessible(page);
    // Messages without a carrier of their own make no row of zeros.
    expect(await page.getByRole('row', { name: /none yet/ }).count()).toBe(0);
    await page.getByLabel('From').fill('2026-01-01T00:00');
    await page.getByLabel('To', { exact: true }).fill('2026-01-02T00:00');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing was sent in this period').waitFor();
    expect(new URL(page.url()).searchParams.get('order')).toBe('failed');
    expect(faults).toEqual([]);
  });

  inBrowser('two accounts of one name are told apart by their emails (R510)', async () => {
    const [name, emails] = ['The twin', ['one@twins.example', 'two@twins.example']];
    for (const email of emails) {
      const { account } = await gateway.parts.operations.accounts.create.run(SYSTEM, {
        ...{ email, name, currency: 'UGX', balance: 500 },
      });
      const { key } = await gateway.createKey(account.id, {});
      const sms = { to: '+256700150011', message: 'Hello' };
      await gateway.call('POST', '/developers/sms', { key, body: sms });
    }
    await foldAnalytics(gateway, sql);
    const { page, faults } = await browser.open({ person: operator, path: '/?period=7d&group=ACCOUNT' });
    for (const email of emails)
      await page.locator('figure').getByText(`${name} (${email})`).first().waitFor();
    expect(faults).toEqual([]);
  });
});
