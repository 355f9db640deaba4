import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

describe('POST /developers/email (R23)', () => {
  let server: MailServer;
  let gateway: TestGateway;
  let account: TestAccount;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    server = await startMailServer();
    receiver = await startWebhookReceiver();
    gateway = await startTestGateway({ EMAIL_URL: server.url, EMAIL_FROM: 'ACME <no-reply@acme.example>' });
    account = await gateway.createAccount();
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['email.sent', 'email.failed'] },
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
    await server?.stop();
  });

  const basic = { to: 'ann@example.com', subject: 'Your receipt', text: 'Thank you' };
  const send = (body: unknown, key = account.key, headers: Record<string, string> = {}) =>
    gateway.call('POST', '/developers/email', { key, body, headers });
  const details = async (id: string) =>
    (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
  const becomes = (id: string, status: string) =>
    eventually(async () => {
      const body = await details(id);
      return body.status === status && body;
    });
  const eventsOf = (id: string) =>
    receiver.received.filter((hook) => hook.body.messageId === id).map((hook) => hook.body);
  const faults = (answer: Awaited<ReturnType<typeof send>>) =>
    answer.body.error.details.fields.map(({ path }: { path: string }) => path);

  it('goes from pending to sent, with its event (R137)', async () => {
    const sent = await send(basic);
    expect(sent.status).toBe(200);
    expect(sent.body).toMatchObject({
      sid: null,
      channel: 'email',
      to: ['ann@example.com'],
      from: '"ACME" <no-reply@acme.example>',
      subject: 'Your receipt',
      content: 'Thank you',
      status: 'pending',
      cost: 0,
      sandbox: false,
      metadata: { recipientsProcessed: 1, invalidAddressesSkipped: 0, duplicatesRemoved: 0 },
    });
    const found = await becomes(sent.body.id, 'sent');
    expect(found.sid).toBe(`<${sent.body.id}.0@acme.example>`);
    const mail = await server.waitFor(({ raw }) => raw.includes(sent.body.id));
    expect(mail.from).toBe('no-reply@acme.example');
    expect(mail.header('From')).toBe('ACME <no-reply@acme.example>');
    const [event] = await eventually(() => eventsOf(sent.body.id).length === 1 && eventsOf(sent.body.id));
    expect(event).toMatchObject({
      event: 'email.sent',
      channel: 'email',
      data: { to: 'ann@example.com', from: sent.body.from, subject: 'Your receipt', sid: found.sid },
    });
  });

  it('sends each recipient a mail, with an event each; copies go with the first (R137, R138)', async () => {
    server.behave({ rcpt: (to) => (to === 'nobody@example.com' ? 550 : 'accept') });
    const sent = await send({
      ...basic,
      to: 'Ben <ben@example.com>, nobody@example.com, not an address, BEN@example.com, cleo@example.com',
      cc: ['dora@example.com', 'cleo@example.com'],
      bcc: 'eve@example.com, dora@example.com',
    });
    expect(sent.body).toMatchObject({
      to: ['ben@example.com', 'nobody@example.com', 'cleo@example.com'],
      metadata: { recipientsProcessed: 3, invalidAddressesSkipped: 1, duplicatesRemoved: 1 },
    });
    const { id } = sent.body;
    const found = await becomes(id, 'sent');
    const of = (to: string) => found.recipients.find((recipient: { to: string }) => recipient.to === to);
    expect(of('nobody@example.com')).toMatchObject({ status: 'failed', error: { code: '550' } });
    expect(of('cleo@example.com')).toMatchObject({ status: 'sent', sid: `<${id}.2@acme.example>` });
    const mails = server.received.filter(({ raw }) => raw.includes(id));
    expect(mails.map(({ to }) => to.join()).sort()).toEqual([
      'ben@example.com,dora@example.com,eve@example.com',
      'cleo@example.com',
    ]);
    const events = await eventually(() => eventsOf(id).length === 3 && eventsOf(id));
    const failed = events.find(({ event }) => event === 'email.failed');
    expect(failed.data).toEqual({
      to: 'nobody@example.com',
      from: sent.body.from,
      subject: 'Your receipt',
      error: expect.stringContaining('550'),
      errorCode: '550',
      stage: 'submission',
      permanent: true,
    });
    expect(events.filter(({ event }) => event === 'email.sent')).toHaveLength(2);
  });

  it('retries a greylisted mail after 10 seconds', async () => {
    server.behave({ rcpt: (to, count) => (to === 'grey@example.com' && count === 1 ? 451 : 'accept') });
    const { id } = (await send({ ...basic, to: 'grey@example.com' })).body;
    const waiting = await eventually(async () => {
      const body = await details(id);
      return body.timeline.length > 1 && body;
    });
    const [accepted, note] = waiting.timeline;
    expect(note).toMatchObject({ status: 'pending', detail: expect.stringContaining('451') });
    const next = new Date(/Next try at (\S+)\.$/.exec(note.detail)?.[1] ?? '');
    const pauseMs = next.getTime() - new Date(note.at).getTime();
    expect(pauseMs).toBe(10_000);
    expect(new Date(note.at).getTime()).toBeGreaterThanOrEqual(new Date(accepted.at).getTime());
    await becomes(id, 'sent');
    expect(server.recipients.filter((to) => to === 'grey@example.com')).toHaveLength(2);
  });

  it('carries 7 MiB of attachments, which no list shows', async () => {
    const content = Buffer.alloc(7 * 1024 * 1024, 'attachment ').toString('base64');
    const attachments = [{ filename: 'big.bin', content, contentType: 'application/x-test' }];
    const sent = await send({ ...basic, html: '<p>Thank you</p>', attachments });
    expect(sent.status).toBe(200);
    expect(sent.text.length).toBeLessThan(2_000);
    const mail = await server.waitFor(({ raw }) => raw.includes(sent.body.id));
    const part = mail.raw.slice(mail.raw.indexOf('application/x-test'));
    const [encoded = ''] = part.slice(part.indexOf('\r\n\r\n') + 4).split('\r\n--');
    expect(encoded.replaceAll('\r\n', '') === content).toBe(true);
    const history = await gateway.call('GET', '/developers/email/history', { key: account.key });
    expect(history.text.length).toBeLessThan(20_000);
    expect(history.body.data[0]).toMatchObject({
      id: sent.body.id,
      content: 'Thank you',
      to: ['ann@example.com'],
    });

    const more = [...attachments, { filename: 'one', content: 'QQ==' }];
    expect(faults(await send({ ...basic, attachments: more }))).toEqual(['attachments']);
  });

  it('refuses a body of more than 10 MiB, and accepts one just below', async () => {
    const html = 'x'.repeat(10 * 1024 * 1024);
    const refused = await send({ ...basic, html });
    expect(refused.status).toBe(413);
    expect(refused.body.error.code).toBe('payload_too_large');
    expect((await send({ ...basic, html: html.slice(1_000) }, account.sandboxKey)).status).toBe(200);
  });

  it('history filters by address in any form, and by the other filters', async () => {
    const { id } = (await send({ ...basic, to: 'Hist@Example.com' })).body;
    const query = `to=${encodeURIComponent('Hist@EXAMPLE.com')}&environment=production`;
    const history = await gateway.call('GET', `/developers/email/history?${query}`, { key: account.key });
    expect(history.body.data.map((entry: { id: string }) => entry.id)).toEqual([id]);
    const none = await gateway.call('GET', '/developers/email/history?status=delivered', {
      key: account.key,
    });
    expect(none.body.pagination.total).toBe(0);
  });

  it('a sandbox mail is recorded as sent, and nothing is sent', async () => {
    const sent = await send({ ...basic, to: 'sandbox@example.com' }, account.sandboxKey);
    expect(sent.body).toMatchObject({ status: 'sent', sandbox: true, cost: 0 });
    expect((await details(sent.body.id)).status).toBe('sent');
    await becomes((await send(basic)).body.id, 'sent');
    expect(server.recipients).not.toContain('sandbox@example.com');
    expect(eventsOf(sent.body.id)).toEqual([]);
  });

  it('a repeat under the same idempotency key gets the first answer', async () => {
    const first = await send({ ...basic, idempotencyKey: 'receipt-1' });
    const again = await send({ to: 'else@example.com', subject: '', idempotencyKey: 'receipt-1' });
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const sms = { to: '+256700123456', message: 'Hi', idempotencyKey: 'receipt-1' };
    const other = await gateway.call('POST', '/developers/sms', { key: account.key, body: sms });
    expect(other.body.channel).toBe('sms');
    expect(server.recipients).not.toContain('else@example.com');
  });

  it('can be scheduled, and canceled until then', async () => {
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const sent = await send({ ...basic, to: 'later@example.com', scheduledFor });
    expect(sent.body).toMatchObject({ status: 'pending', scheduledFor });
    const canceled = await gateway.call('DELETE', `/developers/messages/${sent.body.id}`, {
      key: account.key,
    });
    expect(canceled.body).toMatchObject({ status: 'failed', recipients: [{ error: { code: 'canceled' } }] });
    expect((await send({ ...basic, scheduledFor: 'tomorrow' })).body.error.code).toBe(
      'invalid_scheduled_time',
    );
  });

  it('needs SEND_EMAIL', async () => {
    const { key } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    const refused = await send(basic, key);
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe('Insufficient scopes. Required one of: SEND_EMAIL, FULL_ACCESS');
    const allowed = await gateway.createKey(account.accountId, { scopes: ['SEND_EMAIL'] });
    expect((await send(basic, allowed.key)).status).toBe(200);
  });

  it('is charged when email has a price', async () => {
    const system = { kind: 'system', name: 'test' } as const;
    const price = { channel: 'email' as const, prefix: '', currency: 'UGX' };
    const owner = await gateway.createAccount(25);
    await gateway.parts.operations.prices.set.run(system, { ...price, amount: 10, reference: 'up' });
    try {
      const two = { ...basic, to: ['a@example.com', 'b@example.com'] };
      expect((await send(two, owner.key)).body.cost).toBe(20);
      const refused = await send(two, owner.key);
      expect(refused.status).toBe(402);
      expect(refused.body.error.details).toEqual({ balance: 5, required: 20, currency: 'UGX' });
    } finally {
      await gateway.parts.operations.prices.set.run(system, { ...price, amount: 0, reference: 'down' });
    }
  });

  describe('refuses', () => {
    const evil = 'a\r\nBcc: evil@evil.example';
    it.each<[string, object, string]>([
      ['no recipient', { to: '' }, 'to'],
      ['only invalid recipients', { to: 'ann, @, ben@' }, 'to'],
      ['51 recipients', { to: Array.from({ length: 51 }, (_, index) => `u${index}@example.com`) }, 'to'],
      ['a missing recipient', { to: undefined }, 'to'],
      ['a number as recipient', { to: 7 }, 'to'],
      ['an empty subject', { subject: ' ' }, 'subject'],
      ['a long subject', { subject: 'x'.repeat(999) }, 'subject'],
      ['a line end in the subject', { subject: evil }, 'subject'],
      ['a line separator in the subject', { subject: 'a\u2028b' }, 'subject'],
      ['no text and no html', { text: undefined }, 'text'],
      ['text that is an object', { text: { path: '/etc/passwd' } }, 'text'],
      ['html that is an object', { html: { href: 'http://169.254.169.254/' } }, 'html'],
      ['a line end in from', { from: `${evil} <x@example.com>` }, 'from'],
      ['two addresses in from', { from: 'a@example.com, b@example.com' }, 'from'],
      ['a group in replyTo', { replyTo: 'friends: a@example.com;' }, 'replyTo'],
      ['an invalid copy', { cc: 'a@example.com, nobody' }, 'cc'],
      ['51 blind copies', { bcc: Array.from({ length: 51 }, (_, index) => `u${index}@example.com`) }, 'bcc'],
      ['a header that names recipients', { headers: { Bcc: 'evil@evil.example' } }, 'headers.Bcc'],
      ['a header of the mail itself', { headers: { 'Content-Type': 'text/html' } }, 'headers.Content-Type'],
      [
        'a header that relays obey',
        { headers: { 'X-SMTPAPI': '{"to":["evil@evil.example"]}' } },
        'headers.X-SMTPAPI',
      ],
      ['a verdict of a filter', { headers: { 'X-Spam-Status': 'No' } }, 'headers.X-Spam-Status'],
      [
        'a verdict of Exchange',
        { headers: { 'X-MS-Exchange-Organization-SCL': '-1' } },
        'headers.X-MS-Exchange-Organization-SCL',
      ],
      [
        'what a mail server found out about the sender',
        { headers: { 'Authentication-Results': 'mx.example; dkim=pass' } },
        'headers.Authentication-Results',
      ],
      ['a line end in a header', { headers: { 'X-Note': evil } }, 'headers.X-Note'],
      ['a header name with a colon', { headers: { 'X-A: b\r\nBcc': 'x' } }, 'headers.X-A: b\r\nBcc'],
      ['a header twice', { headers: { 'X-A': '1', 'x-a': '2' } }, 'headers.x-a'],
      [
        'an unsubscribe that is no address',
        { headers: { 'List-Unsubscribe': 'javascript:x' } },
        'headers.List-Unsubscribe',
      ],
      ['a path as file name', { attachments: [{ filename: '../x', content: '' }] }, 'attachments.0.filename'],
      [
        'a line end in a file name',
        { attachments: [{ filename: evil, content: '' }] },
        'attachments.0.filename',
      ],
      [
        'content that is not base64',
        { attachments: [{ filename: 'x', content: '!' }] },
        'attachments.0.content',
      ],
      [
        'a file instead of content',
        { attachments: [{ filename: 'x', path: '/etc/passwd' }] },
        'attachments.0.content',
      ],
      [
        'a type with a header in it',
        {
          attachments: [{ filename: 'x', content: '', contentType: 'text/plain\r\nBcc: x' }],
        },
        'attachments.0.contentType',
      ],
      [
        'a type that holds other parts',
        {
          attachments: [{ filename: 'x', content: '', contentType: 'message/rfc822' }],
        },
        'attachments.0.contentType',
      ],
    ])('%s', async (_what, members, path) => {
      const refused = await send({ ...basic, ...members });
      expect(refused.status).toBe(400);
      expect(refused.body.error.code).toBe('validation_error');
      expect(faults(refused)).toContain(path);
    });
  });
});

