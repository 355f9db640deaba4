import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTable } from '../../sdk/table.js';
import {
  Gateway,
  type GatewayOptions,
  type MessageDetails,
  NotFoundError,
} from '../../sdk/typescript/src/index.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ABSENT = '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3';

describe('the TypeScript SDK', () => {
  let server: TestGateway;
  let account: TestAccount;
  /** Method and path of every request that succeeded. The last test compares them with all operations. */
  const succeeded = new Set<string>();
  const clientOf = (apiKey: string, options: Partial<GatewayOptions> = {}) =>
    new Gateway({
      apiKey,
      baseUrl: server.url,
      onTry: ({ method, path, statusCode }) => {
        if (statusCode !== null && statusCode < 300) succeeded.add(`${method} ${path}`);
      },
      ...options,
    });
  let gateway: Gateway;
  let sandbox: Gateway;
  beforeAll(async () => {
    server = await startTestGateway();
    account = await server.createAccount();
    gateway = clientOf(account.key);
    sandbox = clientOf(account.sandboxKey);
  });
  afterAll(() => server?.stop());

  it('sends an SMS, follows it until it is delivered, and finds it again', async () => {
    const { to, message } = { to: gateway.testing.numbers.delivered, message: 'Hello' };
    expect(await gateway.sms.quote({ to, message })).toMatchObject({ cost: 30, sufficientBalance: true });
    const sent = await gateway.sms.send({ to, message });
    expect(sent).toMatchObject({ status: 'pending', cost: 30, metadata: { smsCount: 1 } });
    const settled: MessageDetails = await gateway.testing.settled(sent.id);
    expect(settled.status).toBe('delivered');
    expect(await gateway.sms.get(sent.id)).toMatchObject({
      id: sent.id,
      recipients: [{ status: 'delivered' }],
    });
    expect(await gateway.messages.get(sent.id)).toEqual(settled);
    expect(await gateway.account.get()).toMatchObject({ balance: 99_970, currency: 'UGX' });
  });

  it('has numbers for what the simulator does [R226]', async () => {
    const { rejected, undeliverable } = gateway.testing.numbers;
    const sent = await gateway.sms.send({ to: `${rejected},${undeliverable}`, message: 'Hello' });
    const { recipients, status } = await gateway.testing.settled(sent.id);
    expect(status).toBe('failed');
    expect(recipients.map(({ to, sid }) => [to, sid !== null])).toEqual([
      [rejected, false],
      [undeliverable, true],
    ]);
    await expect(
      gateway.sms
        .send({ to: gateway.testing.numbers.unreported, message: 'Hello' })
        .then(({ id }) => gateway.testing.settled(id, { timeoutMs: 1 })),
    ).rejects.toThrow(/is still (pending|sent) after 1 ms/);
  });

  it('cancels a scheduled message', async () => {
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = await gateway.sms.send({ to: '0700123456', message: 'Later', scheduledFor });
    expect(await gateway.messages.cancel(id)).toMatchObject({ status: 'failed' });
  });

  it('sends email, push and WhatsApp messages', async () => {
    expect(await sandbox.email.send({ to: 'ann@example.com', subject: 'Hi', text: 'Hello' })).toMatchObject({
      channel: 'email',
      sandbox: true,
    });
    const device = await gateway.push.devices.register({ token: 'token', platform: 'android', userId: 'u' });
    expect(await gateway.push.devices.get(device.id)).toEqual(device);
    expect((await gateway.push.devices.list()).data).toEqual([device]);
    expect(await gateway.push.send({ to: 'u', title: 'Hi', body: 'Hello' })).toMatchObject({ title: 'Hi' });
    expect((await gateway.push.webKey()).publicKey).toMatch(/^[\w-]{80,}$/);
    expect(await gateway.push.devices.delete(device.id)).toEqual({ id: device.id, deleted: true });
    const template = { name: 'order_shipped', language: 'en' };
    expect(await gateway.whatsapp.send({ to: '+256700123456', type: 'template', template })).toMatchObject({
      type: 'template',
    });
    expect(await gateway.whatsapp.window({ to: '+256700123456' })).toMatchObject({ open: false });
    expect((await sandbox.email.history()).data).toHaveLength(1);
    expect((await gateway.push.history()).data).toHaveLength(1);
    expect((await gateway.whatsapp.history()).pagination.total).toBe(1);
  });

  it('keeps contacts', async () => {
    const contact = await gateway.contacts.create({ name: 'Amina', externalId: 'c-1' });
    expect(await gateway.contacts.update(contact.id, { tags: ['north'] })).toMatchObject({ tags: ['north'] });
    expect((await gateway.contacts.list({ tag: 'north' })).data).toEqual([
      await gateway.contacts.get(contact.id),
    ]);
    expect(await gateway.contacts.delete(contact.id)).toEqual({ id: contact.id, deleted: true });
    await expect(gateway.contacts.get(contact.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('suppresses an address', async () => {
    const { suppression } = await gateway.suppressions.add({
      channel: 'sms',
      address: '0700000999',
      scope: 'all',
    });
    expect((await gateway.suppressions.list({ channel: 'sms' })).data).toEqual([suppression]);
    const { csv, nextAfter } = await gateway.suppressions.exportCsv();
    expect([csv.split('\r\n').length, nextAfter]).toEqual([3, null]);
    expect((await gateway.suppressions.remove(suppression.id)).deleted).toBe(true);
    expect(await gateway.suppressions.importCsv({ csv })).toEqual({ rows: 1, changed: 1, unchanged: 0 });
  });

  it('lists messages that are held for review', async () => {
    expect(await gateway.messages.held()).toEqual({ held: [] });
  });

  it('exports and erases a person', async () => {
    const phone = '+256700111222';
    const contact = await gateway.contacts.create({ phone, name: 'Jane' });
    const { recipient } = await gateway.recipients.exportPart(phone);
    expect(recipient).toMatchObject({ contacts: [{ id: contact.id }] });
    const { erasure } = await gateway.recipients.erase(phone, { reason: 'asked by letter' });
    expect((await gateway.erasures.list()).data.map(({ id }) => id)).toContain(erasure.id);
    expect((await gateway.erasures.get(erasure.id)).erasure.reason).toBe('asked by letter');
  });

  it('lists alerts, and changes when one opens', async () => {
    expect((await gateway.alerts.list({ state: 'open' })).data).toEqual([]);
    const { rule } = await gateway.alerts.setRule({ kind: 'balance_low', threshold: 5, mailTo: [] });
    expect(rule).toMatchObject({ kind: 'balance_low', threshold: 5, mailTo: [] });
    expect((await gateway.alerts.rules()).rules).toContainEqual(rule);
    const reset = await gateway.alerts.setRule({ kind: 'balance_low', threshold: null, mailTo: null });
    expect(reset.rule.threshold).toBe(reset.rule.defaultThreshold);
  });

  it('asks for a sender, shows it, verifies it and gives it up', async () => {
    const { sender } = await gateway.senders.request({ channel: 'email', domain: 'sdk.example' });
    expect((await gateway.senders.list({ channel: 'email' })).data).toEqual([sender]);
    expect((await gateway.senders.get(sender.id)).sender).toEqual(sender);
    expect((await gateway.senders.remove(sender.id)).deleted).toBe(true);
    // The sandbox asks no name server.
    const trial = await sandbox.senders.request({ channel: 'email', domain: 'sdk.example' });
    expect((await sandbox.senders.verify(trial.sender.id)).sender.status).toBe('approved');
  });

  it('makes, changes, rotates and revokes keys', async () => {
    const made = await gateway.keys.create({ name: 'shop', scopes: ['SEND_SMS'], environment: 'sandbox' });
    const { keyId } = made.apiKey;
    expect((await clientOf(made.key).account.get()).currency).toBe('UGX');
    expect((await gateway.keys.update(keyId, { name: 'store' })).apiKey.name).toBe('store');
    const { limits } = await gateway.keys.setLimits(keyId, { spendPerDay: 500, allowedPrefixes: ['256'] });
    expect(limits).toMatchObject({ of: 'key', keyId, spendPerDay: 500, spendPerHour: null });
    const applied = await clientOf(made.key).account.limits();
    expect(applied.limits).toEqual([limits]);
    const ofAccount = await gateway.account.setLimits({ recipientsPerDay: 100_000 });
    expect(ofAccount.limits).toMatchObject({ of: 'account', keyId: null, recipientsPerDay: 100_000 });
    const rotated = await gateway.keys.rotate(keyId);
    expect(rotated.apiKey).toMatchObject({ name: 'store' });
    const revoked = await gateway.keys.revoke(rotated.apiKey.keyId, { descendants: 'true' });
    expect(revoked.apiKey.revokedAt).not.toBeNull();
    expect((await gateway.keys.list()).pagination.total).toBe(4);
  });

  it('registers an endpoint whose deliveries it verifies, and follows the same events in the feed [R33]', async () => {
    const receiver = await startWebhookReceiver();
    const { webhook, secret } = await gateway.webhooks.register({ url: receiver.url, events: ['sms.sent'] });
    expect((await gateway.webhooks.test(webhook.id)).success).toBe(true);
    const hook = await receiver.waitFor(({ body }) => body.event === 'webhook.test');
    const verified = await gateway.webhooks.verify(hook.raw, hook.headers, secret);
    expect(verified).toEqual({ ...hook.body, deliveryId: hook.headers['x-service-delivery'] });

    const { data } = await gateway.webhooks.deliveries(webhook.id, { status: 'success' });
    const deliveryId = data[0]?.id ?? '';
    expect(deliveryId).toBe(verified.deliveryId);
    expect((await gateway.webhooks.delivery(webhook.id, deliveryId)).delivery).toEqual(data[0]);
    expect((await gateway.webhooks.retry(webhook.id, deliveryId)).delivery.id).toBe(deliveryId);
    expect(await gateway.webhooks.recover(webhook.id, { since: new Date(0).toISOString() })).toEqual({
      queued: expect.any(Number),
    });
    expect((await gateway.webhooks.update(webhook.id, { isActive: false })).webhook.isActive).toBe(false);
    expect((await gateway.webhooks.get(webhook.id)).webhook.isActive).toBe(false);
    expect((await gateway.webhooks.rotateSecret(webhook.id)).secret).not.toBe(secret);
    expect((await gateway.webhooks.list()).data.map(({ id }) => id)).toEqual([webhook.id]);
    expect((await gateway.webhooks.eventTypes({ limit: 100 })).data.map(({ event }) => event)).toContain(
      'sms.failed',
    );
    expect(await gateway.webhooks.delete(webhook.id)).toEqual({ id: webhook.id, deleted: true });
    await receiver.stop();

    const feed = await gateway.events.list({ limit: 100 });
    const followed: unknown[] = [];
    const stop = new AbortController();
    let last = '';
    for await (const { event, cursor } of gateway.events.follow({ signal: stop.signal })) {
      followed.push(event);
      last = cursor;
      if (followed.length === feed.data.length) stop.abort();
    }
    expect(followed).toEqual(feed.data);
    expect(last).toBe(feed.cursor);
    const { id } = await gateway.sms.send({ to: '0700123456', message: 'Hello' });
    for await (const { event } of gateway.events.follow({ after: last, pollIntervalMs: 5 })) {
      if (event.messageId !== id) continue;
      expect(event.event).toBe('sms.sent');
      break;
    }
  }, 60_000);

  it('walks over all entries of a list, each once, although more arrive meanwhile', async () => {
    const owner = await server.createAccount();
    const client = clientOf(owner.key);
    const send = (count: number) =>
      Promise.all(Array.from({ length: count }, () => client.sms.send({ to: '0700123456', message: 'Hi' })));
    const first = (await send(12)).map(({ id }) => id);
    const walked: string[] = [];
    for await (const { id } of client.sms.history({ limit: 5 })) {
      walked.push(id);
      if (walked.length % 5 === 0) await send(4);
    }
    expect(walked.sort()).toEqual(first.sort());
    const page = await client.sms.history({ limit: 5, page: 2 });
    expect(page.pagination).toEqual({ page: 2, limit: 5, total: 20, pages: 4 });
    const rest = [];
    for await (const entry of client.sms.history({ limit: 5, page: 2 })) rest.push(entry);
    expect(rest).toHaveLength(15);
    const contacts = Array.from({ length: 3 }, (_, index) =>
      client.contacts.create({ externalId: `${index}` }),
    );
    await Promise.all(contacts);
    const found = [];
    for await (const contact of client.contacts.list({ limit: 2 })) {
      found.push(contact.externalId);
      if (found.length === 2) await client.contacts.create({ externalId: 'late' });
    }
    expect(found.sort()).toEqual(['0', '1', '2']);
  });

  it('signs requests, also equal ones in the same second [R10, R134, R227]', async () => {
    const { key, signingSecret } = await server.createKey(account.accountId, { enableHmac: true });
    const client = clientOf(key, { signingSecret: signingSecret ?? '' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.account.get()));
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([account.accountId]));
    // These clients do not know each other's timestamps, like separate processes.
    const others = Array.from({ length: 5 }, () =>
      clientOf(key, { signingSecret: signingSecret ?? '', maxRetries: 0 }),
    );
    await Promise.all(others.map((other) => other.account.get()));
    expect(await client.sms.send({ to: '0700123456', message: 'é 😀' })).toMatchObject({ content: 'é 😀' });
    expect((await client.sms.history({ limit: 1, to: '0700 123456' })).data).toHaveLength(1);
    await expect(client.messages.get(ABSENT)).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.contacts.get('a/b ä')).rejects.toBeInstanceOf(NotFoundError);
  });

  it('gives an address behind a proxy with a path, and refuses what is no address or id', async () => {
    expect(new Gateway({ apiKey: 'k', baseUrl: 'https://x.example/sms/' }).testing.webhookUrl()).toBe(
      'https://x.example/sms/simulator/webhook/sdk',
    );
    expect(
      (await new Gateway({ apiKey: account.key, baseUrl: `${server.url}/api/v1/` }).account.get()).id,
    ).toBe(account.accountId);
    expect(() => new Gateway({ apiKey: '', baseUrl: server.url })).toThrow(/apiKey is missing/);
    expect(() => new Gateway({ apiKey: 'k', baseUrl: '' })).toThrow(/baseUrl is missing/);
    expect(() => new Gateway({ apiKey: 'k', baseUrl: 'localhost' })).toThrow(/is no address/);
    expect(() => new Gateway({ apiKey: 'k', baseUrl: 'ftp://x' })).toThrow(/https:/);
    for (const id of ['', '.', '..']) expect(() => gateway.contacts.get(id)).toThrow(/names nothing/);
  });

  it('takes key and address from the environment where none are passed (R582)', async () => {
    const variables = { GATEWAY_API_KEY: account.key, GATEWAY_URL: server.url };
    expect(() => new Gateway()).toThrow(/apiKey is missing: .* or set GATEWAY_API_KEY/);
    expect(() => new Gateway({ apiKey: 'k' })).toThrow(/baseUrl is missing: .* or set GATEWAY_URL/);
    Object.assign(process.env, variables);
    try {
      expect((await new Gateway().account.get()).id).toBe(account.accountId);
      // What is passed counts, also if it is wrong.
      await expect(new Gateway({ apiKey: 'k' }).account.get()).rejects.toMatchObject({ statusCode: 401 });
      expect(() => new Gateway({ apiKey: '' })).toThrow(/apiKey is missing/);
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name];
    }
  });

  it('keeps the key to itself when it is printed', async () => {
    const { inspect } = await import('node:util');
    expect(inspect(gateway, { depth: 10, showHidden: true })).not.toContain(account.key);
    expect(JSON.stringify(gateway)).not.toContain(account.key);
  });

  it('has been tried with every operation', () => {
    const missing = readTable()
      .resources.flatMap(({ operations }) => operations)
      .filter(({ method, path }) => {
        const pattern = new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
        return ![...succeeded].some((request) => pattern.test(request));
      });
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });
});
