import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';

/** More steps than the page needs. */
const MOST_STEPS = 100;

describe('held messages in the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway({ PUMPING_WATCH: 'on' });
    browser = await startConsoleBrowser(gateway);
    sql = await openSql(gateway.database);
  });
  afterAll(async () => {
    await sql?.close();
    await browser?.close();
    await gateway?.stop();
  });

  /** Sends to 15 numbers in a row: the last three are held. */
  async function attack({ key }: TestAccount, block: string): Promise<void> {
    for (let at = 100; at < 115; at += 1) {
      const body = { to: `${block}${at}`, message: 'Hello' };
      expect((await gateway.call('POST', '/developers/sms', { key, body })).status).toBe(200);
    }
    await eventually(() => gateway.parts.alerts.watchAccounts(0));
  }
  const alertsOf = async ({ key }: TestAccount, state: string) =>
    (await gateway.call('GET', `/developers/alerts?kind=messages_held&state=${state}`, { key })).body.data
      .length;
  const notice = (page: Page, block: string) => page.getByText(`numbers in a row that begin with ${block}`);
  /** Presses Tab until the button has the focus, and then Enter. */
  async function press(page: Page, name: string, within: Page | Locator = page): Promise<void> {
    const target = within.getByRole('button', { name, exact: true });
    await target.first().waitFor();
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      if ((await target.and(page.locator(':focus')).count()) === 1) return page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${name}`);
  }

  inBrowser(
    'are released by keyboard after a step-up, and rejected, and their alerts end (R394, R397, R398)',
    async () => {
      const account = await gateway.createAccount(1_000);
      await attack(account, '+256770010');
      expect(await alertsOf(account, 'open')).toBe(1);
      const { page, faults } = await browser.open({ person: account, path: '/messages' });
      await notice(page, '+256770010').waitFor();
      await page.getByText('3 messages are held for review').waitFor();
      await expectAccessible(page);
      // As if the person had signed in long ago.
      await sql.query(
        `UPDATE sessions SET verified_at = now() - interval '11 minutes'
       WHERE user_id = (SELECT id FROM users WHERE email = $1)`,
        [account.email],
      );
      await sql.query(`SELECT pg_notify('gateway_changes', 'session *')`);
      await press(page, 'Release all');
      const question = page.getByRole('dialog', { name: 'Release the messages to +256770010?' });
      await question.getByText('3 recipients get them. This costs UGX 90.').waitFor();
      await press(page, 'Release', question);
      const stepUp = page.getByRole('dialog', { name: 'Confirm that it is you' });
      await stepUp.getByLabel('Password').waitFor();
      await page.keyboard.type(account.password);
      await page.keyboard.press('Enter');
      await page.getByText('3 messages are released.').waitFor();
      await notice(page, '+256770010').waitFor({ state: 'detached' });
      expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(
        1_000 - 15 * 30,
      );
      await checkLedger(sql, account.accountId);
      await eventually(async () => {
        await gateway.parts.alerts.watchAccounts(0);
        return (await alertsOf(account, 'resolved')) === 1 && (await alertsOf(account, 'open')) === 0;
      });

      await attack(account, '+256770020');
      await page.reload();
      await notice(page, '+256770020').waitFor();
      await press(page, 'Reject all');
      await press(page, 'Reject', page.getByRole('dialog', { name: 'Reject the messages to +256770020?' }));
      await page.getByText('3 messages are rejected.').waitFor();
      await notice(page, '+256770020').waitFor({ state: 'detached' });
      expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(
        1_000 - 27 * 30,
      );
      await checkLedger(sql, account.accountId);
      expect(faults).toEqual([]);
    },
  );

  inBrowser('are shown to a developer, without the buttons (R394, R398)', async () => {
    const account = await gateway.createAccount(1_000);
    await attack(account, '+256770030');
    const developer = await inviteMember(gateway, await signIn(gateway, account), 'DEVELOPER');
    const { page, faults } = await browser.open({ person: developer, path: '/messages' });
    await notice(page, '+256770030').waitFor();
    expect(await page.getByRole('button', { name: 'Release all' }).count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
