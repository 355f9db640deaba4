import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sweepAt } from '../support/sweeps.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** An elliptic-curve point and a secret, as a browser's subscription has them. */
const KEYS = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

describe('push through the simulator (R24)', () => {
  let gateway: TestGateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver();
    account = await gateway.createAccount();
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['push.sent', 'push.partial', 'push.failed'] },
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  let users = 0;
  const newUser = () => {
    users += 1;
    return `user-${users}`;
  };
  const register = async (userId: string, ending: string, more: object = {}, key = account.key) => {
    const token = `token-of-${userId}-${ending}`;
    const body = { token, platform: 'android', userId, ...more };
    return (await gateway.call('POST', '/developers/push/devices', { key, body })).body;
  };
  const send = (body: object, key = account.key, headers: Record<string, string> = {}) =>
    gateway.call('POST', '/developers/push', {
      key,
      headers,
      body: { title: 'Hello', body: 'From the gateway', ...body },
    });
  const lookUp = async (id: string) =>
    (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
  const eventsOf = (id: string) => receiver.received.filter((hook) => hook.body.messageId === id);
  const settled = (id: string) =>
    eventually(async () => {
      const found = await lookUp(id);
      return found.status !== 'pending' && found;
    });

  describe('devices', () => {
    it('are registered, listed, shown and removed; a repeated token updates its device', async () => {
      const own = await gateway.createAccount();
      const first = await register('owner', 'a', {}, own.key);
      expect(first).toMatchObject({ platform: 'android', userId: 'owner', token: 'token-of-owner-a' });
      const again = await gateway.call('POST', '/developers/push/devices', {
        key: own.key,
        body: { token: 'token-of-owner-a', platform: 'ios', userId: 'somebody-else' },
      });
      expect(again.status).toBe(201);
      expect(again.body).toMatchObject({ id: first.id, platform: 'ios', userId: 'somebody-else' });
      const second = await register('owner', 'b', {}, own.key);
      const list = await gateway.call('GET', '/developers/push/devices', { key: own.key });
      expect(list.body.data.map((device: { id: string }) => device.id)).toEqual([second.id, first.id]);
      expect(list.body.pagination).toEqual({ page: 1, limit: 20, total: 2, pages: 1 });
      const path = `/developers/push/devices/${first.id}`;
      expect((await gateway.call('GET', path, { key: own.key })).body).toEqual(again.body);
      expect((await gateway.call('GET', path, { key: account.key })).status).toBe(404);
      expect((await gateway.call('DELETE', path, { key: account.key })).status).toBe(404);
      const removed = await gateway.call('DELETE', path, { key: own.key });
      expect(removed.body).toEqual({ id: first.id, deleted: true });
      expect((await gateway.call('GET', path, { key: own.key })).status).toBe(404);
    });

    it.each([
      ['a token with a space', { token: 'a b' }, 'token'],
      ['an empty token', { token: '' }, 'token'],
      ['a platform that does not exist', { platform: 'symbian' }, 'platform'],
      ['a user id with a comma', { userId: 'a,b' }, 'userId'],
      ['an empty user id', { userId: ' ' }, 'userId'],
      ['a browser without keys', { platform: 'web', token: 'https://127.0.0.1:9/x' }, 'keys'],
      [
        'a browser whose key is no point',
        { platform: 'web', token: 'https://127.0.0.1:9/x', keys: { ...KEYS, p256dh: 'AAAA' } },
        'keys.p256dh',
      ],
      [
        'a browser whose endpoint is no address',
        { platform: 'web', token: 'not-an-address', keys: KEYS },
        'token',
      ],
      [
        'a browser whose endpoint is inside the network',
        { platform: 'web', token: 'https://10.0.0.1/push', keys: KEYS },
        'token',
      ],
      [
        "a browser whose endpoint is the cloud's metadata address",
        { platform: 'web', token: 'https://169.254.169.254/push', keys: KEYS },
        'token',
      ],
    ])('are refused with %s', async (_name, change, path) => {
      const body = { token: 'token', platform: 'android', userId: 'user', ...change };
      const answer = await gateway.call('POST', '/developers/push/devices', { key: account.key, body });
      expect(answer.status).toBe(400);
      expect(answer.body.error.code).toBe('validation_error');
      expect(answer.body.error.details.fields.map((field: { path: string }) => field.path)).toContain(path);
    });

    it('need SEND_PUSH (R22)', async () => {
      const { key } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS', 'READ_MESSAGES'] });
      expect((await gateway.call('GET', '/developers/push/devices', { key })).status).toBe(403);
      expect((await send({ to: 'x' }, key)).status).toBe(403);
    });

    it('of browsers subscribe with a key that is generated once and survives a restart', async () => {
      const DATA_DIR = await mkdtemp(join(tmpdir(), 'vapid-'));
      const made = { DATA_DIR, VAPID_PUBLIC_KEY: '', VAPID_PRIVATE_KEY: '' };
      const keyOf = async () => {
        await using own = await startTestGateway(made, gateway.database);
        return (await own.call('GET', '/developers/push/web-key', { key: account.key })).body.publicKey;
      };
      try {
        const first = await keyOf();
        expect(Buffer.from(first, 'base64url')).toHaveLength(65);
        expect(await keyOf()).toBe(first);
        expect((await stat(join(DATA_DIR, 'vapid.json'))).mode & 0o777).toBe(0o600);
      } finally {
        await rm(DATA_DIR, { recursive: true });
      }
    });
  });

  it('to all devices of a user gives one push.sent, status sent (R139)', async () => {
    const user = newUser();
    await register(user, '1000');
    await register(user, '2000', { platform: 'ios' });
    const sent = await send({ to: user, data: { orderId: 42, note: 'x' } });
    expect(sent.status).toBe(200);
    expect(sent.body).toMatchObject({
      channel: 'push',
      to: [user],
      title: 'Hello',
      content: 'From the gateway',
      status: 'pending',
      cost: 0,
      sandbox: false,
      metadata: { devicesTargeted: 2, devicesReached: 0, devicesFailed: 0, devicesRemoved: 0 },
    });
    const hook = await receiver.waitFor((received) => received.body.messageId === sent.body.id);
    expect(hook.body).toMatchObject({
      event: 'push.sent',
      channel: 'push',
      data: {
        to: [user],
        title: 'Hello',
        devicesTargeted: 2,
        devicesReached: 2,
        devicesFailed: 0,
        devicesRemoved: 0,
      },
    });
    const found = await settled(sent.body.id);
    expect(found).toMatchObject({ status: 'sent', metadata: { devicesReached: 2, devicesFailed: 0 } });
    expect(found.recipients.map((recipient: { status: string }) => recipient.status)).toEqual([
      'sent',
      'sent',
    ]);
    expect(eventsOf(sent.body.id)).toHaveLength(1);
  });

  it('to some gives one push.partial, status sent; only unregistered devices are deleted (R140)', async () => {
    const user = newUser();
    const good = await register(user, '1000');
    const rejected = await register(user, '0001');
    const dead = await register(user, '0002');
    const sent = await send({ to: [user] });
    const hook = await receiver.waitFor((received) => received.body.messageId === sent.body.id);
    expect(hook.body).toMatchObject({
      event: 'push.partial',
      data: { devicesTargeted: 3, devicesReached: 1, devicesFailed: 2, devicesRemoved: 1 },
    });
    const found = await settled(sent.body.id);
    expect(found).toMatchObject({
      status: 'sent',
      metadata: { devicesTargeted: 3, devicesReached: 1, devicesFailed: 2, devicesRemoved: 1 },
    });
    const statusOf = async (device: { id: string }) =>
      (await gateway.call('GET', `/developers/push/devices/${device.id}`, { key: account.key })).status;
    expect([await statusOf(good), await statusOf(rejected), await statusOf(dead)]).toEqual([200, 200, 404]);
    expect(eventsOf(sent.body.id)).toHaveLength(1);
  });

  it('to none gives one push.failed with an error, status failed (R141)', async () => {
    const user = newUser();
    await register(user, '0001');
    await register(user, '0002');
    const sent = await send({ to: user });
    const hook = await receiver.waitFor((received) => received.body.messageId === sent.body.id);
    expect(hook.body).toMatchObject({
      event: 'push.failed',
      data: { devicesReached: 0, devicesFailed: 2, devicesRemoved: 1, error: expect.any(String) },
    });
    expect((await settled(sent.body.id)).status).toBe('failed');
    expect(eventsOf(sent.body.id)).toHaveLength(1);
  });

  it('sends events that match the samples of the event list', async () => {
    const { body } = await gateway.call('GET', '/developers/webhooks/events', { key: account.key });
    for (const hook of receiver.received) {
      const { sample } = body.data.find(({ event }: { event: string }) => event === hook.body.event);
      expect(Object.keys(hook.body.data).sort()).toEqual(Object.keys(sample.data).sort());
    }
    expect(receiver.received.length).toBeGreaterThan(2);
  });

  it('retries devices whose platform is unavailable: the event waits for the last of them', async () => {
    const user = newUser();
    await register(user, '1000');
    await register(user, '0003');
    const sent = await send({ to: user });
    const hook = await receiver.waitFor((received) => received.body.messageId === sent.body.id);
    expect(hook.body).toMatchObject({ event: 'push.sent', data: { devicesReached: 2 } });
    const { timeline } = await settled(sent.body.id);
    const retries = timeline.filter((entry: { detail?: string }) =>
      entry.detail?.startsWith('Unavailable: '),
    );
    expect(retries).toHaveLength(2);
  });

  it('reaches single devices once each, whoever uses them', async () => {
    const user = newUser();
    const one = await register(user, '1000');
    await register(user, '2000');
    const sent = await send({ deviceIds: [one.id, one.id] });
    expect(sent.body).toMatchObject({ to: [one.id], metadata: { devicesTargeted: 1, duplicatesRemoved: 1 } });
    const both = await send({ to: `${user}, ${user}`, deviceIds: [one.id] });
    expect(both.body.metadata).toMatchObject({ devicesTargeted: 2, duplicatesRemoved: 1 });
    expect((await settled(sent.body.id)).recipients).toMatchObject([
      { to: `android:${one.id}`, status: 'sent' },
    ]);
  });

  it.each([
    ['nobody', {}],
    ['a user without devices', { to: 'nobody' }],
    ['a device that does not exist', { deviceIds: ['00000000-0000-7000-8000-000000000000'] }],
    ['what is no id', { deviceIds: ['x'] }],
  ])('to %s is no_target_devices', async (_name, body) => {
    const answer = await send(body);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'no_target_devices']);
  });

  it('reaches no device of another account', async () => {
    const user = newUser();
    const device = await register(user, '1000');
    const stranger = await gateway.createAccount();
    expect((await send({ to: user }, stranger.key)).body.error.code).toBe('no_target_devices');
    expect((await send({ deviceIds: [device.id] }, stranger.key)).body.error.code).toBe('no_target_devices');
  });

  it.each([
    ['an empty title', { title: '' }, 'title'],
    ['an empty body', { body: '' }, 'body'],
    ['no title', { title: undefined }, 'title'],
    ['a name in data that the platforms use', { data: { aps: 'x' } }, 'data.aps'],
    ['a click that runs a script', { clickUrl: 'javascript:alert(1)' }, 'clickUrl'],
    ['a picture that is no address', { imageUrl: 'picture.png' }, 'imageUrl'],
    ['a long collapse key', { collapseKey: 'é'.repeat(33) }, 'collapseKey'],
    ['a negative time to live', { ttlSeconds: -1 }, 'ttlSeconds'],
    ['more than the platforms take', { data: { long: 'x'.repeat(3500) } }, ''],
  ])('is refused with %s', async (_name, change, path) => {
    const user = newUser();
    await register(user, '1000');
    const answer = await send({ to: user, ...change });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_error']);
    expect(answer.body.error.details.fields[0].path).toBe(path);
  });

  it('repeats its first answer under an idempotency key, also after the devices are gone (R19)', async () => {
    const user = newUser();
    const device = await register(user, '1000');
    const first = await send({ to: user, idempotencyKey: 'push-once' });
    await settled(first.body.id);
    await gateway.call('DELETE', `/developers/push/devices/${device.id}`, { key: account.key });
    const again = await send({ to: user }, account.key, { 'Idempotency-Key': 'push-once' });
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('is in its history, found by user', async () => {
    const user = newUser();
    await register(user, '1000');
    const sent = await send({ to: user });
    const history = await gateway.call('GET', `/developers/push/history?to=${user}`, { key: account.key });
    expect(history.body.data).toMatchObject([{ id: sent.body.id, to: [user], content: 'From the gateway' }]);
  });

  it('can be scheduled and canceled, without an event (R18)', async () => {
    const user = newUser();
    await register(user, '1000');
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const sent = await send({ to: user, scheduledFor });
    expect(sent.body).toMatchObject({ status: 'pending', scheduledFor });
    const canceled = await gateway.call('DELETE', `/developers/messages/${sent.body.id}`, {
      key: account.key,
    });
    expect(canceled.body).toMatchObject({ status: 'failed', recipients: [{ error: { code: 'canceled' } }] });
    const feed = await gateway.call('GET', '/developers/events', { key: account.key });
    expect(feed.text).not.toContain(sent.body.id);
  });

  it('that is scheduled is sent at its time, but not to a device that changed users', async () => {
    const user = newUser();
    const kept = await register(user, '1000');
    const moved = await register(user, '2000');
    const sent = await send({ to: user, scheduledFor: new Date(Date.now() + 5_000).toISOString() });
    await gateway.call('POST', '/developers/push/devices', {
      key: account.key,
      body: { token: moved.token, platform: 'android', userId: 'the next owner' },
    });
    const found = await settled(sent.body.id);
    expect(found.recipients).toMatchObject([
      { to: `android:${kept.id}`, status: 'sent' },
      { to: `android:${moved.id}`, status: 'failed', error: { code: 'recipient_gone' } },
    ]);
  });

  it('in the sandbox is validated and recorded, and nothing is sent (R26)', async () => {
    const user = newUser();
    await register(user, '0002');
    expect((await send({ to: user }, account.sandboxKey)).body.error.code).toBe('no_target_devices');
    await register(user, '0002', {}, account.sandboxKey);
    const sent = await send({ to: user }, account.sandboxKey);
    expect(sent.body).toMatchObject({
      sandbox: true,
      status: 'sent',
      cost: 0,
      metadata: { devicesTargeted: 1, devicesReached: 1 },
    });
    expect(await lookUp(sent.body.id)).toMatchObject({
      status: 'sent',
      metadata: { devicesReached: 1, devicesRemoved: 0 },
    });
    const feed = await gateway.call('GET', '/developers/events', { key: account.key });
    expect(feed.text).not.toContain(sent.body.id);
  });

  it("costs the operator's price for each device, and refunds failed ones (R17)", async () => {
    const own = await gateway.createAccount(100);
    await gateway.parts.operations.prices.set.run(
      { kind: 'operator', userId: own.accountId },
      { currency: 'UGX', channel: 'push', prefix: '', amount: 5 },
    );
    try {
      await register('payer', '1000', {}, own.key);
      await register('payer', '0001', {}, own.key);
      const sent = await send({ to: 'payer' }, own.key);
      expect(sent.body.cost).toBe(10);
      await eventually(async () => {
        const { body } = await gateway.call('GET', '/account', { key: own.key });
        return body.balance === 95;
      });
    } finally {
      await gateway.parts.operations.prices.set.run(
        { kind: 'operator', userId: own.accountId },
        { currency: 'UGX', channel: 'push', prefix: '', amount: 0 },
      );
    }
  });
});

