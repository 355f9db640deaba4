import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import {
  addAuthenticator,
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';
import { codeOf } from '../support/totp.ts';

const PHONE = { width: 360, height: 740 };
/** More steps than any page or menu here needs. */
const MOST_STEPS = 150;

describe('people in the console on a phone, without a pointer', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let account: TestAccount;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    // Passkeys need a host name.
    url = `http://localhost:${port}`;
    gateway = await startTestGateway({ PORT: String(port), PUBLIC_URL: url });
    browser = await startConsoleBrowser({ url });
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  /** Opens a window of the size of a phone. `person` signs in by keyboard and comes to `path`. */
  async function openPhone(person: { email: string; password: string }, path: string) {
    const { page, faults } = await browser.open({ path: `/sign-in?next=${encodeURIComponent(path)}` });
    await page.setViewportSize(PHONE);
    await hasFocus(page, 'email');
    await page.keyboard.type(person.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(person.password);
    await page.keyboard.press('Enter');
    return { page, faults };
  }
  /** Presses Tab, or another key, until `target` has the focus. */
  async function reach(page: Page, target: Locator, key = 'Tab'): Promise<void> {
    await target.waitFor();
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      if ((await target.and(page.locator(':focus')).count()) === 1) return;
      await page.keyboard.press(key);
    }
    throw new Error(`${key} does not reach ${target}`);
  }
  async function press(page: Page, name: string | RegExp, within: Page | Locator = page): Promise<void> {
    await reach(page, within.getByRole('button', { name, exact: true }));
    await page.keyboard.press('Enter');
  }
  const shown = (page: Page, label: string) =>
    page.getByRole('figure', { name: label }).locator('code').innerText();
  /** Checks the page as other tests do, and makes the window a phone again. */
  async function check(page: Page): Promise<void> {
    await expectAccessible(page);
    await page.setViewportSize(PHONE);
  }

  inBrowser(
    'second factors, sessions and access tokens are made and ended (R249, R250, R254, R304)',
    async () => {
      const elsewhere = await signIn(gateway, account);
      const { page, faults } = await openPhone(account, '/security');
      await addAuthenticator(page);
      await page.getByText('Your password alone signs you in.').waitFor();
      await press(page, 'Add a passkey');
      expect((await shown(page, 'recovery codes')).split('\n')).toHaveLength(10);
      await check(page);
      await press(page, 'I have kept them');
      await page.getByText('10 recovery codes left').waitFor();
      await press(page, 'Add an authenticator app');
      await hasFocus(page, 'code');
      await page.keyboard.type(codeOf(await shown(page, 'secret')));
      await page.keyboard.press('Enter');
      await press(page, 'I have kept them');
      await page.getByRole('button', { name: 'Remove Authenticator app' }).waitFor();
      await press(page, 'New recovery codes');
      await press(page, 'Make new codes');
      await press(page, 'I have kept them');
      // A factor that is added ends the person's other sessions.
      const asked = await graphql(gateway, '{ viewer { id } }', { token: elsewhere });
      expect(asked.body.errors[0].extensions.code).toBe('UNAUTHENTICATED');

      await press(page, 'New access token');
      await hasFocus(page, 'name');
      await page.keyboard.type('Wallboard');
      const ends = page.getByLabel('Ends', { exact: true });
      await reach(page, ends);
      const year = new Date(Date.now() + 7 * 24 * 3_600_000);
      await page.keyboard.type(`${String(year.getMonth() + 1).padStart(2, '0')}`);
      await page.keyboard.type(`${String(year.getDate()).padStart(2, '0')}${year.getFullYear()}`);
      await page.keyboard.press('Tab');
      await page.keyboard.type('1200PM');
      await reach(page, page.getByLabel('message.list', { exact: true }));
      await page.keyboard.press('Space');
      await press(page, 'Create token');
      const token = await shown(page, 'access token');
      const list = await graphql(gateway, '{ messages { totalCount } }', { token });
      expect(list.body).toEqual({ data: { messages: { totalCount: 0 } } });
      await check(page);
      await press(page, 'I have copied it');
      await press(page, 'Revoke Wallboard');
      await press(page, 'Revoke');
      await page.getByText('Revoked').waitFor();
      await press(page, 'Remove Authenticator app');
      await press(page, 'Remove');
      await page.getByRole('button', { name: 'Remove Authenticator app' }).waitFor({ state: 'detached' });
      await check(page);

      await press(page, /Account menu|Owner/);
      await reach(page, page.getByRole('menuitem', { name: 'Sign out' }), 'ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await press(page, 'Use a passkey');
      await page.getByRole('heading', { name: 'Security', level: 1 }).waitFor();
      expect(faults).toEqual([]);
    },
  );

  inBrowser('people are invited, changed, reset and removed (R206, R251)', async () => {
    const owner = await gateway.createAccount();
    const member = await inviteMember(gateway, await signIn(gateway, owner), 'VIEWER');
    // A person who sets a password of their own accepts the invitation.
    const accept = 'mutation ($c: String!) { changePassword(current: $c, new: "a password of a member") }';
    const token = await signIn(gateway, member);
    await graphql(gateway, accept, { token, variables: { c: member.password } });
    const { page, faults } = await openPhone(owner, '/members');
    await reach(page, page.getByRole('link', { name: 'Invite a person' }));
    await page.keyboard.press('Enter');
    await reach(page, page.getByLabel('Email'));
    await page.keyboard.type('helper@phone.example');
    await reach(page, page.getByLabel('Role', { exact: true }));
    await page.keyboard.type('Support');
    await press(page, 'Invite');
    await page.getByRole('dialog', { name: 'helper@phone.example is invited as Support' }).waitFor();
    await check(page);
    await press(page, 'I have copied it');
    await press(page, `Change role of ${member.email}`);
    await reach(page, page.getByRole('dialog').getByLabel('Role', { exact: true }));
    await page.keyboard.type('Developer');
    await press(page, 'Change role', page.getByRole('dialog'));
    await page.getByText(`${member.email} is now Developer.`).waitFor();
    await press(page, `Reset second factors of ${member.email}`);
    await press(page, 'Reset second factors', page.getByRole('dialog'));
    await page.getByText(`${member.email} has no second factor any more.`).waitFor();
    await press(page, 'Withdraw the invitation of helper@phone.example');
    await press(page, 'Withdraw', page.getByRole('dialog'));
    await page.getByText('helper@phone.example is not invited any more.').waitFor();
    await press(page, `Remove ${member.email}`);
    await press(page, /^Remove/, page.getByRole('dialog'));
    await eventually(async () => (await page.getByText(member.email).count()) === 0);
    await check(page);
    expect(faults).toEqual([]);
  });

  inBrowser('the policy and the identity provider of an account are set (R250, R356)', async () => {
    const owner = await gateway.createAccount();
    const { page, faults } = await openPhone(owner, '/security');
    await press(page, 'Set up single sign-on');
    await hasFocus(page, 'issuer');
    await page.keyboard.type('https://127.0.0.1:1/none');
    await reach(page, page.getByLabel('Client id'));
    await page.keyboard.type('console');
    await reach(page, page.getByLabel('Client secret'));
    await page.keyboard.type('secret');
    await reach(page, page.getByLabel('Domain'));
    await page.keyboard.type('nowhere');
    await page.keyboard.press('Enter');
    await page.getByText('must be a domain such as example.com').waitFor();
    await check(page);
    await press(page, 'Cancel');
    await press(page, 'Require a second factor');
    await press(page, 'Require it');
    await page.getByText('A second factor is required here.').waitFor();
    await check(page);
    expect(faults).toEqual([]);
  });
});
