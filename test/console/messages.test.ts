import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import {
  asks,
  type ConsoleBrowser,
  expectAccessible,
  holdAnswers,
  inBrowser,
  startConsoleBrowser,
  typeHalfATime,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const LATER_MS = 86_400_000;

describe('messages in the console', () => {
  let smsc: Smsc;
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    // This carrier accepts every message and sends no reports. A message stays `sent` until the test sends a report.
    smsc = await startSmsc();
    // Quiet around now for numbers of Kenya, which only one test uses.
    const clock = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);
    const QUIET_HOURS = `254=${clock(-7_200_000)}-${clock(7_200_000)} UTC`;
    gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}`, QUIET_HOURS });
    receiver = await startWebhookReceiver();
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await receiver?.stop();
    await smsc?.stop();
  });

  async function sendSms(key: string, body: object): Promise<string> {
    const sent = await gateway.call('POST', '/developers/sms', { key, body });
    expect(sent.status).toBe(200);
    return sent.body.id;
  }
  /** Makes the carrier report the message with this text as delivered. */
  async function deliver(text: string): Promise<void> {
    const submit = await eventually(() => {
      const index = smsc.messages().findIndex((each) => each.text === text);
      return index >= 0 && smsc.received[index];
    });
    smsc.report(submit.sid, submit.destination.address, submit.source.address, { form: 'text' });
  }

  inBrowser('an empty list says what to do; filters and pages are kept in the address', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('heading', { name: 'No messages yet' }).waitFor();
    await page.getByRole('link', { name: 'Send the first' }).waitFor();
    await expectAccessible(page);

    for (let number = 0; number < 22; number += 1) {
      await sendSms(account.sandboxKey, { to: '+256700123456', message: `Sandboxed ${number}` });
    }
    await sendSms(account.key, { to: '+256700999999', message: 'For real' });
    await page.reload();
    await page.getByText('23 in all').waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('table').getByRole('link').count()).toBe(20);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Sandboxed 0', { exact: true }).waitFor();
    expect(await page.getByRole('table').getByRole('link').count()).toBe(3);
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('For real').waitFor();

    await page.getByLabel('Environment').selectOption('Production');
    await page.getByText('1 in all').waitFor();
    expect(page.url()).toContain('environment=PRODUCTION');
    expect(await page.getByText('Sandboxed').count()).toBe(0);
    await page.reload();
    await page.getByText('1 in all').waitFor();
    await page.goBack();
    await page.getByText('23 in all').waitFor();
    await page.getByLabel('Rows', { exact: true }).selectOption('50');
    await page.getByText('Sandboxed 0', { exact: true }).waitFor();

    await page.getByLabel('Search', { exact: true }).focus();
    await page.keyboard.type('nothing holds this');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No message matches' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByText('23 in all').waitFor();
    expect(await page.getByLabel('Search', { exact: true }).inputValue()).toBe('');
    expect(faults).toEqual([]);
  });

  inBrowser('channel names and times stay on one line beside a long text', async () => {
    const account = await gateway.createAccount();
    const text = 'Dear customer, our shop on Kampala Road opens at 10:00 this Saturday. '.repeat(2);
    await sendSms(account.sandboxKey, { to: '+256700123456,+256700123457', message: text });
    const body = { to: '+256700123456', type: 'template', template: { name: 'x', language: 'en' } };
    await gateway.call('POST', '/developers/whatsapp', { key: account.sandboxKey, body });
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    const heightOf = async (name: string) =>
      (await page.getByRole('cell', { name, exact: true }).first().locator('div').boundingBox())?.height;
    await page.getByText('2 in all').waitFor();
    const line = await heightOf('SMS');
    expect(await heightOf('WhatsApp')).toBe(line);
    expect(await heightOf('just now')).toBe(line);
    expect(faults).toEqual([]);
  });

  inBrowser('an invalid time is removed from the address and reported at the field', async () => {
    const account = await gateway.createAccount();
    await sendSms(account.sandboxKey, { to: '+256700123456', message: 'Of any time' });
    const { page, faults } = await browser.open({ person: account, path: '/messages?from=bogus' });
    await page.getByText('1 in all').waitFor();
    await page.goto(`${gateway.url}/console/ledger?from=bogus&to=+275760-09-13T00:00:00.000Z`);
    await page.getByRole('row', { name: /Opening/ }).waitFor();
    for (const path of ['/messages', '/ledger']) {
      await page.goto(`${gateway.url}/console${path}`);
      if (path === '/messages') await page.getByLabel('Period').selectOption('custom');
      await typeHalfATime(page.getByLabel('From'));
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByText('is not complete: give the date and the time').waitFor();
      expect(page.url()).not.toContain('from=');
      await page.getByLabel('From').fill('2020-01-01T10:00');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.waitForURL('**from=2020-01-01T*');
      expect(await page.getByText('is not complete').count()).toBe(0);
    }
    expect(faults).toEqual([]);
  });

  inBrowser('a crash of one page does not stay when another address is opened', async () => {
    const account = await gateway.createAccount();
    const { page } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('heading', { name: 'No messages yet' }).waitFor();
    await page.route('**/graphql', async (route) => {
      if (String(route.request().postDataJSON().variables.Messages_filter?.channel) !== 'SMS')
        return route.continue();
      await route.fulfill({ json: { data: { Messages_messages: null } } });
    });
    await page.getByLabel('Channel').selectOption('SMS');
    await page.getByText('This could not be loaded').waitFor();
    await page.getByRole('link', { name: 'Messages', exact: true }).click();
    await page.getByRole('heading', { name: 'No messages yet' }).waitFor();
  });

  inBrowser('a count matches the rows below it, whichever arrives late', async () => {
    const account = await gateway.createAccount();
    await sendSms(account.sandboxKey, { to: '+256700123456', message: 'Sandboxed' });
    await sendSms(account.sandboxKey, { to: '+256700123456', message: 'Sandboxed, too' });
    await sendSms(account.key, { to: '+256700999999', message: 'For real' });
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByText('3 in all').waitFor();

    const rows = await holdAnswers(page, 'Messages');
    const counted = page.waitForResponse((answer) => asks(answer.request(), 'MessagesCount'));
    await page.getByLabel('Environment').selectOption('Production');
    await counted;
    await rows.held;
    await page.getByText(/^the newest first$/).waitFor();
    // After two animation frames, a wrong count would be on the page.
    await page.evaluate('new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))');
    expect(await page.getByText('in all').count()).toBe(0);
    rows.release();
    await page.getByText('1 in all').waitFor();
    expect(await page.getByText('Sandboxed').count()).toBe(0);

    const count = await holdAnswers(page, 'MessagesCount');
    await page.getByLabel('Environment').selectOption('Sandbox');
    await count.held;
    await page.getByText('Sandboxed, too').waitFor();
    expect(await page.getByText('in all').count()).toBe(0);
    count.release();
    await page.getByText('2 in all').waitFor();

    await page.getByLabel('Search', { exact: true }).fill('nothing holds this');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'No message matches' }).waitFor();
    const found = await holdAnswers(page, 'Messages');
    await page.getByLabel('Search', { exact: true }).fill('too');
    await page.keyboard.press('Enter');
    await found.held;
    await page.getByRole('status').getByText('Loading').waitFor();
    expect(await page.getByRole('heading', { name: 'No message matches' }).count()).toBe(0);
    found.release();
    await page.getByText('1 in all').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('messages on the page change in place; new ones are counted and shown on request', async () => {
    const account = await gateway.createAccount();
    await sendSms(account.key, { to: '+256700123456', message: 'On the page' });
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    const row = page.getByRole('row', { name: /On the page/ });
    await row.getByText('Sent', { exact: true }).waitFor();
    await deliver('On the page');
    await row.getByText('Delivered').waitFor();

    await sendSms(account.key, { to: '+256700123456', message: 'Come in between' });
    const news = page.getByRole('button', { name: '1 new message: show' });
    await news.waitFor();
    expect(await page.getByText('Come in between').count()).toBe(0);
    await news.click();
    await page.getByText('Come in between').waitFor();
    await news.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  inBrowser(
    'one message turns from pending to delivered on the page, and its webhook delivery appears',
    async () => {
      const account = await gateway.createAccount();
      const hook = { url: receiver.url, events: ['sms.sent'] };
      const registered = await gateway.call('POST', '/developers/webhooks', { key: account.key, body: hook });
      expect(registered.status).toBe(201);
      const { page, faults } = await browser.open({ person: account, path: '/messages' });
      await page.getByRole('heading', { name: 'No messages yet' }).waitFor();
      // The carrier delays its responses for both recipients until the test has checked the page.
      smsc.behave({ answersReversedBy: 3 });
      const id = await sendSms(account.key, { to: '+256700123456,0771234567', message: 'Watch me go' });
      await page.goto(`${gateway.url}/console/messages/${id}`);
      const heading = page.getByRole('heading', { name: 'SMS to +256700123456 and 1 more' });
      await heading.waitFor();
      const status = page.getByRole('main').locator('.badge').first();
      expect(await status.innerText()).toBe('Pending');
      await page.getByText('2 recipients × 1 billing unit × UGX 30').waitFor();

      await eventually(() => smsc.messages().filter(({ text }) => text === 'Watch me go').length === 2);
      smsc.behave({ answersReversedBy: 1 });
      await page.getByText('2 sent').waitFor();
      expect(await status.innerText()).toBe('Sent');
      const deliveries = page.getByRole('region', { name: 'Webhook deliveries' });
      await deliveries.getByText('2 deliveries').waitFor();
      await deliveries.getByText('Success').first().waitFor();
      expect(await deliveries.getByRole('link').first().innerText()).toBe(receiver.url);
      await deliveries.getByText('1 attempt').first().click();
      await deliveries.getByText('HTTP 200').first().waitFor();
      await expectAccessible(page);

      for (const submit of smsc.received.slice(-2)) {
        smsc.report(submit.sid, submit.destination.address, submit.source.address, { form: 'text' });
      }
      await page.getByText('2 delivered').waitFor();
      expect(await status.innerText()).toBe('Delivered');
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await timeline.getByText('Delivered').nth(1).waitFor();

      await page.getByRole('button', { name: 'Show the payload of sms.sent' }).first().click();
      const dialog = page.getByRole('dialog', { name: 'sms.sent' });
      expect(await dialog.locator('code').innerText()).toContain(`"messageId": "${id}"`);
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(faults).toEqual([]);
    },
  );

  inBrowser('a scheduled message is canceled by keyboard after a confirmation, and refunded', async () => {
    const account = await gateway.createAccount();
    const scheduledFor = new Date(Date.now() + LATER_MS).toISOString();
    const id = await sendSms(account.key, { to: '+256700123456', message: 'Never mind', scheduledFor });
    const { page, faults } = await browser.open({ person: account, path: `/messages/${id}` });
    await page.getByRole('button', { name: 'Cancel', exact: true }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Cancel this message?' });
    await dialog.getByText('UGX 30 go back to the balance').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel the message' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('1 failed').waitFor();
    await page.getByText('UGX 30 refunded: the message was canceled.').waitFor();
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0);
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(100_000);
    expect(faults).toEqual([]);
  });

  inBrowser('a message is sent again from a filled form, as a new one of its purpose (R376)', async () => {
    const account = await gateway.createAccount();
    const body = { to: '+256700123456', message: 'Once more', from: 'ACME', purpose: 'marketing' };
    const id = await sendSms(account.key, body);
    // The way out that the gateway added to the first one is not added again (R531).
    const text = `Once more\nStop: ${gateway.url}/o/own-link-per-recipient`;
    const { page, faults } = await browser.open({ person: account, path: `/messages/${id}` });
    await page.getByRole('link', { name: 'Resend' }).click();
    const form = page.getByRole('form', { name: 'Send an SMS' });
    expect(await form.getByLabel('To', { exact: true }).inputValue()).toBe('+256700123456');
    expect(await form.getByLabel('Message').inputValue()).toBe(text);
    expect(await form.getByLabel('Sender').inputValue()).toBe('ACME');
    await form.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'SMS to +256700123456' }).waitFor();
    expect(page.url()).not.toContain(id);
    const history = await gateway.call('GET', '/developers/sms/history', { key: account.key });
    expect(history.body.data.map(({ content }: { content: string }) => content)).toEqual([text, text]);
    const again = `/developers/messages/${history.body.data[0].id}`;
    expect((await gateway.call('GET', again, { key: account.key })).body.purpose).toBe('marketing');
    expect(faults).toEqual([]);
  });

  inBrowser(
    'a held message says until when, and so does the form that would send it again (R385)',
    async () => {
      const account = await gateway.createAccount();
      const body = { to: '+254712345678', message: 'Mangoes', purpose: 'marketing' };
      const id = await sendSms(account.key, body);
      const { page, faults } = await browser.open({ person: account, path: '/messages' });
      await page.getByRole('row', { name: /\+254712345678.*held until in \d/ }).click();
      const drawer = page.getByRole('dialog', { name: 'Message' });
      await drawer.getByText(/held until .*: quiet hours in Kenya\./).waitFor();
      await drawer.getByText('Wait: it leaves when the quiet hours end.').waitFor();
      await drawer.getByText('(quiet hours)').waitFor();
      await drawer.getByRole('row', { name: /Pending held until in \d/ }).waitFor();
      await expectAccessible(page);
      await drawer.getByRole('link', { name: 'Open as a page' }).click();
      await page.getByRole('link', { name: 'Resend' }).click();
      await page.getByRole('region', { name: 'Price' }).getByText('(quiet hours)').waitFor();
      expect(
        (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body.status,
      ).toBe('pending');
      expect(faults).toEqual([]);
    },
  );

  inBrowser('1,000 recipients are filtered and paged', async () => {
    const account = await gateway.createAccount();
    const to = Array.from({ length: 1_000 }, (_, index) => `+256${700_000_000 + index}`).join(',');
    const id = await sendSms(account.sandboxKey, { to, message: 'To many' });
    const { page, faults } = await browser.open({ person: account, path: `/messages/${id}` });
    const recipients = page.getByRole('region', { name: 'Recipients' });
    await recipients.getByText('1–50 of 1,000').waitFor();
    await recipients.getByRole('button', { name: 'Next' }).click();
    await recipients.getByText('+256700000050').waitFor();
    await recipients.getByLabel('Part of the address').fill('0999');
    await recipients.getByText('+256700000999').waitFor();
    expect(await recipients.getByRole('row').count()).toBe(2);
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser('a viewer reads messages and learns that they cannot send or cancel', async () => {
    const account = await gateway.createAccount();
    const scheduledFor = new Date(Date.now() + LATER_MS).toISOString();
    const id = await sendSms(account.key, { to: '+256700123456', message: 'Look only', scheduledFor });
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/messages' });
    await page.getByText('Your role can read messages, not send them.').waitFor();
    await page.getByRole('table').getByRole('link').first().click();
    await page.getByText('Your role can read messages, not send or cancel them.').waitFor();
    expect(page.url()).toContain(id);
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Resend' }).count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
