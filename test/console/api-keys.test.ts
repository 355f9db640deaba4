import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import {
  actionsOf,
  type ConsoleBrowser,
  clickAgain,
  expectAccessible,
  hasFocus,
  holdAnswers,
  inBrowser,
  startConsoleBrowser,
  typeHalfATime,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

describe('API keys in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    sql = await openSql(gateway.database);
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await sql?.close();
    await gateway?.stop();
  });

  const statusOf = async (key: string, path = '/developers/sms/history') =>
    (await gateway.call('GET', path, { key })).status;

  inBrowser('a new key is shown once with its secret, can be copied, and works', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/api-keys' });
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByRole('heading', { name: 'New API key' }).waitFor();
    await expectAccessible(page);

    await page.getByLabel('Name').fill('shop');
    await page.getByLabel('Addresses that may use it').fill('127.0.0.0/8\nnowhere');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('must name at least one scope').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('shop');
    await page.getByLabel('Read messages', { exact: true }).check();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('must be a CIDR such as').waitFor();
    await hasFocus(page, 'ipAllowlist');
    await page.getByLabel('Addresses that may use it').fill('127.0.0.0/8');
    await page.getByRole('button', { name: 'Create key' }).click();

    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const key = await dialog.getByRole('figure', { name: 'API key' }).locator('code').innerText();
    expect(key).toMatch(/^msg_[0-9a-f]{16}_[0-9a-f]{40}$/);
    expect(
      await dialog.getByRole('figure', { name: 'command that reads the account' }).innerText(),
    ).toContain(key);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Copy API key' }).click();
    await dialog.getByRole('button', { name: 'Copied API key' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
    expect(await statusOf(key)).toBe(200);

    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    expect(await page.content()).not.toContain(key.slice(-40));
    expect(faults).toEqual([]);
  });

  inBrowser('production is asked about once, for a new key and for a key that is turned to it', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/api-keys/new' });
    const question = page.getByRole('dialog', { name: 'Open production to “live”?' });
    await page.getByLabel('Name').fill('live');
    await page.getByLabel('Send SMS', { exact: true }).check();
    await page.getByLabel('Environment').selectOption('PRODUCTION');
    await page.getByRole('button', { name: 'Create key' }).click();
    await question.getByText(/act in production: Send SMS\. .* to the balance, UGX\s[\d,]+ now/).waitFor();
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await sql.query("SELECT FROM api_keys WHERE name = 'live'")).toEqual([]);
    await page.getByRole('button', { name: 'Create key' }).click();
    await question.getByRole('button', { name: 'Create for production' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'live' }).waitFor();

    const { keyId } = await gateway.createKey(account.accountId, {
      scopes: ['SEND_SMS'],
      environment: 'sandbox',
    });
    await page.goto(`${gateway.url}/console/api-keys/${keyId}`);
    const form = page.getByRole('form', { name: 'Change the key' });
    await form.getByLabel('Environment').selectOption('PRODUCTION');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Open production' }).click();
    await page.getByText('Saved; it holds from the next request on.').waitFor();
    const environments = await sql.query('SELECT environment FROM api_keys WHERE key_id = $1', [keyId]);
    expect(environments).toEqual([{ environment: 'production' }]);

    // A scope that the key gets in addition is asked about too. A change that opens nothing is not.
    await form.getByLabel('Read messages', { exact: true }).check();
    await form.getByRole('button', { name: 'Save' }).click();
    const more = page.getByRole('dialog', { name: /^Let “.*” do more in production\?$/ });
    await more.getByText(/may then also do this in production: Read messages\./).waitFor();
    await expectAccessible(page);
    await more.getByRole('button', { name: 'Give these scopes' }).click();
    await page.getByText('Send SMS, Read messages').waitFor();
    await form.getByLabel('Read messages', { exact: true }).uncheck();
    await form.getByRole('button', { name: 'Save' }).click();
    const scopes = () => sql.query('SELECT scopes FROM api_keys WHERE key_id = $1', [keyId]);
    await eventually(async () => JSON.stringify(await scopes()) === '[{"scopes":["SEND_SMS"]}]');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  inBrowser('a signed key shows its signing secret; a change by keyboard can be undone', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/api-keys/new' });
    await page.getByLabel('Name').fill('signed');
    await page.getByLabel('Send SMS', { exact: true }).check();
    await page.getByLabel('Every request must be signed').check();
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = page.getByRole('figure', { name: 'signing secret' }).locator('code');
    expect(await secret.innerText()).toMatch(/^sigsec_/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'signed' }).waitFor();
    await page.getByText('Never used').first().waitFor();
    await expectAccessible(page);

    const form = page.getByRole('form', { name: 'Change the key' });
    await form.getByLabel('Name').focus();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('signed and renamed');
    await form.getByLabel('Read messages', { exact: true }).focus();
    await page.keyboard.press('Space');
    await form.getByRole('button', { name: 'Save' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'signed and renamed' }).waitFor();
    const [record] = await sql.query("SELECT scopes FROM api_keys WHERE name LIKE 'signed%'");
    expect(record).toEqual({ scopes: ['SEND_SMS', 'READ_MESSAGES'] });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'signed', exact: true }).waitFor();
    await eventually(async () => (await form.getByLabel('Name').inputValue()) === 'signed');
    expect(await form.getByLabel('Read messages', { exact: true }).isChecked()).toBe(false);
    expect(faults).toEqual([]);
  });

  inBrowser(
    'a key is rotated with an overlap, stands below its successor, and the new one is revoked',
    async () => {
      const { key, keyId } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
      const { page, faults } = await browser.open({ person: account, path: `/api-keys/${keyId}` });
      await page.getByLabel('The old key still works').selectOption('3600');
      await page.getByRole('button', { name: 'Rotate' }).click();
      const next = await page.getByRole('figure', { name: 'API key' }).locator('code').innerText();
      await page.getByRole('button', { name: 'I have copied it' }).click();
      await page.waitForURL(`**/console/api-keys/${next.split('_')[1]}`);
      expect([await statusOf(key), await statusOf(next)]).toEqual([200, 200]);
      const nextId = next.split('_')[1] ?? '';
      await page.getByRole('definition').getByRole('link', { name: keyId }).waitFor();
      await page.getByRole('link', { name: 'API keys', exact: true }).click();
      await page.getByRole('row').filter({ hasText: nextId }).waitFor();
      const rows = await page.getByRole('row').allInnerTexts();
      const after = rows[rows.findIndex((row) => row.includes(nextId)) + 1];
      expect(after).toContain(keyId);
      expect(after).toMatch(/replaced by the key above[\s\S]*ends in (59 minutes|1 hour)/);
      await expectAccessible(page);
      await page.goto(`${gateway.url}/console/api-keys/${nextId}`);

      await page.getByRole('button', { name: 'Revoke' }).click();
      const dialog = page.getByRole('dialog', { name: /^Revoke/ });
      await dialog.getByText('refused from their next request on').waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await eventually(async () => (await page.evaluate('document.activeElement.textContent')) === 'Revoke');
      expect(await statusOf(next)).toBe(200);
      await page.keyboard.press('Enter');
      const revoking = await holdAnswers(page, 'RevokeApiKey');
      await dialog.getByRole('button', { name: 'Revoke for good' }).click();
      await revoking.held;
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      expect(await dialog.isVisible()).toBe(true);
      revoking.release();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText('Revoked').first().waitFor();
      expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
      expect(await statusOf(next)).toBe(401);
      expect(faults).toEqual([]);
    },
  );

  inBrowser('a leaked key is revoked with the keys it made, which the confirmation lists', async () => {
    const root = await gateway.createKey(account.accountId, {});
    const make = async (name: string) => {
      const body = { name, scopes: ['READ_MESSAGES'], environment: 'sandbox' };
      const answer = await gateway.call('POST', '/developer/keys', { key: root.key, body });
      return answer.body.key as string;
    };
    const [first, second] = [await make('made first'), await make('made second')];
    const { page, faults } = await browser.open({ person: account, path: `/api-keys/${root.keyId}` });
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: /^Revoke/ });
    await dialog.getByText('made second').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Revoke for good' }).click();
    await page.getByRole('button', { name: 'Revoke what it made' }).click();
    expect([await statusOf(root.key), await statusOf(first)]).toEqual([401, 200]);
    await dialog.getByText('made or rotated 2 keys').waitFor();
    await dialog.getByRole('button', { name: 'Revoke for good' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 401]);
    await page.getByRole('button', { name: 'Revoke what it made' }).waitFor({ state: 'detached' });

    const other = await gateway.createKey(account.accountId, {});
    const body = { name: 'made third', scopes: ['READ_MESSAGES'], environment: 'sandbox' };
    const third = (await gateway.call('POST', '/developer/keys', { key: other.key, body })).body.key;
    await page.goto(`${gateway.url}/console/api-keys/${other.keyId}`);
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await dialog.getByLabel('Also revoke 1 key that it made or rotated').check();
    await dialog.getByRole('button', { name: 'Revoke it and 1 key for good' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect([await statusOf(other.key), await statusOf(third)]).toEqual([401, 401]);
    expect(faults).toEqual([]);
  });

  inBrowser('the end of a key keeps its seconds when something else is changed', async () => {
    const { keyId } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const end = new Date('2030-01-01T12:34:56.789Z');
    await sql.query(`UPDATE api_keys SET expires_at = '${end.toISOString()}' WHERE key_id = '${keyId}'`);
    const { page, faults } = await browser.open({ person: account, path: `/api-keys/${keyId}` });
    const endOf = async () =>
      (await sql.query(`SELECT expires_at FROM api_keys WHERE key_id = '${keyId}'`))[0]?.expires_at;
    await page.getByLabel('Name').fill('of an end with seconds');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'of an end with seconds' }).waitFor();
    expect(await endOf()).toEqual(end);
    await page.getByLabel('Ends at').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => (await endOf()) === null);
    expect(faults).toEqual([]);
  });

  inBrowser('half a date is reported, and no key without an end is made', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/api-keys/new' });
    await page.getByLabel('Name').fill('of half an end');
    await page.getByLabel('Send SMS', { exact: true }).check();
    await typeHalfATime(page.getByLabel('Ends at'));
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('is not complete: give the date and the time').waitFor();
    await hasFocus(page, 'expiresAt');
    expect(await sql.query("SELECT name FROM api_keys WHERE name = 'of half an end'")).toEqual([]);
    expect(faults).toEqual([]);
  });

  inBrowser('a double click makes one key, shown until it is acknowledged', async () => {
    const ofName = (name: string) => sql.query(`SELECT name FROM api_keys WHERE name = '${name}'`);
    const { page, faults } = await browser.open({ person: account, path: '/api-keys/new' });
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const answer = dialog.getByRole('button', { name: 'I have copied it' });
    await page.getByLabel('Name').fill('doubled');
    await page.getByLabel('Send SMS', { exact: true }).check();
    await page.getByRole('button', { name: 'Create key' }).dblclick();
    await answer.hover();
    await clickAgain(page);
    expect(await dialog.getByRole('figure', { name: 'API key' }).locator('code').innerText()).toMatch(
      /^msg_/,
    );
    expect(await ofName('doubled')).toHaveLength(1);
    await answer.click();
    await page.getByRole('button', { name: 'Rotate' }).dblclick();
    await answer.click();
    expect(await ofName('doubled')).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  inBrowser('a viewer reads keys and learns that they cannot change them', async () => {
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/api-keys' });
    await page.getByText('Your role can read keys, not create them.').waitFor();
    expect(await page.getByRole('link', { name: 'Create a key' }).count()).toBe(0);
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByText('Your role, Viewer, can read this key, not change it.').waitFor();
    await expectAccessible(page);
    expect(await actionsOf(page)).toEqual([]);
    await page.goto(`${gateway.url}/console/api-keys/new`);
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a developer makes keys without FULL_ACCESS and changes only their own', async () => {
    const developer = await inviteMember(gateway, await signIn(gateway, account), 'DEVELOPER');
    const { page, faults } = await browser.open({ person: developer, path: '/api-keys/new' });
    expect(await page.getByLabel('Full access', { exact: true }).isDisabled()).toBe(true);
    await page.getByLabel('Name').fill('mine');
    await page.getByLabel('Send SMS', { exact: true }).check();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'mine' }).waitFor();
    await page.getByRole('button', { name: 'Revoke' }).waitFor();
    const { keyId } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    await page.goto(`${gateway.url}/console/api-keys/${keyId}`);
    await page.getByText('changes only the keys you made yourself').waitFor();
    expect(await page.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  describe('Limits of a key, for an operator', () => {
    const SYSTEM = { kind: 'system', name: 'test' } as const;
    let operator: { email: string; password: string };
    beforeAll(async () => {
      const email = 'operator@platform.example';
      const { password } = await gateway.parts.operations.accounts.createOperator.run(SYSTEM, { email });
      operator = { email, password };
    });

    inBrowser('are set for a key that is chosen by its account and its name, by keyboard', async () => {
      const shop = await gateway.createAccount();
      const create = async (name: string) => {
        const input = { accountId: shop.accountId, name, scopes: ['SEND_SMS'], environment: 'production' };
        return (await gateway.parts.operations.apiKeys.create.run(SYSTEM, input)).apiKey.keyId;
      };
      const keyId = await create('till');
      await gateway.parts.operations.apiKeys.revoke.run(SYSTEM, { keyId: await create('old till') });
      const plan = {
        name: 'steady',
        perMinute: 240,
        perSecond: 0,
        webhooksPerMinute: 5,
        sessionPerMinute: null,
      };
      await gateway.parts.operations.plans.set.run(SYSTEM, plan);
      await gateway.parts.operations.plans.assign.run(SYSTEM, { accountId: shop.accountId, plan: 'steady' });
      const { page, faults } = await browser.open({ person: operator, path: '/key-limits' });
      await page.setViewportSize({ width: 320, height: 800 });
      await page.getByLabel('Search', { exact: true }).fill(shop.email);
      await page.keyboard.press('Enter');
      await eventually(async () => (await page.locator('tbody tr').count()) === 1);
      await expectAccessible(page);
      await page.locator('tbody').getByRole('link').focus();
      await page.keyboard.press('Enter');
      const keys = page.getByRole('combobox', { name: 'Key' });
      await keys.waitFor();
      const offered = await keys.getByRole('option').allInnerTexts();
      expect(offered).toContain(`till (${keyId})`);
      expect(offered.join()).not.toContain('old till');
      await keys.focus();
      await page.keyboard.type('till');
      await page.getByRole('button', { name: 'Set the limits' }).waitFor();
      const row = page.getByRole('row', { name: /^Requests per minute/ });
      expect(await row.getByRole('cell').allInnerTexts()).toEqual([
        'Requests per minute',
        "the plan's",
        '240',
      ]);
      await page.setViewportSize({ width: 320, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
      await page.getByLabel('Requests per minute').fill('0');
      await page.keyboard.press('Enter');
      await page.getByText('must be a whole number from 1').waitFor();
      await hasFocus(page, 'perMinute');
      await expectAccessible(page);
      await page.getByLabel('Requests per minute').fill('7');
      await page.keyboard.press('Enter');
      await page.getByText('The limits of “till” are set.').waitFor();
      expect(await row.getByRole('cell').allInnerTexts()).toEqual(['Requests per minute', '7', '240']);

      // The account sees that its keys were read.
      const read = await sql.query(
        "SELECT 1 FROM audit_entries WHERE account_id = $1 AND action = 'account.inspect'",
        [shop.accountId],
      );
      expect(read.length).toBeGreaterThan(0);
      expect(faults).toEqual([]);
    });

    inBrowser('are set for a key of which only the id is known (R583)', async () => {
      const { keyId } = await gateway.createKey(account.accountId, {});
      const { page, faults } = await browser.open({ person: operator, path: '/key-limits' });
      await page.getByLabel('Search', { exact: true }).fill(keyId);
      await page.keyboard.press('Enter');
      await eventually(async () => (await page.locator('tbody tr').count()) === 1);
      await page.locator('tbody').getByRole('link').click();
      await page.getByLabel('Requests per minute').fill('7');
      await page.getByLabel('Requests per minute').press('Enter');
      await page.getByText('The limits of “test” are set.').waitFor();
      await page.goto(`${gateway.url}/console/api-keys`);
      await page.getByText('Your role, Operator, cannot open this page.').waitFor();
      const member = await browser.open({ person: account, path: `/api-keys/${keyId}` });
      await member.page.getByRole('definition').filter({ hasText: /^7$/ }).waitFor();

      await gateway.parts.operations.apiKeys.revoke.run(SYSTEM, { keyId });
      await page.goto(`${gateway.url}/console/key-limits?account=${account.accountId}&key=${keyId}`);
      await page.getByText(`The key ${keyId} has ended, or is not of this account.`).waitFor();
      expect([...faults, ...member.faults]).toEqual([]);
    });
  });
});
