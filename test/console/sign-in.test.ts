import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import {
  asks,
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('signing in to the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser(
    'a wrong password is reported, the input stays, and the right one works by keyboard',
    async () => {
      const { page, faults } = await browser.open();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await expectAccessible(page);
      await hasFocus(page, 'email');
      await page.keyboard.type(account.email);
      await page.keyboard.press('Tab');
      await page.keyboard.type('not the password');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      expect(await page.getByLabel('Email').inputValue()).toBe(account.email);
      expect(await page.getByLabel('Password').inputValue()).toBe('not the password');
      await page.getByLabel('Password').fill(account.password);
      await page.keyboard.press('Enter');
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      const header = page.getByRole('banner');
      await header.getByText(/UGX\s100,000/).waitFor();
      await header.getByText(/Owner/).first().waitFor();
      expect(faults).toEqual([]);
    },
  );

  inBrowser(
    'a deep link asks for the sign-in and returns to the page; `next` leads nowhere else',
    async () => {
      const deep = await browser.open({ path: '/api-keys/new?x=1' });
      await signInHere(deep.page, account);
      await deep.page.getByRole('heading', { name: 'New API key' }).waitFor();
      expect(deep.page.url()).toBe(`${gateway.url}/console/api-keys/new?x=1`);
      expect(deep.faults).toEqual([]);

      const wandering = await browser.open({ path: '/sign-in?next=//evil.example/x' });
      await signInHere(wandering.page, account);
      await wandering.page.getByRole('heading', { level: 1 }).waitFor();
      expect(new URL(wandering.page.url()).origin).toBe(gateway.url);
      expect(wandering.faults).toEqual([]);
    },
  );

  inBrowser('the one-time password is changed; theme and sign-out are remembered', async () => {
    const { page, faults } = await browser.open({ person: account });
    await page.getByRole('link', { name: 'Set your own' }).click();
    await page.getByRole('heading', { name: 'Change password' }).waitFor();
    await expectAccessible(page);
    const changed = { email: account.email, password: 'a much better password' };
    await page.getByLabel('Current password').fill(account.password);
    await page.getByLabel('New password').fill('short');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('must have 12 to 256 characters').waitFor();
    await hasFocus(page, 'new');
    expect(await page.getByLabel('Current password').inputValue()).toBe(account.password);
    await page.getByLabel('New password').fill(changed.password);
    await page.keyboard.press('Enter');
    await page.getByText('Your password is changed.').waitFor();
    expect(await page.getByRole('link', { name: 'Set your own' }).count()).toBe(0);

    await page.getByText(/ · Owner$/).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await page.reload();
    await page.getByText(/ · Owner$/).click();
    await page.getByRole('menuitemradio', { name: 'Dark', checked: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto(`${gateway.url}/console/api-keys`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signInHere(page, changed);
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a lost connection is reported, and recovers by itself', async () => {
    const other = await gateway.createAccount();
    const { page } = await browser.open({ person: other, path: '/api-keys' });
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    const context = page.context();
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByLabel('Name').waitFor();
    await context.setOffline(true);
    await page.getByLabel('Name').fill('typed while away');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('The gateway does not answer.').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('typed while away');
    await context.setOffline(false);
    await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name').inputValue()).toBe('typed while away');
  });

  inBrowser('an ended session is renewed over the page, and the form is sent', async () => {
    const person = await gateway.createAccount();
    const { page } = await browser.open({ person, path: '/messages/send' });
    const form = page.getByRole('form', { name: 'Send an SMS' });
    await form.getByLabel('To', { exact: true }).fill('0700123456');
    await form.getByLabel('Message').fill('Composed with care');
    // Wait for the price. Otherwise the request for the price would end the session before the form is submitted.
    await form.getByText('for 1 recipient × 1 billing unit').waitFor();
    await page.context().clearCookies();
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await hasFocus(page, 'password');
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    expect(await dialog.getByLabel('Email').inputValue()).toBe(person.email);
    await dialog.getByLabel('Password').fill('not the password');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Password').fill(person.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Message').inputValue()).toBe('Composed with care');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'SMS to +256700123456' }).waitFor();
    await page.getByText('Composed with care').first().waitFor();

    // A background request can end the session too. The typed input must stay.
    const { keyId } = await gateway.createKey(person.accountId, {});
    await page.goto(`${gateway.url}/console/api-keys/${keyId}`);
    const name = page.getByRole('form', { name: 'Change the key' }).getByLabel('Name');
    await name.fill('renamed');
    await page.context().clearCookies();
    let isAskedAgain = false;
    page.on('response', (response) => {
      if (asks(response.request(), 'ApiKeyDetail')) isAskedAgain = true;
    });
    await eventually(async () => {
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      return isAskedAgain;
    });
    await dialog.getByLabel('Password').fill(person.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await name.inputValue()).toBe('renamed');

    // A page that is opened without a session waits for the sign-in, and is shown afterwards.
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Contacts', exact: true }).click();
    await dialog.getByLabel('Password').fill(person.password);
    await page.keyboard.press('Enter');
    await page.getByText('No contacts yet').waitFor();
  });

  inBrowser('another person who signs in over a page starts with a fresh page', async () => {
    const [person, another] = [await gateway.createAccount(), await gateway.createAccount()];
    const { page } = await browser.open({ person, path: '/contacts/new' });
    await page.getByLabel('Name', { exact: true }).fill('Of the first person');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Add the contact' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Email').fill(another.email);
    await dialog.getByLabel('Password').fill(another.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    expect(await page.getByRole('banner').innerText()).toContain(another.email);
    await page.goBack();
    await page.getByRole('heading', { name: 'New contact' }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  });

  inBrowser('another person who signs in in another tab starts with a fresh page there too', async () => {
    const [person, another] = [await gateway.createAccount(), await gateway.createAccount()];
    const { page } = await browser.open({ person, path: '/contacts/new' });
    await page.getByLabel('Name', { exact: true }).fill('Of the first person');
    // Another person signs in in another tab of the same browser.
    await page.context().clearCookies();
    const tab = await page.context().newPage();
    await tab.goto(`${gateway.url}/console/contacts`);
    await signInHere(tab, another);
    await tab.close();
    await eventually(async () => {
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      return (await page.getByRole('banner').innerText()).includes(another.email);
    });
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    expect(await page.getByText('Of the first person').count()).toBe(0);
  });

  inBrowser('a browser that stores no session is told so, not that nobody is signed in', async () => {
    const person = await gateway.createAccount();
    const { page } = await browser.open();
    // Over plain HTTP, a browser drops the `Secure` cookie of a production gateway. This route drops it in the same
    // way.
    await page.route('**/graphql', async (route) => {
      const response = await route.fetch();
      const { 'set-cookie': _, ...headers } = response.headers();
      await page.context().clearCookies();
      await route.fulfill({ response, headers });
    });
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('open the console at the https: address of the gateway').waitFor();
    expect(await page.getByLabel('Email').inputValue()).toBe(person.email);
  });

  inBrowser('a sign-out that cannot reach the gateway is reported', async () => {
    const person = await gateway.createAccount();
    const { page, faults } = await browser.open({ person, path: '/contacts' });
    await page.getByText('No contacts yet').waitFor();
    await page.context().setOffline(true);
    await page.getByText(/ · Owner$/).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('You are still signed in. The gateway cannot be reached.').waitFor();
    expect(faults.filter((fault) => !fault.includes('ERR_INTERNET_DISCONNECTED'))).toEqual([]);
    await page.context().setOffline(false);
    await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' });
    await page.getByText(/ · Owner$/).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  // This test must be the last one: after it, the gateway refuses every sign-in from this IP address.
  inBrowser('too many failures are reported kindly, with the time to wait', async () => {
    const other = await gateway.createAccount();
    const { page } = await browser.open();
    await page.getByLabel('Email').fill(other.email);
    await page.getByLabel('Password').fill('wrong');
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const answered = page.waitForResponse('**/graphql');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await answered;
    }
    await page.getByText(/tried too often\. Wait \d+ minutes/).waitFor();
    await expectAccessible(page);
  });
});
