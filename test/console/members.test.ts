import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateSync } from 'otplib';
import { ACCOUNT_ROLES, ROLE_FACTS } from '../../src/console/pages/members/role-facts.ts';
import {
  actionsOf,
  type ConsoleBrowser,
  clickTwiceAtOnce,
  expectAccessible,
  holdAnswers,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';

describe('members and the account in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const roleOf = async (email: string): Promise<string | undefined> => {
    const answer = await graphql(gateway, '{ members { email role } }', { token });
    return answer.body.data.members.find((member: { email: string }) => member.email === email)?.role;
  };

  it('each role is described by what its operations allow', () => {
    const roles: Record<string, string[]> = JSON.parse(
      readFileSync('test/contract/operation-roles.json', 'utf8'),
    );
    for (const { what, operations, roles: told } of ROLE_FACTS) {
      for (const operation of operations) {
        const allowed = ACCOUNT_ROLES.filter((role) => roles[operation]?.includes(role));
        expect({ what, operation, roles: allowed }).toEqual({ what, operation, roles: told });
      }
    }
  });

  inBrowser(
    'an invitation shows a password once, which signs in; the role is changed and restored',
    async () => {
      const { page, faults } = await browser.open({ person: account, path: '/members' });
      await page.getByText('This is you').waitFor();
      expect(await page.getByRole('button', { name: `Remove ${account.email}` }).count()).toBe(0);
      expect(await page.getByRole('button', { name: `Change role of ${account.email}` }).count()).toBe(0);
      await expectAccessible(page);
      await page.getByRole('link', { name: 'Invite a person' }).click();
      await page.getByRole('heading', { name: 'Invite a person' }).waitFor();
      await page.getByLabel('Role', { exact: true }).selectOption('VIEWER');
      await page.getByLabel('Email').fill(account.email);
      await page.getByRole('button', { name: 'Invite' }).click();
      await page.locator('.field-error, .notice-bad').waitFor();
      expect(await page.getByLabel('Email').inputValue()).toBe(account.email);
      expect(await page.getByLabel('Role', { exact: true }).inputValue()).toBe('VIEWER');
      await expectAccessible(page);
      const email = 'new.person@test.example';
      await page.getByLabel('Email').fill(email);
      const asked = await clickTwiceAtOnce(page.getByRole('button', { name: 'Invite' }), 'InviteMember');

      const dialog = page.getByRole('dialog', { name: `${email} is invited as Viewer` });
      const password = await dialog
        .getByRole('figure', { name: 'one-time password' })
        .locator('code')
        .innerText();
      expect(asked()).toBe(1);
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Copy one-time password' }).click();
      await dialog.getByRole('button', { name: 'Copied one-time password' }).waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(password);
      await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('cell', { name: email, exact: true }).waitFor();
      expect(await page.content()).not.toContain(password);
      const row = page.getByRole('row', { name: new RegExp(email) });
      await row.getByText('Pending').waitFor();
      await expectAccessible(page);

      const other = await browser.open();
      await signInHere(other.page, { email, password });
      await other.page.getByText('You are using a temporary password.').waitFor();

      await page.getByRole('button', { name: `Change role of ${email}` }).focus();
      await page.keyboard.press('Enter');
      const roles = page.getByRole('dialog', { name: `Role of ${email}` });
      await roles.getByLabel('Role', { exact: true }).selectOption('DEVELOPER');
      const changing = await holdAnswers(page, 'SetMemberRole');
      await roles.getByRole('button', { name: 'Change role' }).click();
      await changing.held;
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await roles.getByRole('button', { name: 'Cancel' }).click();
      expect(await roles.isVisible()).toBe(true);
      changing.release();
      await page.getByText(`${email} is now Developer.`).waitFor();
      expect(await roleOf(email)).toBe('DEVELOPER');
      await page.getByRole('button', { name: 'Undo' }).click();
      await row.getByText('Viewer').waitFor();
      expect(await roleOf(email)).toBe('VIEWER');

      await page.getByRole('button', { name: `Withdraw the invitation of ${email}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
      await page.getByText(`${email} is not invited any more.`).waitFor();
      await page.getByRole('cell', { name: email, exact: true }).waitFor({ state: 'detached' });
      expect(await roleOf(email)).toBeUndefined();
      await other.page.reload();
      await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect([...faults, ...other.faults]).toEqual([]);
    },
  );

  inBrowser('removing a person or their role asks whether to revoke or keep their keys', async () => {
    const admin = await inviteMember(gateway, token, 'ADMIN');
    const adminToken = await signIn(gateway, admin);
    const make = async (name: string, scope: string) => {
      const query = `mutation { createApiKey(input: { name: "${name}", scopes: [${scope}], environment: SANDBOX }) { key } }`;
      return (await graphql(gateway, query, { token: adminToken })).body.data.createApiKey.key as string;
    };
    const [full, plain] = [
      await make('of the ADMIN', 'FULL_ACCESS'),
      await make('for texts', 'READ_MESSAGES'),
    ];
    const works = async (key: string) => (await gateway.call('GET', '/account', { key })).status === 200;
    const { page, faults } = await browser.open({ person: account, path: '/members' });
    await page.getByRole('button', { name: `Change role of ${admin.email}` }).click();
    const roles = page.getByRole('dialog', { name: `Role of ${admin.email}` });
    expect(await roles.getByText('whose secret they know').count()).toBe(0);
    await roles.getByLabel('Role', { exact: true }).selectOption('VIEWER');
    await roles.getByText('2 keys whose secret they know will be revoked').waitFor();
    await roles.getByLabel('Role', { exact: true }).selectOption('DEVELOPER');
    await roles.getByText('1 key whose secret they know will be revoked').waitFor();
    await roles.getByText('of the ADMIN').waitFor();
    await expectAccessible(page);
    await roles.getByRole('button', { name: 'Change role' }).click();
    await page.getByText(`${admin.email} is now Developer.`).waitFor();
    expect([await works(full), await works(plain)]).toEqual([false, true]);

    await page.getByRole('button', { name: `Remove ${admin.email}` }).click();
    const removal = page.getByRole('dialog', { name: `Remove ${admin.email}?` });
    await removal.getByText('for texts').waitFor();
    await removal.getByLabel('Keep these keys working').check();
    await expectAccessible(page);
    await removal.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('cell', { name: admin.email, exact: true }).waitFor({ state: 'detached' });
    expect(await works(plain)).toBe(true);
    expect(faults).toEqual([]);
  });

  inBrowser(
    'an owner resets the second factors of a member by keyboard, and an admin cannot (R251)',
    async () => {
      const member = await inviteMember(gateway, token, 'DEVELOPER');
      const session = await signIn(gateway, member);
      const { secret } = (await graphql(gateway, 'mutation { startTotp { secret } }', { token: session }))
        .body.data.startTotp;
      const confirm = 'mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }';
      await graphql(gateway, confirm, { token: session, variables: { code: generateSync({ secret }) } });
      await expect(signIn(gateway, member)).rejects.toThrow('SECOND_FACTOR_REQUIRED');

      const admin = await inviteMember(gateway, token, 'ADMIN');
      const asAdmin = await browser.open({ person: admin, path: '/members' });
      await asAdmin.page.getByRole('button', { name: `Change role of ${member.email}` }).waitFor();
      expect(await asAdmin.page.getByRole('button', { name: /^Reset/ }).count()).toBe(0);

      const { page, faults } = await browser.open({ person: account, path: '/members' });
      const button = page.getByRole('button', { name: `Reset second factors of ${member.email}` });
      const dialog = page.getByRole('dialog', { name: `Reset the second factors of ${member.email}?` });
      await button.press('Enter');
      await dialog.getByText('they are signed out everywhere').waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await expect(signIn(gateway, member)).rejects.toThrow('SECOND_FACTOR_REQUIRED');
      await button.press('Enter');
      await dialog.getByRole('button', { name: 'Reset second factors' }).press('Enter');
      await page.getByText(`${member.email} has no second factor any more.`).waitFor();
      const asked = await graphql(gateway, '{ viewer { id } }', { token: session });
      expect(asked.body.errors[0].extensions.code).toBe('UNAUTHENTICATED');
      await signIn(gateway, member);
      expect([...faults, ...asAdmin.faults]).toEqual([]);
    },
  );

  inBrowser('an admin cannot change an owner, and a viewer cannot change anybody', async () => {
    const admin = await inviteMember(gateway, token, 'ADMIN');
    const asAdmin = await browser.open({ person: admin, path: '/members' });
    await asAdmin.page.getByText('Only owners change owners').waitFor();
    await asAdmin.page.getByRole('link', { name: 'Invite a person' }).click();
    await asAdmin.page.getByRole('heading', { name: 'Invite a person' }).waitFor();
    const offered = await asAdmin.page.getByLabel('Role', { exact: true }).locator('option').allInnerTexts();
    expect(offered.map((text) => text.split(':')[0])).toEqual(['Admin', 'Developer', 'Support', 'Viewer']);
    await asAdmin.page.goto(`${gateway.url}/console/account`);
    await asAdmin.page.getByText('Only an owner can change it.').waitFor();

    const viewer = await inviteMember(gateway, token, 'VIEWER');
    const asViewer = await browser.open({ person: viewer, path: '/members' });
    await asViewer.page.getByText('Owners and admins invite people and change roles.').waitFor();
    await asViewer.page.getByRole('cell', { name: admin.email }).waitFor();
    expect(await actionsOf(asViewer.page)).toEqual([]);
    await asViewer.page.goto(`${gateway.url}/console/members/invite`);
    await asViewer.page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    expect([...asAdmin.faults, ...asViewer.faults]).toEqual([]);
  });

  inBrowser('an owner sets the retention of messages after a confirmation', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/account' });
    await page.getByText('No plan (default limits)').waitFor();
    // The name and the currency of an account cannot be changed.
    await page
      .getByText("Plan and top-ups are the platform operator's to change. Name and currency stay.")
      .waitFor();
    await expectAccessible(page);
    await page.getByLabel('Days until the text').fill('30');
    await page.getByLabel('Days until a message is deleted').fill('7');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Change how long messages are kept?' });
    await dialog.getByText('kept for 30 days. Messages: kept for 7 days').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Change retention' }).click();
    await page.getByText('must not be fewer than contentDays').waitFor();
    expect(await page.getByLabel('Days until the text').inputValue()).toBe('30');
    await page.getByLabel('Days until a message is deleted').fill('365');
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const retention = async () =>
      (await graphql(gateway, '{ account { retention { contentDays messageDays } } }', { token })).body.data
        .account.retention;
    expect(await retention()).toEqual({ contentDays: null, messageDays: null });
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('button', { name: 'Change retention' }).click();
    await page.getByText('Saved. It holds from now on.').waitFor();
    expect(await retention()).toEqual({ contentDays: 30, messageDays: 365 });
    expect(faults).toEqual([]);
  });
});
