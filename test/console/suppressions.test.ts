import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { africasTalkingAnswer, type SmsApi, startSmsApi } from '../support/sms-api.ts';
import { openSql } from '../support/sql.ts';

const MARY = '+256700000601';
const STOPPED = '+256700000602';

describe('opt-outs in the console', () => {
  let api: SmsApi;
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    api = await startSmsApi(({ form }) =>
      africasTalkingAnswer(form.get('to') ?? '', 101, 'Success', `ATXid_${randomUUID()}`),
    );
    gateway = await startTestGateway({
      SMS_ROUTES: `*=africastalking://acme:key@${api.host}?callbackToken=t0ken`,
    });
    account = await gateway.createAccount();
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await api?.stop();
  });

  const suppress = async (of: TestAccount, more: object, key = of.key) => {
    const body = { channel: 'sms', scope: 'all', ...more };
    expect((await gateway.call('POST', '/developers/suppressions', { key, body })).status).toBe(201);
  };
  const suppressed = async (of: TestAccount, query = '') =>
    (await gateway.call('GET', `/developers/suppressions${query}`, { key: of.key })).body.data;
  const send = (of: TestAccount, to: string) =>
    gateway.call('POST', '/developers/sms', { key: of.key, body: { to, message: 'Hello' } });
  /** Lets a person get an SMS of the account and reply STOP to it, as the carrier hands it over. */
  const stop = async (of: TestAccount, from: string) => {
    const { id } = (await send(of, from)).body;
    await eventually(
      async () =>
        (await gateway.call('GET', `/developers/messages/${id}`, { key: of.key })).body.status === 'sent',
    );
    const form = { date: '2026-11-26 10:00:00', from, to: '8088', text: 'STOP', id: randomUUID() };
    const answer = await fetch(`${gateway.url}/callbacks/sms/africastalking?token=t0ken`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, linkId: '1', networkCode: '64110' }).toString(),
    });
    expect(answer.status).toBe(200);
  };
  const row = (page: Page, name: string | RegExp) => page.getByRole('row', { name });
  const addresses = (page: Page) => page.locator('tbody td[data-label=Address]').allInnerTexts();
  const file = (csv: string) => ({ name: 'no.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });

  inBrowser('are listed with who asked, and found by channel and by a number in any spelling', async () => {
    await suppress(account, { address: MARY, scope: 'marketing', reason: 'Asked on the phone' });
    await suppress(account, { channel: 'email', address: 'Ann@example.com' });
    await stop(account, STOPPED);
    await suppress(account, { address: '+256700000603' }, account.sandboxKey);
    const { page, faults } = await browser.open({ person: account, path: '/contacts' });
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: 'Opt-outs' })
      .press('Enter');
    await row(page, MARY).waitFor();
    const cells = page.locator('tbody tr').first().getByRole('cell');
    expect((await cells.allInnerTexts()).slice(0, 5)).toEqual([
      STOPPED,
      'SMS',
      'All messages',
      'replied STOP',
      '–',
    ]);
    await row(page, `${MARY} SMS Marketing entered with an API key Asked on the phone`).waitFor();
    await expectAccessible(page);

    for (const spelling of ['0700 000 601', '+256 (700) 000-601', '700000601']) {
      await page.getByLabel('Address', { exact: true }).fill(spelling);
      await page.keyboard.press('Enter');
      await row(page, STOPPED).waitFor({ state: 'detached' });
      expect(await addresses(page)).toEqual([MARY]);
      await page.getByRole('link', { name: 'Clear' }).press('Enter');
      await row(page, STOPPED).waitFor();
    }
    await page.getByLabel('Channel', { exact: true }).selectOption('Email');
    await row(page, STOPPED).waitFor({ state: 'detached' });
    expect(await addresses(page)).toEqual(['ann@example.com']);
    await page.getByLabel('Address', { exact: true }).fill('bob@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing fits').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();

    await page.getByRole('group', { name: 'Environment' }).getByRole('button', { name: 'Sandbox' }).click();
    await row(page, '+256700000603').waitFor();
    expect(await addresses(page)).toEqual(['+256700000603']);
    await page.getByRole('button', { name: 'Add an opt-out' }).press('Enter');
    await page.getByRole('dialog').getByLabel('Address').fill('+256700000604');
    await page.keyboard.press('Enter');
    await row(page, '+256700000604').waitFor();
    expect(await suppressed(account, '?address=0700000604')).toEqual([]);
    await page.getByRole('link', { name: 'Import CSV' }).press('Enter');
    await page.getByLabel('Or paste it').fill('channel,address,scope\nsms,0700000605,all');
    await page.getByRole('button', { name: 'Import', exact: true }).press('Enter');
    await page.getByRole('link', { name: 'See the opt-outs' }).press('Enter');
    await row(page, '+256700000605').waitFor();
    expect(await suppressed(account, '?address=0700000605')).toEqual([]);
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export all as CSV' }).press('Enter');
    const text = await readFile(await (await downloading).path(), 'utf8');
    expect(text.match(/\+\d+/g)).toEqual(['+256700000605', '+256700000604', '+256700000603']);
    expect(faults).toEqual([]);
  });

  inBrowser('are added by keyboard; a fault is shown at its field, and the input stays', async () => {
    const owner = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: owner, path: '/suppressions' });
    await page.getByText('No opt-outs yet').waitFor();
    await expectAccessible(page);
    const button = page.getByRole('button', { name: 'Add an opt-out' });
    await button.press('Enter');
    await hasFocus(page, 'channel');
    await page.keyboard.press('Tab');
    await page.keyboard.type('12');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Asked on the phone');
    await page.keyboard.press('Enter');
    await page.getByText('must be a phone number in E.164').waitFor();
    await hasFocus(page, 'address');
    await expectAccessible(page);
    const dialog = page.getByRole('dialog', { name: 'Add an opt-out' });
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Asked on the phone');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('0700 000 610');
    await page.keyboard.press('Enter');
    await page.getByText('+256700000610 is opted out.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    await row(page, /SMS Marketing entered by a person of this account Asked on the phone/).waitFor();
    expect(await suppressed(owner)).toMatchObject([
      { address: '+256700000610', channel: 'sms', scope: 'marketing', source: 'person' },
    ]);
    // The dialog returned the focus to its button.
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Scope').selectOption('All messages');
    await dialog.getByLabel('Address').fill('+256700000610');
    await page.keyboard.press('Enter');
    await row(page, /\+256700000610 SMS All messages .* –/).waitFor();
    expect(await suppressed(owner)).toMatchObject([{ scope: 'all', reason: null }]);
    expect(faults).toEqual([]);
  });

  inBrowser('are removed after a question that says what it means, and warns after a STOP', async () => {
    const owner = await gateway.createAccount();
    await suppress(owner, { address: MARY, scope: 'marketing' });
    await stop(owner, STOPPED);
    expect((await send(owner, STOPPED)).status).toBe(400);
    const { page, faults } = await browser.open({ person: owner, path: '/suppressions' });
    await page.getByRole('button', { name: `Remove the opt-out of ${MARY}, SMS` }).press('Enter');
    const mary = page.getByRole('dialog', { name: `Remove the opt-out of ${MARY}?` });
    await mary.getByText('this address gets marketing of this account by SMS again').waitFor();
    expect(await mary.getByText('STOP').count()).toBe(0);
    await page.keyboard.press('Escape');
    await mary.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: `Remove the opt-out of ${STOPPED}, SMS` }).press('Enter');
    const stopped = page.getByRole('dialog', { name: `Remove the opt-out of ${STOPPED}?` });
    await stopped
      .getByText('This person replied STOP. Only they should take it back: they reply START.')
      .waitFor();
    await stopped.getByText('this address gets all messages of this account by SMS again').waitFor();
    await expectAccessible(page);
    expect(await suppressed(owner)).toHaveLength(2);
    await stopped.getByRole('button', { name: 'Remove' }).press('Enter');
    await page.getByText(`The opt-out of ${STOPPED} is removed.`).waitFor();
    await row(page, STOPPED).waitFor({ state: 'detached' });
    expect(await suppressed(owner)).toMatchObject([{ address: MARY }]);
    expect((await send(owner, STOPPED)).status).toBe(200);
    await page.goto(`${gateway.url}/console/audit`);
    await page
      .getByText(/removed opt-out .* on SMS/)
      .first()
      .waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser(
    'are imported: all faults are shown with their lines, and then nothing was imported',
    async () => {
      const owner = await gateway.createAccount();
      const { page, faults } = await browser.open({ person: owner, path: '/suppressions' });
      await page.getByRole('link', { name: 'Import CSV' }).press('Enter');
      const importing = page.getByRole('button', { name: 'Import', exact: true });
      await importing.press('Enter');
      await page.getByText('Choose a file or paste its rows first.').waitFor();
      await expectAccessible(page);
      await page
        .getByLabel('Or paste it')
        .fill('channel,address,scope\nsms,0700000621,all\npush,x,all\nsms,12,some');
      await importing.press('Enter');
      const table = page.getByRole('table', { name: 'What is wrong with the file' });
      await table.waitFor();
      const texts = await table.locator('tbody tr').allInnerTexts();
      expect(texts.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
        '3 channel must be sms, email, whatsapp',
        '4 scope must be marketing or all',
        '4 address must be a phone number in E.164',
      ]);
      await page.getByText('Nothing was imported.').waitFor();
      expect(await suppressed(owner)).toEqual([]);
      await expectAccessible(page);
      await page.getByLabel('Or paste it').fill(`channel,address,scope\n${'sms,x,all\n'.repeat(30)}`);
      await importing.press('Enter');
      await row(page, '– and 11 more faults in later lines').waitFor();

      await page
        .getByLabel('CSV file')
        .setInputFiles(
          file('Channel;Address;Scope;Reason\nsms;0700 000 621;all;Call\nemail;Ann@example.com;marketing;'),
        );
      await page.getByText('no.csv').waitFor();
      await table.waitFor({ state: 'detached' });
      await importing.press('Enter');
      await page
        .getByText(
          '2 rows read: 2 addresses opted out now, or more widely than before; 0 addresses unchanged.',
        )
        .waitFor();
      await expectAccessible(page);
      await importing.press('Enter');
      await page.getByText('2 addresses unchanged.').waitFor();
      await page.getByRole('link', { name: 'See the opt-outs' }).press('Enter');
      await row(page, '+256700000621 SMS All messages from a file Call').waitFor();
      await row(page, 'ann@example.com Email Marketing from a file –').waitFor();
      expect(faults).toEqual([]);
    },
  );

  inBrowser('are imported from a file with the most rows, and not from one that is too large', async () => {
    const owner = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: owner, path: '/suppressions/import' });
    const input = page.getByLabel('CSV file');
    await input.setInputFiles(file('x'.repeat(901 * 1024)));
    await page.getByText('no.csv has 901 kB; 900 kB is the most.').waitFor();
    await expectAccessible(page);
    const rows = Array.from(
      { length: 10_000 },
      (_, index) => `"sms","+25670${1_000_000 + index}","all","${'x'.repeat(60)}"\r\n`,
    );
    const largest = `"channel","address","scope","reason"\r\n${rows.join('')}`;
    expect(largest.length).toBeGreaterThan(895 * 1024);
    await input.setInputFiles(file(largest));
    await page.getByRole('button', { name: 'Choose another file' }).waitFor();
    expect(await page.getByText('is the most').count()).toBe(0);
    await page.getByRole('button', { name: 'Import', exact: true }).press('Enter');
    await page.getByText('10,000 rows read: 10,000 addresses opted out now').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('are exported after a confirmation, as a file that can be imported (R253, R384)', async () => {
    const owner = await gateway.createAccount();
    await suppress(owner, { address: MARY, reason: 'Said "no"' });
    await suppress(owner, { channel: 'email', address: 'ann@example.com', scope: 'marketing' });
    const { page, faults } = await browser.open({ person: owner, path: '/suppressions?channel=EMAIL' });
    await row(page, 'ann@example.com').waitFor();
    await using sql = await openSql(gateway.database);
    await sql.query(
      `UPDATE sessions SET verified_at = now() - interval '11 minutes'
       WHERE user_id = (SELECT id FROM users WHERE email = $1)`,
      [owner.email],
    );
    await sql.query(`SELECT pg_notify('gateway_changes', 'session *')`);
    const button = page.getByRole('button', { name: 'Export all as CSV' });
    await button.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByLabel('Password').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Nothing was downloaded.').waitFor();
    await expectAccessible(page);
    const downloading = page.waitForEvent('download');
    await button.press('Enter');
    await dialog.getByLabel('Password').fill(owner.password);
    await page.keyboard.press('Enter');
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^opt-outs-\d{4}-\d\d-\d\d\.csv$/);
    const text = await readFile(await download.path(), 'utf8');
    const [header, ...lines] = text.trimEnd().split('\r\n');
    expect(header).toBe('\uFEFFchannel,address,scope,reason,source,at');
    expect(lines).toEqual([
      expect.stringMatching(/^email,ann@example\.com,marketing,,api,/),
      expect.stringMatching(/^sms,\+256700000601,all,"Said ""no""",api,/),
    ]);
    const target = await gateway.createAccount();
    const body = { csv: text };
    const imported = await gateway.call('POST', '/developers/suppressions/import', { key: target.key, body });
    expect(imported.body).toEqual({ rows: 2, changed: 2, unchanged: 0 });
    expect(faults).toEqual([]);
  });

  inBrowser('are only read by a viewer, which the page says', async () => {
    await suppress(account, { address: MARY, scope: 'marketing' });
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/suppressions' });
    await page.getByText('Your role can read opt-outs, not change them.').waitFor();
    await row(page, MARY).waitFor();
    expect(await page.getByRole('button', { name: /Remove|Add/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Import CSV' }).count()).toBe(0);
    await page.goto(`${gateway.url}/console/suppressions/import`);
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('are linked from a message that left recipients out (R378)', async () => {
    const owner = await gateway.createAccount();
    await suppress(owner, { address: MARY });
    const { id } = (await send(owner, `${MARY},+256700000630`)).body;
    const { page, faults } = await browser.open({ person: owner, path: `/messages/${id}` });
    await page.getByRole('link', { name: '1 recipient who opted out' }).press('Enter');
    await row(page, MARY).waitFor();
    expect(await page.getByLabel('Channel', { exact: true }).inputValue()).toBe('SMS');
    expect(faults).toEqual([]);
  });

  inBrowser(
    'lead to the data of a person, who is exported and erased after typing the address (R490, R493)',
    async () => {
      const owner = await gateway.createAccount();
      await suppress(owner, { address: MARY, reason: 'Asked' });
      const { page, faults } = await browser.open({ person: owner, path: '/suppressions' });
      await page.getByRole('link', { name: 'Data of a person' }).press('Enter');
      await page.getByText('Nobody was erased yet').waitFor();
      await expectAccessible(page);
      for (const name of ['Erase this person', 'Export what is stored']) {
        await page.getByRole('button', { name }).press('Enter');
        await page.getByText('Give a phone number, an email address or the id of a user.').waitFor();
        await hasFocus(page, 'address');
        expect(await page.getByRole('dialog').count()).toBe(0);
      }
      await page.getByLabel('Address').fill(MARY);
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export what is stored' }).press('Enter');
      const [part] = JSON.parse(await readFile(await (await downloading).path(), 'utf8'));
      expect(part).toMatchObject({ address: MARY, suppressions: [{ address: MARY, reason: 'Asked' }] });
      await page.getByRole('button', { name: 'Erase this person' }).press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('Asked by letter');
      await dialog.getByLabel(`Type ${MARY} to confirm`).fill('+25670000060');
      await dialog.getByRole('button', { name: 'Erase', exact: true }).press('Enter');
      await dialog.getByText(`Type ${MARY} exactly as it is here.`).waitFor();
      await expectAccessible(page);
      await dialog.getByLabel(`Type ${MARY} to confirm`).fill(MARY);
      await dialog.getByRole('button', { name: 'Erase', exact: true }).press('Enter');
      await row(page, /Asked by letter/).waitFor();
      await eventually(async () =>
        (await suppressed(owner)).every(({ address }: { address: string }) => address.startsWith('erased:')),
      );
      expect(faults).toEqual([]);
    },
  );
});
