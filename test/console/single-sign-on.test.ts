import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { withKnex } from '../support/database.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';

describe('single sign-on in the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let provider: IdentityProvider;
  let names: DnsServer;
  beforeAll(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    provider = await startIdentityProvider(`${url}/console/single-sign-on`);
    names = await startDnsServer();
    gateway = await startTestGateway({
      PORT: String(port),
      PUBLIC_URL: url,
      DNS_SERVERS: names.address,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: provider.clientId,
      OIDC_CLIENT_SECRET: provider.clientSecret,
    });
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await provider?.stop();
    await names?.[Symbol.asyncDispose]();
  });

  const operator = (name: string) => {
    const person = {
      sub: name,
      email: `${name}@platform.example`,
      email_verified: true,
      roles: ['OPERATOR'],
    };
    provider.put(person);
    provider.signsIn = name;
    return person;
  };
  const host = () => new URL(provider.issuer).host;
  /** The only request to another host is the one that goes to the provider. */
  const otherFaults = (faults: readonly string[]) =>
    faults.filter((fault) => fault !== `request to ${provider.issuer}`);
  const textIn = (page: Page, label: string) =>
    page.getByRole('figure', { name: label }).locator('code').innerText();

  inBrowser(
    'an operator signs in at the provider by keyboard, and comes to the page that they wanted (R355)',
    async () => {
      operator('anna');
      const { page, faults } = await browser.open({ path: '/accounts' });
      const button = page.getByRole('button', { name: `Sign in with ${host()} (operators)` });
      await button.waitFor();
      await expectAccessible(page);
      await button.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Accounts', level: 1 }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/console/accounts');
      expect(otherFaults(faults)).toEqual([]);
    },
  );

  inBrowser('a refused sign-in says why, and leaves no code in the address (R355)', async () => {
    provider.put({ sub: 'eve', email: 'eve@platform.example', email_verified: false, roles: ['OPERATOR'] });
    provider.signsIn = 'eve';
    const { page } = await browser.open();
    await page.getByRole('button', { name: `Sign in with ${host()} (operators)` }).click();
    await page.getByText('has not verified your email address').waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/single-sign-on/operators`);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Back to the sign-in' }).click();
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
  });

  inBrowser('the provider confirms a person in place of a password (R359)', async () => {
    operator('olga');
    const { page } = await browser.open({ path: '/security' });
    await page.getByRole('button', { name: `Sign in with ${host()} (operators)` }).click();
    await page.getByRole('heading', { name: 'Security', level: 1 }).waitFor();
    await withKnex(gateway.database.connection, async (knex) => {
      await knex.raw(`UPDATE sessions SET verified_at = now() - interval '11 minutes'`);
      await knex.raw(`SELECT pg_notify('gateway_changes', 'session *')`);
    });
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    const confirm = dialog.getByRole('button', { name: 'Confirm with your provider' });
    await confirm.waitFor();
    await expectAccessible(page);
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Security', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByRole('dialog', { name: 'Add an authenticator app' }).waitFor();
  });

  inBrowser('an owner sets a provider, proves the domain, and its people sign in (R356, R445)', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ path: '/sign-in?next=/security' });
    await page.getByLabel('Email', { exact: true }).fill(account.email);
    await page.getByLabel('Password').fill(account.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Set up single sign-on' }).click();
    const form = page.getByRole('form', { name: 'Single sign-on' });
    await hasFocus(page, 'issuer');
    await expectAccessible(page);
    await form.getByLabel('Issuer').fill(provider.issuer);
    await form.getByLabel('Client id').fill(provider.clientId);
    await form.getByLabel('Client secret').fill(provider.clientSecret);
    await form.getByLabel('Domain').fill('nowhere');
    await form.getByLabel('Roles').fill('admins = ADMIN\ndevs = developer');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('must be a domain such as example.com').waitFor();
    await hasFocus(page, 'domain');
    await form.getByLabel('Domain').fill('console.example');
    await page.keyboard.press('Enter');
    await page.getByText('Add this TXT record to the DNS of console.example.').waitFor();
    await expectAccessible(page);
    const check = page.getByRole('button', { name: 'Check now' });
    await check.click();
    await page.getByText('the DNS has no TXT record _messaging-gateway.console.example').waitFor();
    names.records.set(await textIn(page, 'Name of the record'), [await textIn(page, 'Text of the record')]);
    await check.click();
    await page.getByText(/People of console\.example sign in at/).waitFor();
    expect(faults).toEqual([]);

    provider.put({ sub: 'dev-1', email: 'dora@console.example', email_verified: true, groups: ['devs'] });
    provider.signsIn = 'dev-1';
    const other = await browser.open({ path: '/sign-in?next=/security' });
    await other.page.getByLabel('Email', { exact: true }).fill('dora@console.example');
    await other.page.getByLabel('Password').focus();
    await other.page.getByRole('button', { name: `Sign in with ${host()}`, exact: true }).click();
    await other.page.getByRole('heading', { name: 'Security', level: 1 }).waitFor();
    expect(otherFaults(other.faults)).toEqual([]);

    // Two checks have not found the record. It is back when the owner looks.
    await withKnex(gateway.database.connection, (knex) =>
      knex('single_sign_on').where({ domain: 'console.example' }).update({ domain_lost_at: new Date() }),
    );
    await page.reload();
    const gone = page.getByText(/The DNS record of console\.example is gone since/);
    await gone.waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Check now' }).press('Enter');
    await gone.waitFor({ state: 'detached' });
    await page.getByText(/People of console\.example sign in at/).waitFor();
  });
});
