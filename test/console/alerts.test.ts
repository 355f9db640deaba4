import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { stopLimitClock } from '../support/limit-clock.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;

describe('alerts in the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.0/8,::1/128', COUNTRY_HEADER: 'CF-IPCountry' });
    await stopLimitClock(gateway);
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  /** Lets an account use its limit, and the gateway find it. */
  async function nearItsLimit() {
    const account = await gateway.createAccount();
    await gateway.parts.operations.sendLimits.setOfAccount.run(SYSTEM, {
      accountId: account.accountId,
      recipientsPerDay: 1,
    });
    const body = { to: '+256700123456', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key: account.key, body });
    const open = () => gateway.call('GET', '/developers/alerts?state=open', { key: account.key });
    await eventually(async () => {
      await gateway.parts.alerts.watchAccounts(0);
      return (await open()).body.data.length === 1;
    });
    return account;
  }

  /** Signs a person in as behind a proxy that names the country. Returns the session token. */
  const signInFrom = (person: { email: string; password: string }, country: string) =>
    signIn(gateway, person, { 'CF-IPCountry': country });

  inBrowser('are counted in the bar, listed, and resolved while somebody looks (R486)', async () => {
    const account = await nearItsLimit();
    const { page, faults } = await browser.open({ person: account, path: '/contacts' });
    // With the environments in the bar, everything is within a small phone.
    await page.setViewportSize({ width: 320, height: 800 });
    await page.goto(`${gateway.url}/console/webhooks`);
    await page.getByRole('link', { name: '1 open alert' }).waitFor();
    const button = (await page.getByRole('button', { name: new RegExp(account.email) }).boundingBox())!;
    expect(button.x + button.width).toBeLessThanOrEqual(320);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole('link', { name: '1 open alert' }).click();
    await page.getByRole('heading', { name: 'Alerts', exact: true }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'Limit nearly reached' }).first();
    await row.getByText('100 % of the limit recipientsPerDay of the account is used: 1 of 1.').waitFor();
    await row.getByText('Open', { exact: true }).waitFor();
    await expectAccessible(page);
    await gateway.parts.operations.sendLimits.setOfAccount.run(SYSTEM, {
      accountId: account.accountId,
      recipientsPerDay: 100,
    });
    await eventually(() => gateway.parts.alerts.watchAccounts(0));
    // Nobody loads the page again: the subscription reports the change.
    await row.getByText('Resolved', { exact: true }).waitFor();
    await page.getByRole('link', { name: '1 open alert' }).waitFor({ state: 'detached' });
    await page.getByLabel('State').selectOption('OPEN');
    await page.getByText('Nothing fits').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('have rules that an owner changes, and others read (R486)', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/alerts' });
    await page.getByText('The balance lasts less than 3 days at the current rate.').waitFor();
    await page.getByRole('button', { name: 'Change: Low balance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Days').fill('1000');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(/must be 0.5 to 90 days/i).waitFor();
    await dialog.getByLabel('Days').fill('5');
    await dialog.getByLabel('Who gets mails').selectOption('people');
    await dialog.getByLabel('Email addresses').fill(account.email);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The balance lasts less than 5 days at the current rate.').waitFor();
    await page.getByRole('cell', { name: account.email }).waitFor();
    await page.getByRole('button', { name: 'Change: Expiring API key' }).click();
    await dialog.getByLabel('Open alerts of this kind').uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Switched off', { exact: true }).waitFor();
    const { rules } = (await gateway.call('GET', '/developers/alert-rules', { key: account.key })).body;
    expect(rules).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'balance_low', threshold: 5, mailTo: [account.email] }),
        expect.objectContaining({ kind: 'key_expiring', isEnabled: false, threshold: 7, mailTo: null }),
      ]),
    );
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    const seen = await browser.open({ person: viewer, path: '/alerts' });
    await seen.page.getByText('Switched off', { exact: true }).waitFor();
    expect(await seen.page.getByRole('button', { name: /^Change: / }).count()).toBe(0);
    expect([...faults, ...seen.faults]).toEqual([]);
  });

  inBrowser('about a sign-in from a new country are answered by their person (R489)', async () => {
    const account = await gateway.createAccount();
    const owner = await signInFrom(account, 'KE');
    const member = await inviteMember(gateway, owner, 'VIEWER');
    await signInFrom(member, 'KE');
    await signInFrom(member, 'FR');
    const seen = await browser.open({ person: account, path: '/alerts' });
    const text = `${member.email} signed in from France, where they had not signed in for 180 days.`;
    await seen.page.getByText(text).waitFor();
    expect(await seen.page.getByRole('button', { name: 'It was me' }).count()).toBe(0);
    await seen.page
      .getByRole('row')
      .filter({ hasText: 'A person signs in from a country where they had not signed in for 180 days.' })
      .getByText('The person, owners and administrators')
      .waitFor();

    const { page, faults } = await browser.open({ person: member, path: '/security' });
    const sessions = page.getByRole('table', { name: 'Where you are signed in' });
    await sessions.getByRole('cell', { name: 'France' }).waitFor();
    await sessions.getByRole('cell', { name: 'Kenya' }).waitFor();
    await page.getByRole('link', { name: '1 open alert' }).click();
    const row = page.getByRole('row').filter({ hasText: text });
    await expectAccessible(page);
    await row.getByRole('button', { name: 'It was me' }).click();
    await page.getByText('Thank you. The alert is resolved.').waitFor();
    await row.getByText('Resolved', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'It was me' }).count()).toBe(0);
    // Others see it without loading the page again.
    await seen.page.getByRole('row').filter({ hasText: text }).getByText('Resolved').waitFor();
    expect([...faults, ...seen.faults]).toEqual([]);
  });

  inBrowser(
    'about sign-ins cannot open where countries are not known, and the page says so (R489)',
    async () => {
      const plain = await startTestGateway();
      const own = await startConsoleBrowser(plain);
      try {
        const { page } = await own.open({ person: await plain.createAccount(), path: '/alerts' });
        await page.getByText('It needs COUNTRY_DATABASE or COUNTRY_HEADER.').waitFor();
      } finally {
        await own.close();
        await plain.stop();
      }
    },
  );
});
