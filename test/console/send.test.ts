import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  asks,
  type ConsoleBrowser,
  expectAccessible,
  hasFocus,
  inBrowser,
  startConsoleBrowser,
  typeHalfATime,
} from '../support/browser.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';

const PATH = '/messages/send';

describe('sending from the console', () => {
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

  const smsForm = (page: Page) => page.getByRole('form', { name: 'Send an SMS' });
  const history = async (key: string, channel = 'sms') =>
    (await gateway.call('GET', `/developers/${channel}/history`, { key })).body.data;

  inBrowser(
    'segments are counted with every key press; characters that force UCS-2 are shown and replaced',
    async () => {
      const { page, faults } = await browser.open({ person: await gateway.createAccount(), path: PATH });
      const estimates: string[] = [];
      page.on('request', (request) => {
        if (request.postData()?.includes('EstimateSms')) estimates.push(request.url());
      });
      const form = smsForm(page);
      await form.getByLabel('To', { exact: true }).fill('0700123456');
      await form.getByLabel('Message').focus();
      const typed = 'Dear Ann, your parcel is here and waits for you';
      await page.keyboard.type(typed);
      await form.getByText(`${typed.length} of 1,000 characters`).waitFor();
      await form.getByText('GSM-7', { exact: true }).waitFor();
      expect(estimates.length).toBeLessThan(typed.length / 2);

      await form.getByLabel('Message').fill('x'.repeat(161));
      await form.getByText('2 segments').waitFor();
      await form.getByText('2 billing units', { exact: true }).waitFor();

      await form.getByLabel('Message').fill(`“Ann” – come… ${'x'.repeat(60)} 漢`);
      await form.getByText('UCS-2', { exact: true }).waitFor();
      await form.getByText('2 segments').waitFor();
      const offenders = form.getByRole('region', { name: 'Characters that GSM-7 lacks' });
      expect(await offenders.locator('.sms-preview mark').allInnerTexts()).toEqual([
        '“',
        '”',
        '–',
        '…',
        '漢',
      ]);
      await offenders.getByText('has no obvious twin').waitFor();
      await expectAccessible(page);
      await offenders.getByRole('button', { name: 'Replace “ with "' }).click();
      expect(await form.getByLabel('Message').inputValue()).toMatch(/^"Ann”/);
      await offenders.getByRole('button', { name: 'Replace all 3 kinds' }).click();
      expect(await form.getByLabel('Message').inputValue()).toBe(`"Ann" - come... ${'x'.repeat(60)} 漢`);
      await form.getByLabel('Message').fill('Plain again');
      await offenders.waitFor({ state: 'detached' });
      expect(faults).toEqual([]);
    },
  );

  inBrowser(
    'the price is shown before sending; by keyboard the message is sent once and seen delivered',
    async () => {
      const account = await gateway.createAccount();
      const { page, faults } = await browser.open({ person: account, path: PATH });
      const form = smsForm(page);
      const price = form.getByRole('region', { name: 'Price' });
      await form.getByLabel('To', { exact: true }).focus();
      await page.keyboard.type('0700123456');
      await page.keyboard.press('Enter');
      await page.keyboard.type('+256700123456; 0771 234 567, nobody');
      await form.getByText('2 numbers understood, 1 duplicate removed').waitFor();
      await form.getByText('1 invalid number will be skipped: nobody').waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.type('not a sender');
      await page.keyboard.press('Tab');
      await page.keyboard.type('Hello from the console');
      await price.getByText('UGX 60').waitFor();
      await price.getByText('for 2 recipients × 1 billing unit').waitFor();
      await price.getByText('UGX 99,940').waitFor();

      await form.getByRole('button', { name: 'Send', exact: true }).focus();
      await page.keyboard.press('Enter');
      const confirm = page.getByRole('dialog').getByRole('button', { name: 'Send to 2 recipients' });
      await confirm.focus();
      await page.keyboard.press('Enter');
      await form.getByText('The sender ID must be 1 to 11').waitFor();
      await hasFocus(page, 'from');
      expect(await form.getByLabel('Message').inputValue()).toBe('Hello from the console');
      await form.getByLabel('Sender').fill('ACME');
      await form.getByRole('button', { name: 'Send', exact: true }).dblclick();
      await confirm.dblclick();
      await page.getByRole('heading', { name: 'SMS to +256700123456 and 1 more' }).waitFor();
      await page.getByText('2 delivered').waitFor();
      await page.getByRole('banner').getByText('UGX 99,940').waitFor();
      expect(await history(account.key)).toHaveLength(1);
      expect(faults).toEqual([]);
    },
  );

  inBrowser('many recipients are asked about once, with the cost and what it leaves', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: PATH });
    const form = smsForm(page);
    await form.getByLabel('To', { exact: true }).fill('0700123456, 0771234567, 0700123456');
    await form.getByLabel('Message').fill('To both');
    const question = page.getByRole('dialog', { name: 'Send to 2 recipients?' });
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await question.getByText('2 recipients, UGX 60, leaves UGX 99,940.').waitFor();
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'detached' });
    expect(await history(account.key)).toHaveLength(0);
    expect(await form.getByLabel('Message').inputValue()).toBe('To both');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await question.getByRole('button', { name: 'Send to 2 recipients' }).click();
    await page.getByText('2 delivered').waitFor();
    expect(await history(account.key)).toHaveLength(1);

    await page.goto(`${gateway.url}/console/messages/send?channel=email`);
    const email = page.getByRole('form', { name: 'Send an email' });
    await email.getByLabel('To', { exact: true }).fill('ann@example.com, ben@example.com');
    await email.getByLabel('Subject').fill('Hello');
    await email.getByLabel('Text', { exact: true }).fill('To both');
    await email.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('dialog', { name: 'Send to 2 recipients?' }).getByText('leaves UGX').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser(
    'too low a balance is reported before sending, and refused without losing the input',
    async () => {
      const account = await gateway.createAccount(50);
      const { page, faults } = await browser.open({ person: account, path: PATH });
      const form = smsForm(page);
      await form.getByLabel('To', { exact: true }).fill('0700123456, 0771234567');
      await form.getByLabel('Message').fill('Too dear');
      await form.getByText('The balance does not cover it: UGX 10 are missing.').waitFor();
      await expectAccessible(page);
      await form.getByRole('button', { name: 'Send', exact: true }).click();
      await form.getByRole('alert').getByText('does not cover the 60 UGX').waitFor();
      expect(await form.getByLabel('To', { exact: true }).inputValue()).toBe('0700123456, 0771234567');
      expect(await form.getByLabel('Message').inputValue()).toBe('Too dear');
      expect(await history(account.key)).toHaveLength(0);
      await form.getByLabel('Environment').selectOption('SANDBOX');
      await form.getByText('Nothing is sent or charged in the sandbox.').waitFor();
      await form.getByRole('button', { name: 'Send in the sandbox' }).click();
      await page.getByText('Nothing is charged in the sandbox.').waitFor();
      expect(faults).toEqual([]);
    },
  );

  /** From now on, the gateway accepts the page's first SMS, but the response does not reach the page. */
  async function loseFirstAnswer(page: Page): Promise<void> {
    let isLost = false;
    await page.route('**/graphql', async (route) => {
      if (isLost || !asks(route.request(), 'SendSms')) return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
  }

  inBrowser('sending the same form again after a lost answer sends nothing more', async () => {
    const account = await gateway.createAccount();
    const { page } = await browser.open({ person: account, path: PATH });
    await loseFirstAnswer(page);
    const form = smsForm(page);
    await form.getByLabel('To', { exact: true }).fill('0700123456');
    await form.getByLabel('Message').fill('Only once');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByRole('alert').getByText('cannot be reached').waitFor();
    await form.getByText('The message may have gone out all the same.').waitFor();
    expect(await history(account.key)).toHaveLength(1);
    expect(await form.getByLabel('Message').inputValue()).toBe('Only once');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('1 delivered').waitFor();
    expect(await history(account.key)).toHaveLength(1);
  });

  inBrowser('a form that was changed after a lost answer is sent as another message', async () => {
    const account = await gateway.createAccount();
    const { page } = await browser.open({ person: account, path: PATH });
    await loseFirstAnswer(page);
    const form = smsForm(page);
    await form.getByLabel('To', { exact: true }).fill('0700123456');
    await form.getByLabel('Message').fill('The first');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByText('The message may have gone out all the same.').waitFor();
    await form.getByLabel('To', { exact: true }).fill('0771234567');
    await form.getByLabel('Message').fill('Another');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'SMS to +256771234567' }).waitFor();
    const sent = (await history(account.key)).map(({ content }: { content: string }) => content);
    expect(sent).toEqual(['Another', 'The first']);
  });

  inBrowser('a used idempotency key sends nothing, and the page shows what it sent', async () => {
    const account = await gateway.createAccount();
    const earlier = await gateway.call('POST', '/developers/sms', {
      key: account.key,
      body: { to: '+256700123456', message: 'Long ago' },
      headers: { 'Idempotency-Key': 'order-7' },
    });
    expect(earlier.status).toBe(200);
    const { page, faults } = await browser.open({ person: account, path: PATH });
    const form = smsForm(page);
    await form.getByLabel('To', { exact: true }).fill('0771234567');
    await form.getByLabel('Message').fill('Of today');
    await form.getByText('Idempotency key', { exact: true }).click();
    await form.getByLabel('Key of this send').fill('order-7');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByRole('alert').getByText('this idempotency key was used before').waitFor();
    await expectAccessible(page);
    expect(await form.getByLabel('Message').inputValue()).toBe('Of today');
    expect(await history(account.key)).toHaveLength(1);
    const link = form.getByRole('link', { name: 'This is the message that it sent.' });
    expect(await link.getAttribute('href')).toBe(`/console/messages/${earlier.body.id}`);
    await form.getByLabel('Key of this send').fill('order-8');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'SMS to +256771234567' }).waitFor();
    expect(await history(account.key)).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  inBrowser('half a date is reported, and nothing is sent', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: PATH });
    const form = smsForm(page);
    await form.getByLabel('To', { exact: true }).fill('0700123456');
    await form.getByLabel('Message').fill('Not before then');
    await typeHalfATime(form.getByLabel('Send at'));
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByText('is not complete: give the date and the time').waitFor();
    await hasFocus(page, 'scheduledFor');
    await expectAccessible(page);
    expect(await history(account.key)).toHaveLength(0);
    await form.getByLabel('Send at').fill(new Date(Date.now() + 86_400_000).toISOString().slice(0, 16));
    await form.getByText('is not complete').waitFor({ state: 'detached' });
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('1 pending').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a scheduled SMS is shown with its time', async () => {
    const { page, faults } = await browser.open({ person: await gateway.createAccount(), path: PATH });
    const form = smsForm(page);
    await form.getByLabel('To', { exact: true }).fill('0700123456');
    await form.getByLabel('Message').fill('Later');
    await form.getByLabel('Send at').fill('2020-01-01T10:00');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await form.getByText('is in the past').waitFor();
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
    await form.getByLabel('Send at').fill(tomorrow);
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Scheduled for').waitFor();
    await page.getByText('1 pending').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('an email with a file is sent from its tab; errors are shown at their fields', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: PATH });
    await smsForm(page).getByLabel('Message').fill('kept');
    await page.getByRole('tab', { name: 'SMS' }).focus();
    await page.keyboard.press('ArrowRight');
    const form = page.getByRole('form', { name: 'Send an email' });
    await form.getByLabel('To', { exact: true }).fill('ann@example.com\nnobody');
    await form.getByText('1 address understood').waitFor();
    await form.getByText('1 invalid address will be skipped: nobody').waitFor();
    await form.getByLabel('Environment').selectOption('SANDBOX');
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await form.getByText('must not be empty').waitFor();
    await hasFocus(page, 'subject');

    await form.getByLabel('Subject').fill('Your bill');
    await form.getByLabel('Text', { exact: true }).fill('It is attached.');
    const large = { name: 'large.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(8 * 1024 * 1024) };
    await form.getByLabel('Attachments').setInputFiles(large);
    await form.getByText('1 file, 8.0 MiB: 1.0 MiB too much').waitFor();
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await form.getByText('must have at most 7 MiB together').waitFor();
    const small = { name: 'bill.pdf', mimeType: 'application/pdf', buffer: Buffer.from('A bill') };
    await form.getByLabel('Attachments').setInputFiles(small);
    await page.getByRole('tab', { name: 'SMS' }).click();
    expect(await smsForm(page).getByLabel('Message').inputValue()).toBe('kept');
    await page.getByRole('tab', { name: 'Email' }).click();
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await page.getByRole('heading', { name: 'Email to ann@example.com' }).waitFor();
    await page.getByText('Your bill').waitFor();
    await page.getByRole('link', { name: 'Resend' }).click();
    await page.getByText('its HTML and its files must be added again').waitFor();
    expect(await form.getByLabel('Subject').inputValue()).toBe('Your bill');
    expect(await form.getByLabel('Environment').inputValue()).toBe('SANDBOX');
    expect(faults).toEqual([]);
  });

  inBrowser('WhatsApp says why free text is refused and offers a template', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: `${PATH}?channel=whatsapp` });
    const form = page.getByRole('form', { name: 'Send a WhatsApp message' });
    await form.getByLabel('To', { exact: true }).fill('0700123456');
    await form.getByText('Understood as +256700123456.').waitFor();
    await form.getByLabel('Text', { exact: true }).fill('Hello');
    await form.getByLabel('Environment').selectOption('SANDBOX');
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await form.getByText('WhatsApp lets a business write freely for 24 hours').waitFor();
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Send a template instead' }).click();
    await form.getByLabel('Name of the template').fill('Not A Name');
    await form.getByLabel('Type').selectOption('TEXT');
    expect(await form.getByLabel('Text', { exact: true }).inputValue()).toBe('Hello');
    expect(await form.getByLabel('Name of the template').isVisible()).toBe(false);
    await form.getByLabel('Type').selectOption('TEMPLATE');
    expect(await form.getByLabel('Name of the template').inputValue()).toBe('Not A Name');
    await form.getByLabel('Language').fill('en');
    await form.getByLabel('What fills it').fill('nonsense');
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await form.getByText('must be JSON such as').waitFor();
    await form.getByLabel('What fills it').fill('');
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await form.getByText('must be 1 to 512 of a-z').waitFor();
    await hasFocus(page, 'templateName');
    await form.getByLabel('Name of the template').fill('order_ready');
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await page.getByRole('heading', { name: 'WhatsApp to +256700123456' }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a push notification goes to the devices of a user', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: `${PATH}?channel=push` });
    const form = page.getByRole('form', { name: 'Send a push notification' });
    await form.getByLabel('To', { exact: true }).fill('ann');
    await form.getByLabel('Title').fill('Hello');
    await form.getByLabel('Text', { exact: true }).fill('It is ready.');
    await form.getByLabel('Environment').selectOption('SANDBOX');
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await form.getByText('No sandbox device is registered').waitFor();
    await expectAccessible(page);
    const device = { platform: 'android', token: 'a-token', userId: 'ann' };
    const registered = await gateway.call('POST', '/developers/push/devices', {
      key: account.sandboxKey,
      body: device,
    });
    expect(registered.status).toBe(201);
    await form.getByText('Data, picture, link and delivery').click();
    await form.getByLabel('Data for the app').fill('{"order": "42"}');
    await form.getByRole('button', { name: 'Send in the sandbox' }).click();
    await page.getByRole('heading', { name: 'Push to ann' }).waitFor();
    await page.getByText('{"order":"42"}').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a push notification to several devices says what it costs and asks once', async () => {
    const account = await gateway.createAccount();
    for (const token of ['a-phone', 'a-tablet']) {
      const body = { platform: 'android', token, userId: 'ann' };
      expect(
        await gateway.call('POST', '/developers/push/devices', { key: account.key, body }),
      ).toMatchObject({ status: 201 });
    }
    const { page, faults } = await browser.open({ person: account, path: `${PATH}?channel=push` });
    const form = page.getByRole('form', { name: 'Send a push notification' });
    await form.getByLabel('To', { exact: true }).fill('ann');
    await form.getByLabel('Title').fill('Hello');
    await form.getByLabel('Text', { exact: true }).fill('It is ready.');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Send to 2 recipients?' });
    await question.getByText('2 recipients, UGX 0, leaves UGX 100,000.').waitFor();
    const { body } = await gateway.call('GET', '/developers/push/history', { key: account.key });
    expect(body.data).toEqual([]);
    await question.getByRole('button', { name: 'Send to 2 recipients' }).click();
    await page.getByRole('heading', { name: 'Push to ann' }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('a viewer cannot send', async () => {
    const owner = await signIn(gateway, await gateway.createAccount());
    const viewer = await inviteMember(gateway, owner, 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: PATH });
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    expect(await page.getByRole('form').count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