describe('email with other providers (R26)', () => {
  it('without configuration, the simulator accepts it in development', async () => {
    await using gateway = await startTestGateway();
    const account = await gateway.createAccount();
    const body = { to: 'ann@example.com, bob0001@example.com', subject: 'Hi', html: '<p>Hi</p>' };
    const sent = await gateway.call('POST', '/developers/email', { key: account.key, body });
    expect(sent.body).toMatchObject({ from: 'no-reply@localhost', content: '<p>Hi</p>' });
    const found = await eventually(async () => {
      const answer = await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key: account.key });
      return answer.body.status === 'sent' && answer.body;
    });
    expect(found.recipients.map(({ status }: { status: string }) => status)).toEqual(['sent', 'failed']);
  });

  it('without configuration, production answers 503 and names the channel; the sandbox works', async () => {
    await using gateway = await startTestGateway({ NODE_ENV: 'production' });
    const account = await gateway.createAccount();
    const body = { to: 'ann@example.com', subject: 'Hi', text: 'Hi' };
    const refused = await gateway.call('POST', '/developers/email', { key: account.key, body });
    expect(refused.status).toBe(503);
    expect(refused.body.error).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('email'),
    });
    expect(refused.headers.get('retry-after')).toBe('60');
    const sandbox = await gateway.call('POST', '/developers/email', { key: account.sandboxKey, body });
    expect(sandbox.body.status).toBe('sent');
  });

  it('uses the next server when the first is down', async () => {
    const dead = await startMailServer();
    await dead.stop();
    const server = await startMailServer();
    try {
      await using gateway = await startTestGateway({ EMAIL_URL: `${dead.url}|${server.url}` });
      const account = await gateway.createAccount();
      const body = { to: 'ann@example.com', subject: 'Hi', text: 'Hi' };
      await gateway.call('POST', '/developers/email', { key: account.key, body });
      await server.waitFor(() => true);
      const health = gateway.parts.routing.health().filter(({ name }) => name.startsWith('smtp:'));
      expect(health.map(({ state }) => state)).toEqual(['down', 'up']);
    } finally {
      await server.stop();
    }
  });
});
