import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { runCliHere } from '../support/cli.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';
import { pathsOf } from './routes.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const REQUEST = `mutation { requestSender(input: { channel: SMS, senderId: "PAPAYA", purposes: [TRANSACTIONAL],
  useCase: "Codes", company: "Papaya Ltd" }) { id } }`;

describe('names instead of ids, for operators', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let shop: TestAccount;
  let operator: { email: string; password: string };
  let guest: { id: string; email: string };
  /** Ids that no page may show, by what they are. */
  let ids: Readonly<Record<string, string>>;
  beforeAll(async () => {
    gateway = await startTestGateway();
    shop = await gateway.createAccount();
    const { accounts } = gateway.parts.operations;
    const { account } = await accounts.create.run(SYSTEM, {
      ...{ email: 'fruit@test.example', name: 'Mangoes', currency: 'UGX', balance: 5 },
    });
    const email = 'operator@platform.example';
    const { user, password } = await accounts.createOperator.run(SYSTEM, { email });
    operator = { email, password };
    const token = await signIn(gateway, shop);
    guest = await inviteMember(gateway, token, 'VIEWER');
    const { keyId } = await gateway.createKey(shop.accountId, {});
    const hook = { url: 'http://127.0.0.1:9/hook', events: ['sms.sent'] };
    const { webhook } = (await gateway.call('POST', '/developers/webhooks', { key: shop.key, body: hook }))
      .body;
    const { requestSender } = (await graphql(gateway, REQUEST, { token })).body.data;
    ids = {
      account: shop.accountId,
      'other account': account.id,
      person: guest.id,
      operator: user.id,
      key: keyId,
      webhook: webhook.id,
      sender: requestSender.id,
    };
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const idsOn = async (page: Page) => {
    const text = await page.locator('body').innerText();
    return Object.entries(ids).flatMap(([what, id]) => (text.includes(id) ? [what] : []));
  };

  inBrowser('no list of an operator shows the id of an account, a person, a key or a sender', async () => {
    const { page, faults } = await browser.open({ person: operator });
    const paths = [
      ...pathsOf('operators'),
      '/',
      '/?group=ACCOUNT',
      '/audit',
      '/senders',
      '/alerts',
      '/prices',
    ];
    const found: object[] = [];
    for (const path of paths) {
      await page.goto(`${gateway.url}/console${path}`);
      await page.getByRole('heading', { level: 1, includeHidden: true }).first().waitFor();
      await page.getByText('Loading').first().waitFor({ state: 'detached' });
      const shown = await idsOn(page);
      if (shown.length > 0) found.push({ path, shown });
    }
    expect(found).toEqual([]);
    expect(faults).toEqual([]);
  });

  inBrowser('senders of all accounts are listed with their accounts (R526)', async () => {
    const { page, faults } = await browser.open({ person: operator, path: '/senders' });
    for (const name of ['Waits for review', 'All senders']) {
      const region = page.getByRole('region', { name });
      await region.getByRole('row', { name: new RegExp(`PAPAYA.*${shop.email}`) }).waitFor();
    }
    await expectAccessible(page);
    await page.getByRole('link', { name: 'PAPAYA' }).first().press('Enter');
    await page.getByRole('link', { name: shop.email }).press('Enter');
    await page.getByRole('heading', { name: shop.email, level: 1 }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser(
    'the audit log names accounts, people, keys and senders, and leads to accounts (R526)',
    async () => {
      const { page, faults } = await browser.open({ person: operator, path: '/audit' });
      for (const sentence of [
        `${shop.email} invited ${guest.email} as Viewer`,
        `${shop.email} requested sender PAPAYA`,
        'created key test',
        'registered webhook http://127.0.0.1:9/hook',
        'created the account Mangoes',
      ]) {
        await page.getByText(sentence).first().waitFor();
      }
      await expectAccessible(page);
      await page
        .getByRole('row', { name: /created the account Mangoes/ })
        .getByRole('link', { name: 'Mangoes' })
        .last()
        .press('Enter');
      await page.getByRole('heading', { name: 'Mangoes', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Audit log' }).last().press('Enter');
      await page.getByText('created the account Mangoes').waitFor();
      expect(await page.getByText(shop.email).count()).toBe(0);
      expect(faults).toEqual([]);
    },
  );

  inBrowser(
    'the audit log is filtered by the name of an account and the email of a person (R526)',
    async () => {
      const { page, faults } = await browser.open({ person: operator, path: '/audit' });
      await page.getByText('created the account Mangoes').waitFor();
      const field = page.getByRole('combobox', { name: 'Account' });
      await field.fill('mang');
      await page.locator('datalist option[value="fruit@test.example"]').waitFor({ state: 'attached' });
      await field.press('Enter');
      await page.getByText(`invited ${guest.email}`).waitFor({ state: 'detached' });
      await page.getByText('created the account Mangoes').waitFor();
      expect(new URL(page.url()).searchParams.get('account')).toBe('mang');
      await expectAccessible(page);
      await field.fill('nobody');
      await field.press('Enter');
      await page.getByText(/names no account/).waitFor();
      await expectAccessible(page);
      await page.getByRole('link', { name: 'Clear' }).press('Enter');
      await page.getByLabel('Target').fill(guest.email);
      await page.getByLabel('Target').press('Enter');
      await page.getByText('created the account Mangoes').waitFor({ state: 'detached' });
      await page.getByText(`invited ${guest.email}`).waitFor();
      await page.getByRole('link', { name: 'Clear' }).press('Enter');
      await page.getByLabel('Who').fill(shop.email);
      await page.getByLabel('Who').press('Enter');
      await page.getByText('created the account Mangoes').waitFor({ state: 'detached' });
      await page.getByText(`invited ${guest.email}`).waitFor();
      // A refused filter is an error that the browser reports. No other error is allowed.
      expect(faults.filter((fault) => !fault.includes('400'))).toEqual([]);
    },
  );

  inBrowser(
    'what an operator exports of the audit log has names, and can be checked (R303, R526)',
    async () => {
      const { page, faults } = await browser.open({ person: operator, path: '/audit?action=member.invite' });
      await page.getByText(`invited ${guest.email}`).waitFor();
      const exported = async (format: string) => {
        const downloading = page.waitForEvent('download');
        await page.getByRole('button', { name: `Export as ${format}` }).press('Enter');
        const file = await (await downloading).path();
        return { file, lines: (await readFile(file, 'utf8')).trimEnd().split(/\r?\n/) };
      };
      const names = { actorName: shop.email, accountName: shop.email, targetName: guest.email };
      const { file, lines } = await exported('JSON lines');
      expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining(names)]);
      const verify = async () =>
        JSON.parse(
          (await runCliHere(['audit', 'verify', '--file', file, '--part', '--json'], {})).stdout || '{}',
        );
      expect(await verify()).toMatchObject({ isIntact: true, entries: 1 });
      await writeFile(file, `${lines[0]!.replace('member.invite', 'member.remove')}\n`);
      expect(await verify()).toMatchObject({ isIntact: false });

      const [head, row] = (await exported('CSV')).lines;
      expect(head).toBe(
        'seq,id,accountId,at,actor,action,target,before,after,previousHash,hash,actorName,accountName,targetName',
      );
      expect(row).toMatch(new RegExp(`,[0-9a-f]{64},${Object.values(names).join()}$`));
      expect(faults).toEqual([]);
    },
  );
});
