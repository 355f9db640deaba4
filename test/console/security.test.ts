import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  addAuthenticator,
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { runCliHere } from '../support/cli.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';
import { codeOf } from '../support/totp.ts';

describe('security in the console', () => {
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

  /** Returns the text of the code block with this label. */
  const shown = (page: Page, label: string) =>
    page.getByRole('figure', { name: label }).locator('code').innerText();
  /** Changes the sessions as if every person had last entered a password or a code 11 minutes ago. */
  const verifiedLongAgo = (at = gateway) =>
    withKnex(at.database.connection, async (knex) => {
      await knex.raw(`UPDATE sessions SET verified_at = now() - interval '11 minutes'`);
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
  /** Opens the dialog that adds an authenticator app. Returns the dialog and the app's secret. */
  async function addApp(page: Page) {
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' });
    await dialog.getByRole('img', { name: 'QR code for the app' }).waitFor();
    const secret = await shown(page, 'secret');
    await hasFocus(page, 'code');
    return { dialog, secret };
  }
  async function keepCodes(page: Page) {
    const codes = (await shown(page, 'recovery codes')).split('\n');
    await page.getByRole('button', { name: 'I have kept them' }).click();
    return codes;
  }

  inBrowser(
    'an authenticator app is added by keyboard, and asked for at the next sign-in (R250)',
    async () => {
      const account = await gateway.createAccount();
      const { page, faults } = await browser.open({ person: account, path: '/security' });
      await page.getByText('Your password alone signs you in.').waitFor();
      await expectAccessible(page);
      const { dialog, secret } = await addApp(page);
      await expectAccessible(page);
      await page.keyboard.type('000');
      await page.keyboard.press('Enter');
      await dialog.getByText('is not the code that the app shows now').waitFor();
      await hasFocus(page, 'code');
      await dialog.getByLabel('Code', { exact: true }).fill(codeOf(secret));
      await page.keyboard.press('Enter');
      const codes = await keepCodes(page);
      expect(codes).toHaveLength(10);
      await page.getByText('10 recovery codes left').waitFor();
      await expectAccessible(page);
      expect(faults).toEqual([]);

      const other = await browser.open();
      const fillIn = async () => {
        await other.page.getByLabel('Email', { exact: true }).fill(account.email);
        await other.page.getByLabel('Password').fill(account.password);
        await other.page.getByRole('button', { name: 'Sign in' }).click();
      };
      await fillIn();
      await hasFocus(other.page, 'code');
      await expectAccessible(other.page);
      await other.page.keyboard.type('not a code');
      await other.page.keyboard.press('Enter');
      await other.page.getByRole('alert').waitFor();
      await other.page.getByRole('button', { name: 'Back' }).click();
      await fillIn();
      await hasFocus(other.page, 'code');
      await other.page.keyboard.type(codes[0]!);
      await other.page.keyboard.press('Enter');
      await other.page.getByRole('navigation', { name: 'Pages' }).waitFor();
      expect(other.faults).toEqual([]);
    },
  );

  inBrowser('a confirmation is asked in place, and what was begun goes on (R253)', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/account' });
    const form = page.getByRole('form', { name: 'How long messages are kept' });
    await form.getByLabel('Days until the text of a message is erased').fill('30');
    await form.getByRole('button', { name: 'Save' }).click();
    await verifiedLongAgo();
    await page.getByRole('button', { name: 'Change retention' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await hasFocus(page, 'password');
    await expectAccessible(page);
    // Escape cancels the confirmation: nothing changes, and the person can try again.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await form.getByText('It was not done').waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Change retention' }).click();
    await hasFocus(page, 'password');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    await dialog.getByText('is not your password').waitFor();
    await dialog.getByLabel('Password').fill(account.password);
    await page.keyboard.press('Enter');
    await page.getByText('Saved. It holds from now on.').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('sessions are listed and ended, tokens made and revoked (R249, R254)', async () => {
    const account = await gateway.createAccount();
    const stolen = await signIn(gateway, account);
    const { page, faults } = await browser.open({ person: account, path: '/security' });
    await page.getByText('This one').waitFor();
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('button', { name: 'End them' }).click();
    await page.getByText('Your other sessions have ended.').waitFor();
    const asked = await graphql(gateway, '{ viewer { id } }', { token: stolen });
    expect(asked.body.errors[0].extensions.code).toBe('UNAUTHENTICATED');

    await page.getByRole('button', { name: 'New access token' }).click();
    await hasFocus(page, 'name');
    await page.keyboard.type('Wallboard');
    const inAWeek = new Date(Date.now() + 7 * 24 * 3_600_000).toISOString().slice(0, 16);
    await page.getByLabel('Ends', { exact: true }).fill(inAWeek);
    await page.getByLabel('message.list', { exact: true }).check();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create token' }).click();
    const token = await shown(page, 'access token');
    const listed = await graphql(gateway, '{ messages { totalCount } }', { token });
    expect(listed.body).toEqual({ data: { messages: { totalCount: 0 } } });
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Revoke Wallboard' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('Revoked').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('who must add a second factor can do that first, and then everything (R250)', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/security' });
    await page.getByRole('button', { name: 'Require a second factor' }).click();
    await page.getByRole('button', { name: 'Require it' }).click();
    await page.getByText('A second factor is required here.').waitFor();
    await page.goto(`${gateway.url}/console/messages`);
    await page.getByText('A second factor is required here.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/security');
    await expectAccessible(page);
    const { dialog, secret } = await addApp(page);
    await dialog.getByLabel('Code', { exact: true }).fill(codeOf(secret));
    await page.keyboard.press('Enter');
    await keepCodes(page);
    await page.getByRole('link', { name: 'Messages', exact: true }).click();
    await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
    // The browser reports a refused request as an error of the page. No other error is allowed.
    expect(faults).toEqual([]);
  });

  inBrowser('the audit log is exported as CSV and as JSON lines, which can be checked (R303)', async () => {
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    // One request of the export returns 100 entries.
    const count = 105;
    for (let made = 0; made < count; made += 1)
      await graphql(gateway, 'mutation { setSecurityPolicy(requireSecondFactor: false) { id } }', { token });
    const path = '/audit?action=account.setSecurityPolicy';
    const { page, faults } = await browser.open({ person: account, path });
    const button = (format: string) => page.getByRole('button', { name: `Export as ${format}` });
    await page
      .getByRole('row', { name: /changed the security policy/ })
      .first()
      .waitFor();
    await expectAccessible(page);
    const exported = async (format: string, ending: string) => {
      const downloading = page.waitForEvent('download');
      await button(format).press('Enter');
      const download = await downloading;
      expect(download.suggestedFilename()).toMatch(new RegExp(`^audit-\\d{4}-\\d\\d-\\d\\d\\.${ending}$`));
      const file = await download.path();
      return { file, lines: (await readFile(file, 'utf8')).trimEnd().split(/\r?\n/) };
    };
    const { file, lines } = await exported('JSON lines', 'jsonl');
    const entries = lines.map((line) => JSON.parse(line));
    expect(new Set(entries.map(({ action, accountId }) => `${action} ${accountId}`))).toEqual(
      new Set([`account.setSecurityPolicy ${account.accountId}`]),
    );
    const seqs = entries.map(({ seq }) => seq as number);
    expect(seqs).toEqual([...seqs].sort((left, right) => left - right));
    const { code, stdout } = await runCliHere(['audit', 'verify', '--file', file, '--part', '--json'], {});
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ isIntact: true, entries: count }),
    ]);

    const [head, ...cells] = (await exported('CSV', 'csv')).lines;
    expect(head).toBe('seq,id,accountId,at,actor,action,target,before,after,previousHash,hash');
    expect(cells.map((line) => `${line.split(',')[0]} ${line.split(',').at(-1)}`)).toEqual(
      entries.map(({ seq, hash }) => `${seq} ${hash}`),
    );

    const json = { errors: [{ message: 'Not now.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] };
    await page.route('**/graphql', (route) => route.fulfill({ json }));
    await button('CSV').press('Enter');
    await page.getByText('Not now. Nothing was downloaded.').waitFor();
    await page.unroute('**/graphql');

    const viewer = await browser.open({ person: await inviteMember(gateway, token, 'VIEWER'), path });
    await viewer.page
      .getByRole('row', { name: /changed the security policy/ })
      .first()
      .waitFor();
    expect(await viewer.page.getByRole('button', { name: /^Export/ }).count()).toBe(0);
    expect([...faults, ...viewer.faults]).toEqual([]);
  });

  inBrowser('a passkey is added, signs in alone, after the password, and confirms (R304)', async () => {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const named = await startTestGateway({ PORT: String(port), PUBLIC_URL: url });
    const own = await startConsoleBrowser({ url });
    try {
      const account = await named.createAccount();
      const { page, faults } = await own.open({ person: account, path: '/security' });
      await addAuthenticator(page);
      await page.getByRole('button', { name: 'Add a passkey' }).focus();
      await page.keyboard.press('Enter');
      expect(await keepCodes(page)).toHaveLength(10);
      await page.getByRole('cell', { name: 'Passkey', exact: true }).waitFor();
      await expectAccessible(page);
      const signOut = async () => {
        await page.getByText(/ · Owner$/).click();
        await page.getByRole('menuitem', { name: 'Sign out' }).click();
        await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      };
      const pressPasskey = async () => {
        await page.getByRole('button', { name: 'Use a passkey' }).focus();
        await page.keyboard.press('Enter');
      };
      await signOut();
      await expectAccessible(page);
      await pressPasskey();
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();

      await signOut();
      await page.getByLabel('Email', { exact: true }).fill(account.email);
      await page.getByLabel('Password').fill(account.password);
      await page.keyboard.press('Enter');
      await page.getByLabel('Code', { exact: true }).waitFor();
      await pressPasskey();
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();

      await page.goto(`${url}/console/security`);
      await page.getByText('10 recovery codes left').waitFor();
      await verifiedLongAgo(named);
      await page.getByRole('button', { name: 'New recovery codes' }).click();
      await page.getByRole('button', { name: 'Make new codes' }).click();
      await page.getByRole('dialog', { name: 'Confirm that it is you' }).waitFor();
      await pressPasskey();
      expect(await keepCodes(page)).toHaveLength(10);
      expect(faults).toEqual([]);
    } finally {
      await own.close();
      await named.stop();
    }
  });
});

describe('links by mail in the console', () => {
  let gateway: TestGateway;
  let mails: MailServer;
  let browser: ConsoleBrowser;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    // Passkeys need a host name.
    url = `http://localhost:${port}`;
    mails = await startMailServer();
    gateway = await startTestGateway({ PORT: String(port), PUBLIC_URL: url, EMAIL_URL: mails.url });
    browser = await startConsoleBrowser({ url });
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await mails?.stop();
  });
  const linkTo = (email: string): Promise<string> =>
    eventually(() => {
      const mail = mails.received.find(({ to }) => to.includes(email));
      return mail && /http:\S+/.exec(textOfMail(mail))?.[0];
    });

  inBrowser('an invitation is accepted by a passkey instead of a password (R300, R304)', async () => {
    const owner = await signIn(gateway, await gateway.createAccount());
    const invited = await inviteMember(gateway, owner, 'DEVELOPER');
    const { page, faults } = await browser.open();
    await addAuthenticator(page);
    await page.goto(await linkTo(invited.email));
    await hasFocus(page, 'password');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Use a passkey instead' }).press('Enter');
    await page.getByText('Your passkey signs you in.').waitFor();
    const codes = await page.getByRole('figure', { name: 'recovery codes' }).locator('code').innerText();
    expect(codes.split('\n')).toHaveLength(10);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Sign in' }).press('Enter');
    await page.getByRole('button', { name: 'Use a passkey' }).press('Enter');
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    // Nobody knows the password any more: the one-time password of the invitation has ended too.
    await expect(signIn(gateway, invited)).rejects.toThrow('UNAUTHENTICATED');
    expect(faults).toEqual([]);
  });

  inBrowser('a lost password and an invitation lead to a password by keyboard (R300)', async () => {
    const account: TestAccount = await gateway.createAccount();
    const { page, faults } = await browser.open();
    await page.getByRole('link', { name: 'Lost your password?' }).click();
    await hasFocus(page, 'email');
    await expectAccessible(page);
    await page.keyboard.type(account.email);
    await page.keyboard.press('Enter');
    await page.getByText('a mail with a link is on its way').waitFor();
    await page.goto(await linkTo(account.email));
    await hasFocus(page, 'password');
    expect(new URL(page.url()).search).toBe('');
    await expectAccessible(page);
    await page.keyboard.type('too short');
    await page.keyboard.press('Enter');
    await page.getByText('must have 12 to 256 characters').waitFor();
    await page.getByLabel('New password').fill('a password of my own');
    await page.keyboard.press('Enter');
    await page.getByText('Your password is set.').waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signInHere(page, { email: account.email, password: 'a password of my own' });

    await page.goto(`${url}/console/members/invite`);
    await page.getByLabel('Email').fill('guest@invited.example');
    await page.keyboard.press('Enter');
    await page.getByText('A mail with a link is on its way.').waitFor();
    const guest = await browser.open();
    const link = await linkTo('guest@invited.example');
    await guest.page.goto(link);
    await guest.page.getByLabel('New password').fill('a password of a visitor');
    await guest.page.keyboard.press('Enter');
    await guest.page.getByText('Your password is set.').waitFor();
    await guest.page.goto(link);
    await guest.page.getByLabel('New password').fill('a password of a thief');
    await guest.page.keyboard.press('Enter');
    await guest.page.getByText('The invitation has ended or was accepted already.').waitFor();
    await guest.page.goto(`${url}/console/`);
    await signInHere(guest.page, { email: 'guest@invited.example', password: 'a password of a visitor' });
    expect([...faults, ...guest.faults]).toEqual([]);
  });
});
