import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';

/** The simulator refuses numbers that end with 0001. */
const REFUSED = '+256700120001';
const SPELLINGS = ['0700120001', '+256 700 120 001', '256700120001', '700120001', '0700-120-001'];

/**
 * What people come for, with the number of actions that it takes: a click, or a text that is typed. The search opens
 * with a shortcut, which counts together with the text.
 */
describe('what people come to the console for', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    const to = `+256700120009,${REFUSED},+256701120001`;
    const body = { to, message: 'Your parcel is here', purpose: 'marketing' };
    const { id } = (await gateway.call('POST', '/developers/sms', { key: account.key, body })).body;
    await eventually(async () => {
      const answer = await gateway.call('GET', `/developers/messages/${id}`, { key: account.key });
      const states = answer.body.recipients.map(({ status }: { status: string }) => status);
      return (
        states.filter((status: string) => status === 'failed').length === 2 && states.includes('delivered')
      );
    });
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser('why a number got nothing, from any spelling: 2 actions', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/contacts' });
    for (const spelling of SPELLINGS) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).fill(spelling); // 1
      const result = page.getByRole('option', { name: /^Message / });
      await result.getByText('1 of 3 delivered').waitFor();
      if (spelling === SPELLINGS[0]) await expectAccessible(page);
      await result.click(); // 2
      const reason = page.getByRole('region', { name: 'Why it is so' });
      await reason.getByText('The carrier rejected it, so it was refunded.').waitFor();
      await reason.getByText('Check the address and the sender against the reason.').waitFor();
      await page.goBack();
      await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    }
    expect(faults).toEqual([]);
  });

  inBrowser('send again to those who did not get it: 2 actions from the message', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page
      .getByRole('row', { name: /1 of 3 delivered/ })
      .getByRole('link')
      .click();
    const drawer = page.getByRole('dialog', { name: 'Message' });
    await drawer.getByRole('region', { name: 'Why it is so' }).getByText('2 recipients:').waitFor();
    await expectAccessible(page);
    await page.goBack();
    await drawer.waitFor({ state: 'detached' });
    await page.goForward();

    await drawer.getByRole('button', { name: 'Resend to the 2 that failed' }).click(); // 1
    const question = page.getByRole('dialog', { name: 'Send again to 2 recipients?' });
    await question.getByText('2 recipients, UGX 60, leaves UGX 99,910.').waitFor();
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Send to 2 recipients' }).click(); // 2
    await page.getByRole('heading', { name: `SMS to ${REFUSED} and 1 more` }).waitFor();
    const [again] = (await gateway.call('GET', '/developers/sms/history', { key: account.key })).body.data;
    const sent = await gateway.call('GET', `/developers/messages/${again.id}`, { key: account.key });
    expect(sent.body).toMatchObject({
      content: expect.stringMatching(/^Your parcel is here\nStop: /),
      purpose: 'marketing',
    });
    expect(faults).toEqual([]);
  });

  inBrowser(
    'a person with the role SUPPORT sends it again as it was, and sends nothing new (R235)',
    async () => {
      const support = await inviteMember(gateway, await signIn(gateway, account), 'SUPPORT');
      const { page, faults } = await browser.open({ person: support, path: '/messages' });
      await page
        .getByRole('row', { name: /1 of 3 delivered/ })
        .getByRole('link')
        .click();
      const drawer = page.getByRole('dialog', { name: 'Message' });
      await drawer.getByRole('button', { name: 'Resend to the 2 that failed' }).press('Enter');
      const question = page.getByRole('dialog', { name: 'Send again to 2 recipients?' });
      await question.getByText('is charged again. The first time this cost UGX 60.').waitFor();
      await expectAccessible(page);
      await question.getByRole('button', { name: 'Send to 2 recipients' }).press('Enter');
      await page.getByRole('heading', { name: `SMS to ${REFUSED} and 1 more` }).waitFor();
      expect(await page.getByRole('link', { name: 'Resend' }).count()).toBe(0);
      await page.goto(`${gateway.url}/console/messages/send`);
      await page.getByText('Your role, Support, cannot open this page.').waitFor();
      expect(faults).toEqual([]);
    },
  );

  inBrowser("what a key cost this month: 1 action, and a bar leads to its day's messages", async () => {
    const { page, faults } = await browser.open({ person: account, path: '/contacts' });
    const { apiKeys } = gateway.parts.operations;
    const owner = {
      kind: 'member',
      accountId: account.accountId,
      userId: account.accountId,
      role: 'OWNER',
    } as const;
    const { rows } = await apiKeys.list.run(owner, { page: { page: 1, limit: 100 } });
    const production = rows.find(({ environment }) => environment === 'production')!;
    await page.getByRole('link', { name: 'Usage' }).click(); // 1
    const row = page
      .getByRole('table')
      .getByRole('row', { name: new RegExp(`^${production.name}`) })
      .last();
    await row.getByText('UGX 30', { exact: true }).waitFor();
    await page.getByText('Forecast of the month').waitFor();
    await expectAccessible(page);
    await row.getByRole('link').click();
    await page.getByRole('row', { name: /1 of 3 delivered/ }).waitFor();
    expect(new URL(page.url()).searchParams.get('key')).toBe(production.keyId);
    expect(faults).toEqual([]);
  });
});
