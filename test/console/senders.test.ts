import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  actionsOf,
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'der' },
});
const DKIM_RECORD = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`;
const SPF_RECORD = 'v=spf1 include:gateway.example ~all';

describe('the senders in the console', () => {
  let gateway: TestGateway;
  let names: DnsServer;
  let account: TestAccount;
  let operator: { email: string; password: string };
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    names = await startDnsServer();
    gateway = await startTestGateway({
      SENDER_POLICY: 'approved',
      DNS_SERVERS: names.address,
      EMAIL_FROM: 'Gateway <no-reply@gateway.example>',
      DKIM_DOMAIN: 'gateway.example',
      DKIM_SELECTOR: 'mail2026',
      DKIM_KEY: privateKey,
    });
    account = await gateway.createAccount();
    operator = await addOperator('operator@platform.example');
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await names?.[Symbol.asyncDispose]();
  });

  const addOperator = async (email: string, isReadOnly = false) => {
    const system = { kind: 'system', name: 'test' } as const;
    const { createOperator } = gateway.parts.operations.accounts;
    const { password } = await createOperator.run(system, { email, isReadOnly });
    return { email, password };
  };
  const request = async (body: object, key = account.key): Promise<string> => {
    const answer = await gateway.call('POST', '/developers/senders', { key, body });
    expect(answer.status).toBe(201);
    return answer.body.sender.id;
  };
  const requestId = (senderId: string, key?: string) =>
    request(
      { channel: 'sms', senderId, purposes: ['otp'], useCase: 'Codes to sign in', company: 'Kiosk Ltd' },
      key,
    );
  const statusOf = async (id: string, key = account.key) =>
    (await gateway.call('GET', `/developers/senders/${id}`, { key })).body.sender?.status;
  const idIn = (page: Page) => new URL(page.url()).pathname.split('/').at(-1)!;
  /** Follows a link by keyboard, as a person does who reads with Tab. */
  const follow = (page: Page, name: string) => page.getByRole('link', { name }).first().press('Enter');
  const waiting = (page: Page) => page.getByRole('region', { name: 'Waits for review' });

  inBrowser(
    'a sender ID is requested, rejected with a note, approved, registered and removed, by keyboard (R430, R431)',
    async () => {
      const { page, faults } = await browser.open({ person: account, path: '/senders' });
      await page.getByText('No senders yet').waitFor();
      await expectAccessible(page);
      await follow(page, 'Request a sender');
      await page.getByRole('button', { name: 'Request the sender ID' }).press('Enter');
      await page.getByText('must be 1 to 11 letters A-Z or digits').waitFor();
      await page.getByText('must have at least one of transactional, otp, marketing').waitFor();
      await hasFocus(page, 'senderId');
      await expectAccessible(page);
      await page.keyboard.type('MANGOES');
      await page.getByLabel('Transactional').press('Space');
      await page.getByLabel('What you send').fill('Receipts to people who bought something');
      await page.getByLabel('Company').fill('Mangoes Ltd');
      await page.keyboard.press('Enter');
      await page.getByText('Wait: the operator of this gateway reviews it.').waitFor();
      await page.getByText('The operator has noted no registration at a network.').waitFor();
      await expectAccessible(page);
      const id = idIn(page);
      expect(await statusOf(id)).toBe('pending');

      const other = await browser.open({ person: operator, path: '/senders' });
      const row = waiting(other.page).getByRole('row', { name: /MANGOES/ });
      await row.getByText('Mangoes Ltd').waitFor();
      await row.getByText('Receipts to people who bought something').waitFor();
      await expectAccessible(other.page);
      await row.getByRole('link').press('Enter');
      await other.page.getByRole('link', { name: account.email }).waitFor();
      await other.page.getByRole('button', { name: 'Answer', exact: true }).press('Enter');
      await other.page.getByText('must be chosen: approve or reject').waitFor();
      await hasFocus(other.page, 'status');
      await expectAccessible(other.page);
      await other.page.getByLabel('Answer', { exact: true }).selectOption('Reject');
      await other.page.getByLabel('Note').fill('Send us the certificate of the company');
      await other.page.getByRole('button', { name: 'Answer', exact: true }).press('Enter');
      await other.page.getByText('MANGOES is rejected.').waitFor();

      await page.reload();
      await page.getByText('Send us the certificate of the company').waitFor();
      await page.getByText('Read the answer of the operator.').waitFor();

      await other.page.getByLabel('Answer', { exact: true }).selectOption('Approve');
      await other.page.getByLabel('Note').fill('');
      await other.page.getByRole('button', { name: 'Answer', exact: true }).press('Enter');
      await other.page.getByText('MANGOES is approved.').waitFor();
      expect(await statusOf(id)).toBe('approved');
      for (const [index, network] of ['MTN UG', 'MTN UG'].entries()) {
        await other.page.getByRole('button', { name: 'Add a network' }).press('Enter');
        await other.page.getByLabel(`Network ${index + 1}`, { exact: true }).fill(network);
      }
      await other.page.getByRole('button', { name: 'Save the registrations' }).press('Enter');
      await other.page.getByText('is given twice').waitFor();
      await expectAccessible(other.page);
      await other.page.getByLabel('Network 2', { exact: true }).fill('Airtel UG');
      await other.page.getByLabel('Status at network 1').selectOption('Approved');
      await other.page.getByLabel('Reference of network 1').fill('M-17');
      await other.page.getByRole('button', { name: 'Save the registrations' }).press('Enter');
      await other.page.getByText('The registrations are saved.').waitFor();
      await other.page.goto(`${gateway.url}/console/senders`);
      await waiting(other.page).getByText('No sender ID waits for an answer.').waitFor();

      await page.reload();
      await page.getByText('It is not registered yet at Airtel UG.').waitFor();
      await page.getByRole('row', { name: /MTN UG Approved M-17/ }).waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Remove' }).press('Enter');
      const question = page.getByRole('dialog', { name: 'Remove MANGOES?' });
      await question.getByText('you request it again and wait for a new review').waitFor();
      await expectAccessible(page);
      await question.getByRole('button', { name: 'Cancel' }).press('Enter');
      expect(await statusOf(id)).toBe('approved');
      await page.getByRole('button', { name: 'Remove' }).press('Enter');
      await question.getByRole('button', { name: 'Remove it' }).press('Enter');
      await page.getByText('MANGOES is removed.').waitFor();
      await page.getByText('No senders yet').waitFor();
      expect(await statusOf(id)).toBeUndefined();
      await page.goto(`${gateway.url}/console/audit`);
      await page.getByText('requested sender').waitFor();
      await page.getByText('removed sender').waitFor();
      expect([...faults, ...other.faults]).toEqual([]);
    },
  );

  inBrowser('a domain shows its DNS records as they should be and as they are (R434)', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/senders/new' });
    await page.getByRole('tab', { name: 'Sender ID of SMS' }).press('ArrowRight');
    await page.getByLabel('Domain', { exact: true }).fill('mangoes');
    await page.getByLabel('Domain', { exact: true }).press('Enter');
    await page.getByText('must be a domain such as example.com').waitFor();
    await hasFocus(page, 'domain');
    await expectAccessible(page);
    await page.getByLabel('Domain', { exact: true }).fill('Mangoes.example');
    await page.getByLabel('Domain', { exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'mangoes.example', level: 1 }).waitFor();
    await page.getByText('Publish its DNS records, then check them.').waitFor();
    const id = idIn(page);
    const card = (name: string) => page.getByRole('region', { name, exact: true });
    await card('Verification').getByText('Not checked yet').waitFor();
    await card('DKIM').getByText(DKIM_RECORD).waitFor();
    await card('SPF').getByText(SPF_RECORD).waitFor();
    await expectAccessible(page);
    const copied = async (what: string) => {
      const button = (name: string) =>
        page.getByRole('button', { name: `${name} ${what} of the Verification record` });
      await button('Copy').press('Enter');
      await button('Copied').waitFor();
      return String(await page.evaluate('navigator.clipboard.readText()'));
    };
    const [name, text] = [await copied('name'), await copied('text')];
    expect(name).toBe('_gateway-verify.mangoes.example');

    const check = () => page.getByRole('button', { name: 'Check now' }).press('Enter');
    names.failing.add(name);
    await check();
    await page.getByRole('alert').waitFor();
    names.failing.clear();
    await check();
    await page.getByText('The verification record is not in the DNS yet.').waitFor();
    await card('Verification').getByText('Not found').waitFor();

    names.records.set(name, ['gateway-verify=of-somebody-else']);
    await check();
    await page.getByText('The verification record has another text.').waitFor();
    await card('Verification').getByText('gateway-verify=of-somebody-else').waitFor();
    await card('Verification').getByText('Not right').waitFor();

    names.records.set(name, [text]);
    names.records.set('mangoes.example', ['v=spf1 include:mail.example -all']);
    await check();
    await page.getByText('The domain is verified. 2 records are not right yet.').waitFor();
    await page.getByText('Correct DKIM and SPF in the DNS').waitFor();
    await card('Verification').getByText('Right', { exact: true }).waitFor();
    await card('SPF').getByText('v=spf1 include:mail.example -all').waitFor();
    await expectAccessible(page);
    expect(await statusOf(id)).toBe('approved');

    names.records.set('mangoes.example', [SPF_RECORD]);
    names.records.set('mail2026._domainkey.mangoes.example', [DKIM_RECORD]);
    await check();
    await page.getByText('The domain is verified, and all its records are right.').waitFor();
    await page.getByText('Use addresses of this domain as the sender of your emails.').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('an approved name is rejected after a question, and a list is filtered (R431)', async () => {
    const { key } = await gateway.createAccount();
    const id = await requestId('KIOSK', key);
    const domain = await request({ channel: 'email', domain: 'kiosk.example' }, key);
    const { page, faults } = await browser.open({ person: operator, path: `/senders/${domain}` });
    await page.getByText('Before that it can only be rejected.').waitFor();
    await page.getByLabel('Answer', { exact: true }).selectOption('Approve');
    await page.getByRole('button', { name: 'Answer', exact: true }).press('Enter');
    await page.getByText('the domain is not verified by its DNS record').waitFor();
    await hasFocus(page, 'status');

    await page.goto(`${gateway.url}/console/`);
    await page.getByText('A sender ID waits for review').waitFor();
    await follow(page, 'open the senders');
    await waiting(page).getByRole('link', { name: 'KIOSK' }).press('Enter');
    for (const answer of ['Approve', 'Reject']) {
      await page.getByLabel('Answer', { exact: true }).selectOption(answer);
      await page.getByRole('button', { name: 'Answer', exact: true }).press('Enter');
      if (answer === 'Approve') await page.getByText('KIOSK is approved.').waitFor();
    }
    const question = page.getByRole('dialog', { name: 'Reject KIOSK, which is approved?' });
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Cancel' }).press('Enter');
    expect(await statusOf(id, key)).toBe('approved');
    await page.getByRole('button', { name: 'Answer', exact: true }).press('Enter');
    await question.getByRole('button', { name: 'Reject it' }).press('Enter');
    await page.getByText('KIOSK is rejected.').waitFor();
    expect(await statusOf(id, key)).toBe('rejected');

    await page.goto(`${gateway.url}/console/senders`);
    const all = page.getByRole('region', { name: 'All senders' });
    await all.getByRole('link', { name: 'kiosk.example' }).waitFor();
    await all.getByLabel('Status').selectOption('Rejected');
    await all.getByRole('link', { name: 'kiosk.example' }).waitFor({ state: 'detached' });
    await all.getByRole('link', { name: 'KIOSK' }).waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser('in the sandbox a sender is approved at once, and belongs to the sandbox (R430)', async () => {
    const person = await gateway.createAccount();
    const { page, faults } = await browser.open({ person, path: '/senders?environment=SANDBOX' });
    await follow(page, 'Request the first');
    await page.getByText('In the sandbox it is approved at once.').waitFor();
    await page.getByLabel('Sender ID', { exact: true }).fill('PLAYPEN');
    await page.getByLabel('OTP', { exact: true }).press('Space');
    await page.getByLabel('What you send').fill('Codes');
    await page.getByRole('button', { name: 'Request the sender ID' }).press('Enter');
    await page.getByText('Use it as the sender of your SMS.').waitFor();
    expect(await statusOf(idIn(page), person.sandboxKey)).toBe('approved');
    await follow(page, 'Senders');
    await page.getByRole('link', { name: 'PLAYPEN' }).waitFor();
    await page.getByRole('button', { name: 'Production' }).press('Enter');
    await page.getByText('No senders yet').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('who may only read senders sees so: a viewer, and an operator who reads', async () => {
    const owner = await gateway.createAccount();
    const id = await requestId('READER', owner.key);
    const domain = await request({ channel: 'email', domain: 'reader.example' }, owner.key);
    const viewer = await inviteMember(gateway, await signIn(gateway, owner), 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/senders' });
    await page.getByText('Your role can read senders, not request them.').waitFor();
    await follow(page, 'reader.example');
    await page.getByText('Your role, Viewer, can read this sender, not change it.').waitFor();
    await page.getByRole('heading', { name: 'DNS records' }).waitFor();
    expect(await actionsOf(page)).toEqual([]);
    await expectAccessible(page);
    await page.goto(`${gateway.url}/console/senders/new`);
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();

    const reading = await addOperator('reading@platform.example', true);
    const other = await browser.open({ person: reading, path: '/senders' });
    await waiting(other.page).getByRole('link', { name: 'READER' }).press('Enter');
    await other.page.getByText('can read this sender, not review it.').waitFor();
    expect(await actionsOf(other.page)).toEqual([]);
    expect([await statusOf(id, owner.key), await statusOf(domain, owner.key)]).toEqual([
      'pending',
      'pending',
    ]);
    expect([...faults, ...other.faults]).toEqual([]);
  });
});
