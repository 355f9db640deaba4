import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { generateSync } from 'otplib';
import type { Page } from 'playwright-core';
import {
  type ConsoleBrowser,
  clickAgain,
  clickTwiceAtOnce,
  expectAccessible,
  hasFocus,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';

const CARRIERS = '256=simulator:,*=smpp://shop:pa55word@127.0.0.1:1';

describe("the operator's pages of the console", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let operator: { email: string; password: string };
  let token: string;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway({ SMS_ROUTES: CARRIERS });
    account = await gateway.createAccount();
    const email = 'operator@platform.example';
    const system = { kind: 'system', name: 'test' } as const;
    const { password } = await gateway.parts.operations.accounts.createOperator.run(system, { email });
    operator = { email, password };
    token = await signIn(gateway, operator);
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const added = async (email: string) => {
    const system = { kind: 'system', name: 'test' } as const;
    const { user, password } = await gateway.parts.operations.accounts.createOperator.run(system, { email });
    return { id: user.id, email, password };
  };
  const accountOf = async (id: string) => {
    const query = 'query ($id: ID!) { account(id: $id) { balance plan { name } retention { contentDays } } }';
    return (await graphql(gateway, query, { token, variables: { id } })).body.data.account;
  };

  inBrowser('an account is created, and its owner signs in with the password shown once', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/accounts' });
    await page.getByRole('link', { name: account.email }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Email of the owner').fill('shop@test.example');
    await page.getByLabel('Name', { exact: true }).fill('The shop');
    await page.getByLabel('Currency').fill('xxx');
    await page.getByLabel('Opening balance').fill('250');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('must be an ISO 4217 code such as UGX').waitFor();
    await hasFocus(page, 'currency');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('The shop');
    await expectAccessible(page);
    await page.getByLabel('Currency').fill('usd');
    const asked = await clickTwiceAtOnce(
      page.getByRole('button', { name: 'Create account' }),
      'CreateAccount',
    );
    const dialog = page.getByRole('dialog', { name: 'The shop is created' });
    const password = await dialog
      .getByRole('figure', { name: 'one-time password' })
      .locator('code')
      .innerText();
    expect(asked()).toBe(1);
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('heading', { name: 'The shop', level: 1 }).waitFor();
    await page.getByRole('region', { name: 'The account' }).getByText('USD 250.00').waitFor();

    const owner = await browser.open();
    await signInHere(owner.page, { email: 'shop@test.example', password });
    await owner.page.getByRole('banner').getByText('USD 250.00').waitFor();

    await page.getByRole('navigation').getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('the shop');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: account.email }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'The shop' }).waitFor();
    expect([...faults, ...owner.faults]).toEqual([]);
  });

  inBrowser(
    'two operators together give a third one a new password, of which each sees a half (R400)',
    async () => {
      const [second, lost] = [await added('second@platform.example'), await added('lost@platform.example')];
      /** Returns the half of the password that a dialog shows, and closes the dialog. */
      const halfIn = async (page: Page, which: string) => {
        const dialog = page.getByRole('dialog', { name: `The ${which} half of a password of ${lost.email}` });
        const half = await dialog
          .getByRole('figure', { name: 'half of the password' })
          .locator('code')
          .innerText();
        await expectAccessible(page);
        await dialog.getByRole('button', { name: 'I have copied it' }).press('Enter');
        return half;
      };

      const { page, faults } = await browser.open({ person: operator, path: '/operators' });
      await page.getByText('This is you').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: `Reset password of ${lost.email}` }).press('Enter');
      await page.getByRole('button', { name: 'Request', exact: true }).press('Enter');
      const first = await halfIn(page, 'first');
      await page.getByRole('cell', { name: 'password', exact: true }).waitFor();
      // The requester cannot confirm.
      await page.getByRole('button', { name: `Refuse the request for ${lost.email}` }).waitFor();
      expect(await page.getByRole('button', { name: `Confirm the request for ${lost.email}` }).count()).toBe(
        0,
      );

      const other = await browser.open({ person: second, path: '/operators' });
      await other.page.getByRole('button', { name: `Confirm the request for ${lost.email}` }).press('Enter');
      await other.page.getByText(`${operator.email} requested it.`).waitFor();
      await other.page.getByRole('button', { name: 'Confirm it' }).press('Enter');
      const half = await halfIn(other.page, 'second');
      await other.page.getByText('Requests that wait for a second operator').waitFor({ state: 'detached' });

      const third = await browser.open();
      await signInHere(third.page, { email: lost.email, password: `${first}${half}` });
      await third.page.getByRole('navigation', { name: 'Pages' }).waitFor();
      expect([...faults, ...other.faults, ...third.faults]).toEqual([]);
    },
  );

  inBrowser('an operator refuses the reset of their own second factors (R400)', async () => {
    const [person] = [await added('kept@platform.example'), await added('third@platform.example')];
    const query = 'mutation ($id: ID!) { requestOperatorReset(userId: $id, kind: FACTORS) { reset { id } } }';
    await graphql(gateway, query, { token, variables: { id: person.id } });
    const { page, faults } = await browser.open({ person, path: '/operators' });
    await page.getByRole('button', { name: `Refuse the request for ${person.email}` }).press('Enter');
    await page.getByRole('button', { name: 'Refuse it' }).press('Enter');
    await page.getByText('The request is refused. Nothing has changed.').waitFor();
    await page.getByText('Requests that wait for a second operator').waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  inBrowser('the lost password and second factors of a member are reset by keyboard (R251)', async () => {
    const { accountId, email, password } = await gateway.createAccount();
    const session = await signIn(gateway, { email, password });
    const { secret } = (await graphql(gateway, 'mutation { startTotp { secret } }', { token: session })).body
      .data.startTotp;
    const confirm = 'mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }';
    await graphql(gateway, confirm, { token: session, variables: { code: generateSync({ secret }) } });

    const { page, faults } = await browser.open({ person: operator, path: `/accounts/${accountId}` });
    await page.getByRole('button', { name: 'Show its people' }).press('Enter');
    await page.getByRole('button', { name: `Reset password of ${email}` }).press('Enter');
    const question = page.getByRole('dialog', { name: `Reset the password of ${email}?` });
    await question.getByText('Their password stops working').waitFor();
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Reset password' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: `${email} has a one-time password` });
    const fresh = await dialog.getByRole('figure', { name: 'one-time password' }).locator('code').innerText();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'I have copied it' }).press('Enter');
    expect(await page.content()).not.toContain(fresh);
    await expect(signIn(gateway, { email, password })).rejects.toThrow('UNAUTHENTICATED');
    await expect(signIn(gateway, { email, password: fresh })).rejects.toThrow('SECOND_FACTOR_REQUIRED');

    await page.getByRole('button', { name: `Reset second factors of ${email}` }).press('Enter');
    await page
      .getByRole('dialog', { name: `Reset the second factors of ${email}?` })
      .getByRole('button', { name: 'Reset second factors' })
      .press('Enter');
    await page.getByText(`${email} has no second factor any more.`).waitFor();
    await signIn(gateway, { email, password: fresh });
    expect(faults).toEqual([]);
  });

  inBrowser('a key is made for an account on its page, and shown once', async () => {
    const { page, faults } = await browser.open({ person: operator, path: `/accounts/${account.accountId}` });
    await page.getByRole('link', { name: 'Create an API key' }).click();
    await page.getByRole('heading', { name: `New API key for ${account.email}` }).waitFor();
    await page.getByLabel('Name').fill('made by an operator');
    await page.getByLabel('Read messages', { exact: true }).check();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new key' });
    const key = await dialog.getByRole('figure', { name: 'API key' }).locator('code').innerText();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('region', { name: 'The account' }).getByText(account.accountId).waitFor();
    const answer = await gateway.call('GET', '/account', { key });
    expect([answer.status, answer.body.id]).toEqual([200, account.accountId]);

    await page.goto(`${gateway.url}/console/api-keys/new`);
    await page.getByRole('heading', { name: 'For which account?' }).waitFor();
    await expectAccessible(page);
    // A person of an account can create keys only for this account. The account id in the URL is ignored.
    const owner = await browser.open({ person: account, path: '/api-keys/new?account=another' });
    await owner.page.getByLabel('Name').fill('own');
    await owner.page.getByLabel('Read messages', { exact: true }).check();
    await owner.page.getByRole('button', { name: 'Create key' }).click();
    await owner.page.getByRole('button', { name: 'I have copied it' }).click();
    await owner.page.getByRole('heading', { name: 'own', exact: true }).waitFor();
    expect([...faults, ...owner.faults]).toEqual([]);
  });

  inBrowser('a top-up asks for confirmation and books a reference once', async () => {
    const { page, faults } = await browser.open({
      person: operator,
      path: `/accounts/${account.accountId}`,
    });
    await page.getByText('No top-ups yet.').waitFor();
    await page.getByRole('button', { name: 'Top up' }).click();
    await page.getByText('is needed: with it the same payment').waitFor();
    await page.getByText('must be more than 0').waitFor();
    await page.getByLabel('Amount in UGX').fill('5000');
    await page.getByLabel('Reference').fill('bank 17');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: /^Add UGX\s5,000 to/ });
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await accountOf(account.accountId)).balance).toBe(100_000);
    await page.getByRole('button', { name: 'Top up' }).click();
    await dialog.getByRole('button', { name: 'Book it' }).click();
    await page.getByText(/Booked. The balance is UGX\s105,000/).waitFor();
    await page
      .getByRole('region', { name: 'The account' })
      .getByText(/UGX\s105,000/)
      .waitFor();
    await page.getByRole('cell', { name: 'bank 17' }).waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Top up' }).click();
    await dialog.getByText('it will not be booked again').waitFor();
    await dialog.getByRole('button', { name: 'Book it' }).click();
    await page.getByText(/booked before, so nothing was added. The balance is UGX\s105,000/).waitFor();
    expect((await accountOf(account.accountId)).balance).toBe(105_000);
    expect(await page.getByRole('cell', { name: 'bank 17' }).count()).toBe(1);
    await page.getByLabel('Reference').fill('bank 18');
    await page.getByLabel('Amount in UGX').fill('0.5');
    await page.getByRole('button', { name: 'Top up' }).click();
    await page.getByText('has more than 0 decimals').waitFor();
    await hasFocus(page, 'amount');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.getByLabel('Reference').inputValue()).toBe('bank 18');
    expect(faults).toEqual([]);
  });

  inBrowser('neither a double click nor a held Enter confirms a top-up', async () => {
    const { accountId } = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: operator, path: `/accounts/${accountId}` });
    await page.getByLabel('Amount in UGX').fill('5000');
    await page.getByLabel('Reference').fill('twice');
    await page.getByRole('button', { name: 'Top up' }).click();
    const dialog = page.getByRole('dialog', { name: /^Add UGX\s5,000 to/ });
    // The position of the dialog depends on the window size. In this window, it opens under the pointer.
    await dialog.getByRole('button', { name: 'Book it' }).hover();
    await clickAgain(page);
    await dialog.getByRole('button', { name: 'Cancel' }).hover();
    await clickAgain(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Reference').focus();
    await page.keyboard.down('Enter');
    await dialog.waitFor();
    await page.keyboard.down('Enter');
    await dialog.getByRole('button', { name: 'Book it' }).focus();
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    expect(await dialog.isVisible()).toBe(true);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await accountOf(accountId)).balance).toBe(100_000);
    expect(faults).toEqual([]);
  });

  inBrowser('a WhatsApp number is assigned to an account, replaced and taken away (R550)', async () => {
    const owner = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: operator, path: `/accounts/${owner.accountId}` });
    const card = page.getByRole('region', { name: 'WhatsApp number' });
    const listed = async () =>
      (await gateway.call('GET', '/developers/senders', { key: owner.key })).body.data.map(
        ({ number, phoneNumberId }: { number: string; phoneNumberId: string }) => [number, phoneNumberId],
      );
    await card.getByText('It shares the number of the gateway with other accounts.').waitFor();
    await card.getByLabel('Phone number', { exact: true }).fill('+256 771 004001');
    await card.getByLabel('Phone number ID').fill('mango');
    await card.getByRole('button', { name: 'Assign the number' }).click();
    await card.getByText(/must have 1 to 30 digits/).waitFor();
    await hasFocus(page, 'phoneNumberId');
    await card.getByLabel('Phone number ID').fill('4001');
    await card.getByRole('button', { name: 'Assign the number' }).click();
    await page.getByText('The account sends from +256771004001 now.').waitFor();
    expect(await listed()).toEqual([['+256771004001', '4001']]);
    await expectAccessible(page);

    await card.getByLabel('Phone number', { exact: true }).fill('+256771004002');
    await card.getByLabel('Phone number ID').fill('4002');
    await card.getByRole('button', { name: 'Replace the number' }).click();
    const replacing = page.getByRole('dialog', { name: 'Replace +256771004001?' });
    await replacing.getByText('Messages that wait to leave from it fail').waitFor();
    await replacing.getByRole('button', { name: 'Replace it' }).click();
    await page.getByText('The account sends from +256771004002 now.').waitFor();
    expect(await listed()).toEqual([['+256771004002', '4002']]);

    // The account sees its number, and cannot remove it.
    const own = await browser.open({ person: owner, path: '/senders' });
    await own.page.getByRole('link', { name: '+256771004002' }).click();
    await own.page.getByText('Your WhatsApp messages leave from it.').waitFor();
    expect(await own.page.getByRole('button', { name: 'Remove' }).count()).toBe(0);
    await expectAccessible(own.page);

    await card.getByRole('button', { name: 'Take it away' }).click();
    const taking = page.getByRole('dialog', { name: 'Take +256771004002 away from the account?' });
    await taking.getByRole('button', { name: 'Take it away' }).click();
    await card.getByText('It shares the number of the gateway with other accounts.').waitFor();
    expect(await listed()).toEqual([]);
    expect([...faults, ...own.faults]).toEqual([]);
  });

  inBrowser('a plan is created and given to an account, which gets its retention', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/plans' });
    await page.getByText('No plans yet').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('small');
    await page.getByRole('button', { name: 'Set the plan' }).click();
    await page.locator('.field-error').first().waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('small');
    await page.getByLabel('Requests a minute').fill('120');
    await page.getByLabel('Webhook registrations a minute').fill('5');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('row', { name: /^small/ }).innerText()).toMatch(/120\s+no limit\s+5/);
    await expectAccessible(page);
    await page.getByLabel('Requests a minute').fill('240');
    await page.getByRole('button', { name: 'Set the plan' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change the plan small?' });
    await dialog.getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('row', { name: /^small\s+240/ }).waitFor();

    await page.goto(`${gateway.url}/console/accounts/${account.accountId}`);
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('small');
    await page.getByRole('button', { name: 'Put on this plan' }).click();
    await page.getByText('The account is on the plan small.').waitFor();
    expect((await accountOf(account.accountId)).plan).toEqual({ name: 'small' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await accountOf(account.accountId)).plan === null);

    await page.getByLabel('Days until the text').fill('90');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Change retention' }).click();
    await page.getByText('Saved. It holds from now on.').waitFor();
    expect((await accountOf(account.accountId)).retention).toEqual({ contentDays: 90 });

    await page.getByRole('link', { name: 'Audit log' }).first().click();
    await page.getByRole('row', { name: /changed how long texts are kept in account/ }).waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser('members see the prices of their currency, and cannot change them', async () => {
    const owner = await browser.open({ person: account, path: '/prices' });
    await owner.page.getByRole('row', { name: /SMS every destination/ }).waitFor();
    expect(await owner.page.getByRole('button', { name: /Preview/ }).count()).toBe(0);
    await owner.page.goto(`${gateway.url}/console/accounts`);
    await owner.page.getByText('Your role, Owner, cannot open this page. It is for operators').waitFor();
    expect(await owner.page.getByText('can change roles').count()).toBe(0);
    expect(owner.faults).toEqual([]);
  });

  inBrowser('carriers show their health, and the reason of one that is down', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/providers' });
    const now = page.getByRole('table', { name: /^As each worker process/ });
    const down = now.getByRole('row', { name: /smpp:shop@127\.0\.0\.1:1/ });
    await down.getByText('Down').waitFor({ timeout: 30_000 });
    expect(await down.innerText()).toMatch(/SMS\s+all others\s+Down.*ECONNREFUSED/s);
    await now
      .getByRole('row', { name: /^simulator/ })
      .getByText('Up', { exact: true })
      .waitFor();
    expect(await page.content()).not.toContain('pa55word');
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });
});