describe('push in production without configuration', () => {
  it('is 503 for apps, naming the channel; the gateway starts all the same (R26)', async () => {
    await using gateway = await startTestGateway({ NODE_ENV: 'production' });
    const account = await gateway.createAccount();
    const device = { token: 'token', platform: 'ios', userId: 'user' };
    await gateway.call('POST', '/developers/push/devices', { key: account.key, body: device });
    const body = { to: 'user', title: 'Hello', body: 'there' };
    const answer = await gateway.call('POST', '/developers/push', { key: account.key, body });
    expect([answer.status, answer.body.error.code]).toEqual([503, 'service_unavailable']);
    expect(answer.body.error.message).toContain('push');
    expect(answer.headers.has('retry-after')).toBe(true);
    await gateway.call('POST', '/developers/push/devices', { key: account.sandboxKey, body: device });
    const sandbox = await gateway.call('POST', '/developers/push', { key: account.sandboxKey, body });
    expect(sandbox.status).toBe(200);
  });
});

describe('push and delivery reports', () => {
  it('a sent push waits for no delivery report (R14)', async () => {
    await using gateway = await startTestGateway();
    const account = await gateway.createAccount();
    const device = { token: 'token-1000', platform: 'android', userId: 'user' };
    await gateway.call('POST', '/developers/push/devices', { key: account.key, body: device });
    const push = await gateway.call('POST', '/developers/push', {
      key: account.key,
      body: { to: 'user', title: 'Hello', body: 'there' },
    });
    const sms = await gateway.call('POST', '/developers/sms', {
      key: account.key,
      body: { to: '0700120004', message: 'Hello' },
    });
    const get = async (id: string) =>
      (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
    await eventually(
      async () => (await get(push.body.id)).status === 'sent' && (await get(sms.body.id)).status === 'sent',
    );
    await sweepAt(gateway, new Date(Date.now() + 73 * 3_600_000));
    expect((await get(sms.body.id)).statusReason).toBe('delivery_unconfirmed');
    expect(await get(push.body.id)).not.toHaveProperty('statusReason');
  });
});
