import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';

describe('usage in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    sql = await openSql(gateway.database);
    browser = await startConsoleBrowser(gateway);
    // Three arrive, and the simulator reports that the fourth did not.
    const to = '+256700120011,+256700120012,+256700120013,+256700120002';
    const sent = await gateway.call('POST', '/developers/sms', {
      key: account.key,
      body: { to, message: 'Your parcel is here' },
    });
    await eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${sent.body.id}`, {
        key: account.key,
      });
      return body.recipients.every(({ status }: { status: string }) => /delivered|failed/.test(status));
    });
    await foldAnalytics(gateway, sql);
  });
  afterAll(async () => {
    await browser?.close();
    await sql?.close();
    await gateway?.stop();
  });

  inBrowser('shows rates, times, hours and days as lines, a map and a table, by key and by eye', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/usage?period=7d' });
    const rates = page.getByRole('region', { name: 'Delivery rate per day' });
    const today = rates.getByRole('link', { name: /: Delivery rate 75%$/ });
    await today.waitFor();
    // A single day makes no line, so it is a dot.
    expect(await rates.locator('.chart-dot').getAttribute('d')).toMatch(/^M[\d.]+ [\d.]+h0$/);
    await page.getByText('of recipients; 1 failed').waitFor();
    // The values are read beside the mark: with the keyboard, with the pointer, and with a finger that slides.
    const tip = rates.locator('.chart-tip');
    await today.focus();
    await tip.getByText('Delivery rate 75%').waitFor();
    await page.keyboard.press('Shift+Tab');
    await tip.getByText('Delivery rate –').waitFor();
    const box = await rates.locator('svg').boundingBox();
    await page.mouse.move(box!.x + box!.width - 2, box!.y + 5);
    await tip.getByText('Delivery rate 75%').waitFor();
    await page.mouse.move(0, 0);
    expect(await rates.getByRole('link').count()).toBe(7);
    expect(await rates.getByRole('link', { name: /: Delivery rate –$/ }).count()).toBe(6);
    const times = page.getByRole('region', { name: 'Time until the report, per day' });
    await times
      .getByRole('link', { name: /: Half of them within [\d.]+ m?s, 95 % of them within [\d.]+ m?s$/ })
      .waitFor();
    const map = page.getByRole('table', { name: /^Recipients by day and hour/ });
    expect(await map.getByRole('row').count()).toBe(8);
    expect(await map.getByRole('cell', { name: '4', exact: true }).count()).toBe(1);
    await page.getByRole('img', { name: /^Recipients per day of / }).waitFor();
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await expectAccessible(page);
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([width, overflow]).toEqual([width, 0]);
    }
    await rates.getByText('As a table').click();
    await rates.getByRole('cell', { name: '75%', exact: true }).waitFor();
    await today.press('Enter');
    await page.waitForURL('**/console/messages?*period=custom*');
    await page.getByRole('link', { name: '+256700120011 and 3 more' }).waitFor();

    await page.goto(`${gateway.url}/console/api-keys`);
    await page.getByRole('img', { name: /^Recipients per day of / }).waitFor();
    // The first visit of the overview leads to the first steps.
    await page.goto(`${gateway.url}/console/`);
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await page.goto(`${gateway.url}/console/?period=7d`);
    const bars = page.getByRole('region', { name: /^Messages per day/ }).getByRole('link');
    await bars.last().press('Enter');
    await page.waitForURL('**/console/messages?*period=custom*');
    await page.getByRole('link', { name: '+256700120011 and 3 more' }).waitFor();
    expect(faults).toEqual([]);
  });
});
