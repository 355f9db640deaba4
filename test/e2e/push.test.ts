import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apnsVariables, startApns } from '../support/apns.ts';
import { fcmError, startFcm } from '../support/fcm.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { decryptPush, newBrowser, startPushService } from '../support/push-service.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

describe('one push message to Android, iOS and a browser, over real protocols (R24)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let directory: string;
  let fcm: Awaited<ReturnType<typeof startFcm>>;
  let apns: Awaited<ReturnType<typeof startApns>>;
  let service: Awaited<ReturnType<typeof startPushService>>;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  const browser = newBrowser();

  beforeAll(async () => {
    [fcm, apns, service, receiver] = await Promise.all([
      startFcm(),
      startApns(),
      startPushService(),
      startWebhookReceiver(),
    ]);
    directory = await mkdtemp(join(tmpdir(), 'push-'));
    await writeFile(join(directory, 'fcm.json'), fcm.credentials);
    gateway = await startTestGateway({
      FCM_CREDENTIALS: join(directory, 'fcm.json'),
      FCM_URL: fcm.url,
      ...apnsVariables(apns.url),
    });
    account = await gateway.createAccount();
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['push.sent', 'push.partial', 'push.failed'] },
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    for (const peer of [fcm, apns, service, receiver]) await peer?.stop();
    if (directory) await rm(directory, { recursive: true });
  });

  const register = async (body: object) => {
    const answer = await gateway.call('POST', '/developers/push/devices', {
      key: account.key,
      body: { userId: 'amina', ...body },
    });
    expect(answer.status).toBe(201);
    return answer.body.id as string;
  };
  const send = async () => {
    const body = { to: 'amina', title: 'Hello', body: 'Amina', data: { order: '7' } };
    const sent = await gateway.call('POST', '/developers/push', { key: account.key, body });
    return receiver.waitFor((hook) => hook.body.messageId === sent.body.id);
  };

  it('reaches all of them, and deletes devices that are gone', async () => {
    await register({ platform: 'android', token: 'fcm-token' });
    await register({ platform: 'ios', token: 'a1b2c3d4' });
    const web = await register({ platform: 'web', token: service.endpoint('amina'), keys: browser.keys });
    expect((await send()).body).toMatchObject({ event: 'push.sent', data: { devicesReached: 3 } });
    expect(fcm.requests[0]?.message).toMatchObject({ token: 'fcm-token', data: { order: '7' } });
    expect(apns.requests[0]).toMatchObject({
      deviceToken: 'a1b2c3d4',
      payload: { aps: { alert: { title: 'Hello', body: 'Amina' } }, order: '7' },
    });
    const [request] = service.requests;
    expect(JSON.parse(decryptPush(request?.body ?? Buffer.alloc(0), browser))).toMatchObject({
      title: 'Hello',
      data: { order: '7' },
    });

    fcm.behaviour.answer = () => fcmError(404, 'NOT_FOUND', 'UNREGISTERED');
    service.behaviour.answer = () => ({ status: 410 });
    expect((await send()).body).toMatchObject({
      event: 'push.partial',
      data: { devicesTargeted: 3, devicesReached: 1, devicesFailed: 2, devicesRemoved: 2 },
    });
    const left = await gateway.call('GET', '/developers/push/devices', { key: account.key });
    expect(left.body.data).toMatchObject([{ platform: 'ios' }]);
    expect((await gateway.call('GET', `/developers/push/devices/${web}`, { key: account.key })).status).toBe(
      404,
    );
    expect((await send()).body).toMatchObject({ event: 'push.sent', data: { devicesTargeted: 1 } });
  });

  it("waits as long as a quota answer asks, but no longer than the message's lifetime", async () => {
    await register({ platform: 'android', token: 'another-token', userId: 'quota' });
    let count = 0;
    fcm.behaviour.answer = () => {
      count += 1;
      return count === 1
        ? fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED', { 'retry-after': '2' })
        : undefined;
    };
    const call = (body: object) =>
      gateway.call('POST', '/developers/push', {
        key: account.key,
        body: { to: 'quota', title: 'Hello', body: 'there', ...body },
      });
    const sent = await call({});
    await receiver.waitFor((hook) => hook.body.messageId === sent.body.id);
    const found = await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key: account.key });
    const note = found.body.timeline.find((entry: { detail?: string }) =>
      entry.detail?.includes('Unavailable: '),
    );
    const [, next = ''] = /Next try at (\S+)\.$/.exec(note.detail) ?? [];
    expect(Date.parse(next) - Date.parse(note.at)).toBe(2_000);

    fcm.behaviour.answer = () =>
      fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED', { 'retry-after': '120' });
    const brief = await call({ ttlSeconds: 30 });
    const hook = await receiver.waitFor((received) => received.body.messageId === brief.body.id);
    expect(hook.body).toMatchObject({ event: 'push.failed', data: { errorCode: 'expired' } });
  });

  it('uses a route of its own for each platform', () => {
    const names = gateway.parts.routing.health().map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['fcm:a-project', 'apns:com.example.app', 'web-push']));
    const routeOf = (address: string) => gateway.parts.routing.routeFor('push', address);
    expect([routeOf('android:1'), routeOf('ios:1'), routeOf('web:1'), routeOf('symbian:1')]).toEqual([
      'push:android:',
      'push:ios:',
      'push:web:',
      undefined,
    ]);
  });

  it.each([
    [{ FCM_CREDENTIALS: '/nowhere/fcm.json' }, 'FCM_CREDENTIALS cannot be used: there is no such file'],
    [{ APNS_KEY: '-----BEGIN nothing' }, /APNS_KEY_ID is missing.*\n.*APNS_TEAM_ID.*\n.*APNS_TOPIC/],
    [
      { APNS_KEY: '-----BEGIN x', APNS_KEY_ID: 'a', APNS_TEAM_ID: 'b', APNS_TOPIC: 'c' },
      'APNS_KEY cannot be used: it holds no private key in PEM',
    ],
    [
      { VAPID_PUBLIC_KEY: browser.keys.p256dh },
      'VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY cannot be used: the public key does not belong',
    ],
    [{ VAPID_SUBJECT: 'ops' }, 'VAPID_SUBJECT'],
    [{ WHATSAPP_TOKEN: 'x' }, 'WHATSAPP_PHONE_NUMBER_ID is missing'],
  ])('settings that cannot be used stop the start: %p', async (settings, message) => {
    await expect(startTestGateway(settings as Record<string, string>, gateway.database)).rejects.toThrow(
      message,
    );
  });
});
