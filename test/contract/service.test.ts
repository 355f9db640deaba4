import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes } from '../../src/rest/routes/all.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const EVENTS = [
  ['sms.sent', 'sms'],
  ['sms.failed', 'sms'],
  ['email.sent', 'email'],
  ['email.failed', 'email'],
  ['push.sent', 'push'],
  ['push.partial', 'push'],
  ['push.failed', 'push'],
  ['whatsapp.delivered', 'whatsapp'],
  ['whatsapp.read', 'whatsapp'],
  ['whatsapp.failed', 'whatsapp'],
  ['webhook.test', 'system'],
  ['account.balance_low', 'system'],
  ['account.limit_near', 'system'],
  ['webhook.failing', 'system'],
  ['sender.reviewed', 'system'],
];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the service as a whole', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    receiver = await startWebhookReceiver();
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  const call = (method: string, path: string, body?: unknown, key = account.key) =>
    gateway.call(method, path, { key, ...(body === undefined ? {} : { body }) });
  const send = (message: string, key = account.key) =>
    call('POST', '/developers/sms', { to: '+256700123456', message }, key);
  const balance = async () => (await call('GET', '/account')).body.balance;

  it('speaks JSON in UTF-8 and requires application/json (R35, R40)', async () => {
    const text = 'Ünïcødé ✓ 🎉 اردو';
    const sent = await send(text);
    expect(sent.status).toBe(200);
    expect(sent.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(sent.body.content).toBe(text);
    const headers = { 'Content-Type': 'text/plain' };
    const plain = await gateway.call('POST', '/developers/sms', { key: account.key, body: '{}', headers });
    expect([plain.status, plain.body.error.code]).toEqual([415, 'unsupported_media_type']);
  });

  it('is below /api/v1 and nowhere else (R36, R195)', async () => {
    const headers = { 'X-Api-Key': account.key };
    expect((await fetch(`${gateway.url}/api/v1/account`, { headers })).status).toBe(200);
    for (const path of ['/account', '/api/account', '/api/v2/account']) {
      const elsewhere = await fetch(gateway.url + path, { headers });
      expect([path, elsewhere.status]).toEqual([path, 404]);
      expect(await elsewhere.json()).toMatchObject({ error: { code: 'not_found' } });
    }
  });

  it('requires a key for every route, in any spelling of the path (R37)', async () => {
    for (const route of routes) {
      const answer = await gateway.call(route.method.toUpperCase(), route.path.replaceAll(/:\w+/g, 'x'));
      expect([route.path, answer.status]).toEqual([route.path, 401]);
    }
    const headers = { 'x-aPi-KEY': account.key };
    expect((await gateway.call('GET', '/account', { headers })).status).toBe(200);
  });

  it('charges the balance in production and not in the sandbox (R38)', async () => {
    const before = await balance();
    expect((await send('free', account.sandboxKey)).body).toMatchObject({
      cost: 0,
      sandbox: true,
      status: 'sent',
    });
    expect(await balance()).toBe(before);
    expect((await send('paid')).body).toMatchObject({ cost: 30, sandbox: false, status: 'pending' });
    expect(await balance()).toBe(before - 30);
  });

  it('shows the account with its four fields (R60–R63, R103)', async () => {
    const { status, body } = await call('GET', '/account');
    expect(status).toBe(200);
    expect(body).toEqual({
      id: account.accountId,
      email: account.email,
      balance: expect.any(Number),
      currency: 'UGX',
    });
  });

  it('answers 201 for what it creates and 200 otherwise (R1)', () => {
    const created = routes
      .filter((route) => route.successStatus === 201)
      .map((route) => `${route.method} ${route.path}`);
    expect(created).toEqual(
      expect.arrayContaining([
        'post /developers/webhooks',
        'post /developer/keys',
        'post /developers/contacts',
      ]),
    );
    for (const route of created) {
      expect(route).toMatch(
        /^post .*\/(webhooks|keys|contacts|devices|suppressions|senders|:keyId\/rotate)$/,
      );
    }
  });

  it('lists the fifteen events with their channels, and no other (R110, R171)', async () => {
    const { body } = await call('GET', '/developers/webhooks/events');
    expect(body.data.map((type: { event: string; channel: string }) => [type.event, type.channel])).toEqual(
      EVENTS,
    );
    const refused = await call('POST', '/developers/webhooks', {
      url: receiver.url,
      events: ['sms.delivered'],
    });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'invalid_event_type']);
  });

  it('reports outcomes to webhooks, in the documented envelope and headers (R39, R135, R145–R154, R196)', async () => {
    const events = EVENTS.map(([event]) => event);
    const registered = await call('POST', '/developers/webhooks', { url: receiver.url, events });
    const sent = await send('Hello');
    const hook = await receiver.waitFor(({ body }) => body.messageId === sent.body.id);
    expect(hook.body).toEqual({
      event: 'sms.sent',
      channel: 'sms',
      messageId: sent.body.id,
      timestamp: expect.stringMatching(ISO_TIME),
      data: { to: '+256700123456', from: 'SERVICE', message: 'Hello', sid: expect.any(String) },
    });
    expect(hook.headers).toMatchObject({
      'x-service-signature': expect.stringMatching(/^t=\d{10},v1=[0-9a-f]{64}$/),
      'x-service-event': 'sms.sent',
      'x-service-delivery': expect.stringMatching(UUID),
      'user-agent': 'Service-Webhooks/1.0',
      'content-type': expect.stringContaining('application/json'),
    });

    await call('POST', `/developers/webhooks/${registered.body.webhook.id}/test`);
    const test = await receiver.waitFor(({ body }) => body.event === 'webhook.test');
    expect(test.body).toMatchObject({ channel: 'system', timestamp: expect.stringMatching(ISO_TIME) });
    expect(test.body).not.toHaveProperty('messageId');
  });

  it('shows a webhook with its documented fields, and its secret once (R71–R78)', async () => {
    const registered = await call('POST', '/developers/webhooks', {
      url: receiver.url,
      events: ['sms.sent'],
      description: 'orders',
      maxRetries: 5,
    });
    expect(registered.body).toMatchObject({
      webhook: {
        id: expect.stringMatching(UUID),
        url: receiver.url,
        events: ['sms.sent'],
        description: 'orders',
        isActive: true,
        maxRetries: 5,
        createdAt: expect.stringMatching(ISO_TIME),
      },
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9_-]{43}$/),
    });
    const shown = await call('GET', `/developers/webhooks/${registered.body.webhook.id}`);
    expect(shown.body.webhook).toEqual(registered.body.webhook);
    expect(shown.text).not.toContain('whsec_');
  });

  it('allows 0 to 5 retries of a webhook, 3 by default (R189)', async () => {
    const register = (maxRetries?: unknown) =>
      call('POST', '/developers/webhooks', {
        url: receiver.url,
        events: ['webhook.test'],
        ...(maxRetries === undefined ? {} : { maxRetries }),
      });
    expect((await register()).body.webhook.maxRetries).toBe(3);
    expect((await register(5)).body.webhook.maxRetries).toBe(5);
    for (const wrong of [6, -1, 1.5, '3']) {
      const refused = await register(wrong);
      expect([wrong, refused.status, refused.body.error.code]).toEqual([wrong, 400, 'validation_error']);
    }
  });

  describe('lists', () => {
    let owner: TestAccount;
    const ids: string[] = [];
    beforeAll(async () => {
      owner = await gateway.createAccount();
      for (let index = 0; index < 21; index++) ids.unshift((await send(`No. ${index}`, owner.key)).body.id);
    });
    const history = (query = '') => call('GET', `/developers/sms/history${query}`, undefined, owner.key);

    it('have the envelope, with 20 entries a page by default (R85, R102, R188)', async () => {
      const first = await history();
      expect(first.body.pagination).toEqual({ page: 1, limit: 20, total: 21, pages: 2 });
      const second = await history('?page=2');
      expect([...first.body.data, ...second.body.data].map(({ id }) => id)).toEqual(ids);
      expect((await history('?limit=100')).body.data).toHaveLength(21);
    });

    it('have entries with the documented members (R59)', async () => {
      expect((await history('?limit=1')).body.data[0]).toMatchObject({
        id: ids[0],
        status: expect.stringMatching(/^(pending|sent|delivered)$/),
        to: ['+256700123456'],
        content: 'No. 20',
        cost: 30,
        currency: 'UGX',
        createdAt: expect.stringMatching(ISO_TIME),
      });
    });

    it('are empty after the last page, and refuse an invalid page (R6)', async () => {
      expect((await history('?page=3')).body).toEqual({
        data: [],
        pagination: { page: 3, limit: 20, total: 21, pages: 2 },
      });
      for (const query of [
        'page=0',
        'page=-1',
        'page=1.5',
        'page=x',
        'page=',
        'limit=0',
        'limit=101',
        'page=1&page=2',
      ]) {
        const refused = await history(`?${query}`);
        expect([query, refused.status, refused.body.error.code]).toEqual([query, 400, 'validation_error']);
      }
    });
  });
});
