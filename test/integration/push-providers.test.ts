/**
 * Tests the push providers with their real protocols (R24). push-conformance.test.ts tests what holds for all
 * providers.
 */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { createGuardedClient } from '../../src/channels/guarded-http/guarded-client.ts';
import { ApnsProvider } from '../../src/channels/push/apns-provider.ts';
import { FcmProvider } from '../../src/channels/push/fcm-provider.ts';
import { parseServiceAccount } from '../../src/channels/push/google-token.ts';
import { WebPushProvider } from '../../src/channels/push/web-push-provider.ts';
import type { PushSubmission } from '../../src/domain/ports/provider.ts';
import { APNS_ACCOUNT, startApns } from '../support/apns.ts';
import { fcmError, startFcm } from '../support/fcm.ts';
import { decryptPush, newBrowser, startPushService, vapidClaims } from '../support/push-service.ts';
import { selfSignedCertificate } from '../support/self-signed.ts';
import { TEST_VAPID } from '../support/vapid.ts';

const signal = new AbortController().signal;
/** Timeout in ms for requests that get an answer. Tests of timeouts set their own. */
const timeoutMs = 30_000;
const submission = (more: Partial<PushSubmission> = {}): PushSubmission => ({
  messageId: '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3',
  position: 0,
  to: 'android:019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d4',
  from: 'ACME',
  attempt: 0,
  expiresAt: new Date(Date.now() + 3_600_000),
  target: { accountId: 'account', token: 'device-token', keys: null, registeredAt: new Date() },
  title: 'Title',
  body: 'Body with ünïcödé 🎉',
  data: { orderId: '42' },
  imageUrl: 'https://example.com/a.png',
  clickUrl: 'app://orders/42',
  collapseKey: 'order-42',
  priority: 'high',
  ...more,
});

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  jest.useRealTimers();
  for (const close of opened.splice(0).reverse()) await close();
});

describe('FCM', () => {
  const open = async () => {
    const fcm = await startFcm();
    const account = parseServiceAccount(fcm.credentials);
    const provider = new FcmProvider({ account, baseUrl: fcm.url, timeoutMs });
    opened.push(
      () => fcm.stop(),
      () => provider.stop(),
    );
    return { fcm, provider };
  };

  it("sends the message in FCM's format", async () => {
    const { fcm, provider } = await open();
    const outcome = await provider.submit(
      submission({ keepUntil: new Date(Date.now() + 3_600_000) }),
      signal,
    );
    expect(outcome).toEqual({ kind: 'accepted', sid: 'projects/a-project/messages/0:1' });
    expect(fcm.requests[0]?.message).toEqual({
      token: 'device-token',
      notification: { title: 'Title', body: 'Body with ünïcödé 🎉', image: 'https://example.com/a.png' },
      data: { orderId: '42', clickUrl: 'app://orders/42' },
      android: { priority: 'HIGH', ttl: expect.stringMatching(/^3(600|5\d\d)s$/), collapse_key: 'order-42' },
      apns: {
        headers: {
          'apns-priority': '10',
          'apns-expiration': expect.stringMatching(/^\d{10}$/),
          'apns-collapse-id': 'order-42',
        },
      },
    });
  });

  it('fetches one access token for all concurrent messages, and uses it until it expires', async () => {
    const { fcm, provider } = await open();
    await Promise.all(Array.from({ length: 20 }, () => provider.submit(submission(), signal)));
    await provider.submit(submission(), signal);
    expect(fcm.tokensGiven()).toBe(1);
    expect(fcm.requests).toHaveLength(21);
  });

  it('fetches a new token shortly before the old one expires', async () => {
    const { fcm, provider } = await open();
    fcm.behaviour.expiresIn = 30;
    await provider.submit(submission(), signal);
    await provider.submit(submission(), signal);
    expect(fcm.tokensGiven()).toBe(2);
  });

  it('fetches a new token, once, when the old one is refused early', async () => {
    const { fcm, provider } = await open();
    await provider.submit(submission(), signal);
    fcm.behaviour.isValid = (token) => token === 'ya29.2';
    const outcomes = await Promise.all([1, 2, 3].map(() => provider.submit(submission(), signal)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted']);
    expect(fcm.tokensGiven()).toBe(2);
    fcm.behaviour.isValid = () => false;
    expect(await provider.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(fcm.tokensGiven()).toBe(3);
    expect(provider.health()).toMatchObject({ state: 'down', detail: expect.stringContaining('token') });
    fcm.behaviour.isValid = () => true;
    expect(await provider.submit(submission(), signal)).toMatchObject({ kind: 'accepted' });
    expect(provider.health().state).toBe('up');
  });

  it('reports the provider as unavailable while it gets no token', async () => {
    const { fcm, provider } = await open();
    fcm.behaviour.tokenStatus = 400;
    expect(await provider.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
      reason: expect.stringContaining('invalid_grant'),
    });
    expect(fcm.begun()).toBe(0);
  });

  it.each([
    ['UNREGISTERED', fcmError(404, 'NOT_FOUND', 'UNREGISTERED'), { kind: 'rejected', code: 'unregistered' }],
    [
      'INVALID_ARGUMENT',
      fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'),
      { kind: 'rejected', code: 'INVALID_ARGUMENT' },
    ],
    [
      'SENDER_ID_MISMATCH',
      fcmError(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'),
      { kind: 'rejected', code: 'SENDER_ID_MISMATCH' },
    ],
    [
      'QUOTA_EXCEEDED with Retry-After',
      fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED', { 'retry-after': '7' }),
      { kind: 'unavailable', retryAfterMs: 7_000, definitelyNotSent: true },
    ],
    [
      'QUOTA_EXCEEDED without it',
      fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'),
      { kind: 'unavailable', retryAfterMs: 60_000, definitelyNotSent: true },
    ],
    [
      'UNAVAILABLE',
      fcmError(503, 'UNAVAILABLE', 'UNAVAILABLE', { 'retry-after': '3' }),
      { kind: 'unavailable', retryAfterMs: 3_000 },
    ],
    ['INTERNAL', fcmError(500, 'INTERNAL', 'INTERNAL'), { kind: 'unavailable' }],
    ['a page instead of JSON', { status: 502 }, { kind: 'unavailable' }],
    ['200 and no JSON', { status: 200 }, { kind: 'unavailable' }],
    [
      '200 without a name, so that it is not shown twice',
      { status: 200, body: {} },
      { kind: 'accepted', sid: 'unnamed:019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3:0:0' },
    ],
    [
      'a project that does not exist',
      fcmError(404, 'NOT_FOUND'),
      { kind: 'unavailable', definitelyNotSent: true },
    ],
    ['no permission', fcmError(403, 'PERMISSION_DENIED'), { kind: 'unavailable', definitelyNotSent: true }],
  ])('treats %s correctly', async (_name, answer, expected) => {
    const { fcm, provider } = await open();
    fcm.behaviour.answer = () => answer;
    const outcome = await provider.submit(submission(), signal);
    expect(outcome).toMatchObject(expected);
    if (!('definitelyNotSent' in expected)) expect(outcome).not.toHaveProperty('definitelyNotSent');
    if (!('retryAfterMs' in expected)) expect(outcome).not.toHaveProperty('retryAfterMs');
  });

  it.each([
    ['no JSON', 'x', 'not JSON'],
    ['null', 'null', 'token_uri'],
    ['no project', '{"token_uri":"https://example.com"}', 'project_id'],
    [
      'no key',
      '{"token_uri":"https://example.com","project_id":"p","client_email":"c","private_key":"k"}',
      'PEM',
    ],
  ])('says what is wrong with a credentials file that has %s', (_name, text, words) => {
    expect(() => parseServiceAccount(text)).toThrow(words);
  });
});

describe('APNs', () => {
  const open = async (identity?: { key: string; cert: string }, patienceMs = timeoutMs) => {
    const apns = await startApns(identity);
    const provider = new ApnsProvider({
      ...APNS_ACCOUNT,
      baseUrl: apns.url,
      timeoutMs: patienceMs,
      ca: identity?.cert,
    });
    opened.push(
      () => apns.stop(),
      () => provider.stop(),
    );
    return { apns, provider };
  };

  it("sends the notification in APNs's format, over TLS", async () => {
    const { apns, provider } = await open(selfSignedCertificate());
    const outcome = await provider.submit(submission({ priority: 'normal' }), signal);
    const [request] = apns.requests;
    expect(outcome).toEqual({ kind: 'accepted', sid: request?.headers['apns-id'] });
    expect(request).toMatchObject({
      deviceToken: 'device-token',
      headers: {
        'apns-topic': 'com.example.app',
        'apns-push-type': 'alert',
        'apns-priority': '5',
        'apns-collapse-id': 'order-42',
        'apns-expiration': expect.stringMatching(/^\d{10}$/),
        'apns-id': expect.stringMatching(
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        ),
      },
      payload: {
        aps: { alert: { title: 'Title', body: 'Body with ünïcödé 🎉' }, 'mutable-content': 1 },
        orderId: '42',
        imageUrl: 'https://example.com/a.png',
        clickUrl: 'app://orders/42',
      },
    });
  });

  it('rejects an untrusted certificate', async () => {
    const apns = await startApns(selfSignedCertificate());
    const provider = new ApnsProvider({ ...APNS_ACCOUNT, baseUrl: apns.url, timeoutMs });
    opened.push(
      () => apns.stop(),
      () => provider.stop(),
    );
    expect(await provider.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(apns.begun()).toBe(0);
  });

  it('asks for immediate delivery only when the message has no later use', async () => {
    const { apns, provider } = await open();
    await provider.submit(submission({ keepUntil: new Date(Date.now() - 1_000) }), signal);
    expect(apns.requests[0]?.headers['apns-expiration']).toBe('0');
  });

  it('sends many over one connection, with one provider token', async () => {
    const { apns, provider } = await open();
    const all = Array.from({ length: 50 }, (_, position) =>
      provider.submit(submission({ position }), signal),
    );
    expect((await Promise.all(all)).every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(apns.connections()).toBe(1);
    expect(new Set(apns.requests.map((request) => request.providerToken)).size).toBe(1);
    expect(new Set(apns.requests.map((request) => request.headers['apns-id'])).size).toBe(50);
  });

  it('makes a new provider token within an hour, but not within 20 minutes', async () => {
    const { apns, provider } = await open();
    const now = Date.now();
    jest.useFakeTimers({
      now,
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'queueMicrotask'],
    });
    await provider.submit(submission(), signal);
    jest.setSystemTime(now + 21 * 60_000);
    await provider.submit(submission(), signal);
    jest.setSystemTime(now + 59 * 60_000);
    await provider.submit(submission(), signal);
    const [first, second, third] = apns.requests.map((request) => request.providerToken);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('makes a new provider token, once, when APNs calls the old one expired', async () => {
    const { apns, provider } = await open();
    const now = Date.now();
    jest.useFakeTimers({
      now: now - 7_200_000,
      doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'queueMicrotask'],
    });
    const old = provider.submit(submission(), signal);
    jest.setSystemTime(now);
    expect(await old).toMatchObject({ kind: 'accepted' });
    expect(new Set(apns.requests.map((request) => request.providerToken)).size).toBe(2);
    apns.behaviour.answer = () => ({ status: 403, reason: 'ExpiredProviderToken' });
    expect(await provider.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(apns.requests).toHaveLength(4);
    expect(provider.health().state).toBe('down');
  });

  const before = new Date(Date.now() - 86_400_000);
  it.each([
    [
      'Unregistered',
      { status: 410, reason: 'Unregistered', timestamp: Date.now() },
      { kind: 'rejected', code: 'unregistered' },
    ],
    ['ExpiredToken', { status: 410, reason: 'ExpiredToken' }, { kind: 'rejected', code: 'unregistered' }],
    [
      'Unregistered, as of before the app registered again',
      { status: 410, reason: 'Unregistered', timestamp: before.getTime() - 1 },
      { kind: 'rejected', code: 'Unregistered' },
    ],
    [
      'BadDeviceToken',
      { status: 400, reason: 'BadDeviceToken' },
      { kind: 'rejected', code: 'BadDeviceToken' },
    ],
    [
      'DeviceTokenNotForTopic',
      { status: 400, reason: 'DeviceTokenNotForTopic' },
      { kind: 'rejected', code: 'DeviceTokenNotForTopic' },
    ],
    [
      'PayloadTooLarge',
      { status: 413, reason: 'PayloadTooLarge' },
      { kind: 'rejected', code: 'PayloadTooLarge' },
    ],
    [
      'TopicDisallowed',
      { status: 400, reason: 'TopicDisallowed' },
      { kind: 'unavailable', definitelyNotSent: true },
    ],
    [
      'InvalidProviderToken',
      { status: 403, reason: 'InvalidProviderToken' },
      { kind: 'unavailable', definitelyNotSent: true },
    ],
    [
      'TooManyRequests with Retry-After',
      { status: 429, reason: 'TooManyRequests', headers: { 'retry-after': '9' } },
      { kind: 'unavailable', definitelyNotSent: true, retryAfterMs: 9_000, onlyThis: true },
    ],
    [
      'TooManyProviderTokenUpdates',
      { status: 429, reason: 'TooManyProviderTokenUpdates' },
      { kind: 'unavailable', definitelyNotSent: true },
    ],
    [
      'ServiceUnavailable',
      { status: 503, reason: 'ServiceUnavailable', headers: { 'retry-after': '4' } },
      { kind: 'unavailable', retryAfterMs: 4_000 },
    ],
    ['InternalServerError', { status: 500, reason: 'InternalServerError' }, { kind: 'unavailable' }],
  ])('treats %s correctly', async (_name, answer, expected) => {
    const { apns, provider } = await open();
    apns.behaviour.answer = () => answer;
    const target = { accountId: 'account', token: 'device-token', keys: null, registeredAt: before };
    const outcome = await provider.submit(submission({ target }), signal);
    expect(outcome).toMatchObject(expected);
    if (!('definitelyNotSent' in expected)) expect(outcome).not.toHaveProperty('definitelyNotSent');
    if (!('onlyThis' in expected)) expect(outcome).not.toHaveProperty('onlyThis');
  });

  it('opens a new connection when APNs closes this one', async () => {
    const { apns, provider } = await open(undefined, 3_000);
    apns.behaviour.answer = (_request, count) => (count === 1 ? 'goaway' : undefined);
    expect(await provider.submit(submission(), signal)).toMatchObject({ kind: 'unavailable' });
    expect(await provider.submit(submission(), signal)).toMatchObject({ kind: 'accepted' });
  });

  it('learns at once of a request that APNs refuses in its GOAWAY', async () => {
    const { apns, provider } = await open(undefined, 60_000);
    apns.behaviour.answer = (_request, count) => (count === 2 ? 'refused' : undefined);
    await provider.submit(submission(), signal);
    const refused = await provider.submit(submission(), signal);
    expect(refused).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(await provider.submit(submission(), signal)).toMatchObject({ kind: 'accepted' });
  });

  it('refuses a key that is not a key', () => {
    expect(() => new ApnsProvider({ ...APNS_ACCOUNT, key: 'x' })).toThrow('no private key in PEM');
  });
});

describe('Web Push', () => {
  const open = async (allowedNetworks = ['127.0.0.0/8']) => {
    const service = await startPushService();
    const client = createGuardedClient({ allowedNetworks, requireHttps: false, maxConnectionsPerAccount: 8 });
    const provider = new WebPushProvider({
      client,
      keys: TEST_VAPID,
      subject: 'mailto:ops@example.com',
      timeoutMs,
    });
    opened.push(
      () => service.stop(),
      () => client.close(),
      () => provider.stop(),
    );
    const browser = newBrowser();
    const to = (more: Partial<PushSubmission> = {}) =>
      submission({
        target: {
          accountId: 'account',
          token: service.endpoint('b1'),
          keys: browser.keys,
          registeredAt: new Date(),
        },
        ...more,
      });
    return { service, provider, browser, to };
  };

  it("the test's receiver decrypts the example of RFC 8291", () => {
    const text = decryptPush(
      Buffer.from(
        'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
        'base64url',
      ),
      {
        privateKey: Buffer.from('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94', 'base64url'),
        publicKey: Buffer.from(
          'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
          'base64url',
        ),
        auth: Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url'),
      },
    );
    expect(text).toBe('When I grow up, I want to be a watermelon');
  });

  it('encrypts for the browser alone, and signs as the gateway', async () => {
    const { service, provider, browser, to } = await open();
    const keepUntil = new Date(Date.now() + 600_000);
    const outcome = await provider.submit(to({ keepUntil }), signal);
    expect(outcome).toEqual({ kind: 'accepted', sid: `${service.url}/m/1` });
    const [request] = service.requests;
    if (!request) throw new Error('nothing came');
    expect(request.path).toBe('/push/b1');
    expect(request.headers).toMatchObject({
      'content-encoding': 'aes128gcm',
      urgency: 'high',
      topic: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
      ttl: expect.stringMatching(/^(600|5\d\d)$/),
    });
    expect(JSON.parse(decryptPush(request.body, browser))).toEqual({
      title: 'Title',
      body: 'Body with ünïcödé 🎉',
      data: { orderId: '42' },
      imageUrl: 'https://example.com/a.png',
      clickUrl: 'app://orders/42',
    });
    expect(() => decryptPush(request.body, newBrowser())).toThrow();
    const { claims, publicKey } = vapidClaims(request.headers);
    expect(publicKey).toBe(TEST_VAPID.publicKey);
    expect(claims).toMatchObject({ aud: service.url, sub: 'mailto:ops@example.com' });
    expect(claims.exp - Date.now() / 1000).toBeGreaterThan(0);
    expect(claims.exp - Date.now() / 1000).toBeLessThanOrEqual(86_400);
  });

  it.each([
    ['404', { status: 404 }, { kind: 'rejected', code: 'unregistered' }],
    ['410', { status: 410 }, { kind: 'rejected', code: 'unregistered' }],
    ['413', { status: 413 }, { kind: 'rejected', code: 'http_413' }],
    ['403', { status: 403 }, { kind: 'rejected', code: 'http_403' }],
    [
      '301',
      { status: 301, headers: { location: 'http://10.0.0.1/' } },
      { kind: 'rejected', code: 'http_301' },
    ],
    [
      '429 with Retry-After',
      { status: 429, headers: { 'retry-after': '5' } },
      { kind: 'unavailable', definitelyNotSent: true, retryAfterMs: 5_000, onlyThis: true },
    ],
    [
      '503 with Retry-After as a date',
      { status: 503, headers: { 'retry-after': new Date(Date.now() + 7_200_000).toUTCString() } },
      { kind: 'unavailable', retryAfterMs: 3_600_000, onlyThis: true },
    ],
    ['500', { status: 500 }, { kind: 'unavailable', onlyThis: true }],
  ])('treats %s correctly', async (_name, answer, expected) => {
    const { service, provider, to } = await open();
    service.behaviour.answer = () => answer;
    const outcome = await provider.submit(to(), signal);
    expect(outcome).toMatchObject(expected);
    if (!('definitelyNotSent' in expected)) expect(outcome).not.toHaveProperty('definitelyNotSent');
  });

  it('sends nothing to an address inside the network, whatever was registered', async () => {
    const { service, provider, to } = await open([]);
    // The outcome is the same as for a host name that does not resolve.
    expect(await provider.submit(to(), signal)).toMatchObject({
      kind: 'unavailable',
      reason: 'push service: the host does not resolve to a public address',
      definitelyNotSent: true,
      onlyThis: true,
    });
    expect(service.requests).toHaveLength(0);
  });

  it('refuses a point that is not on the curve', async () => {
    const { provider, to } = await open();
    const keys = {
      p256dh: Buffer.alloc(65, 4).toString('base64url'),
      auth: Buffer.alloc(16).toString('base64url'),
    };
    const target = { accountId: 'account', token: to().target.token, keys, registeredAt: new Date() };
    expect(await provider.submit(to({ target }), signal)).toMatchObject({
      kind: 'rejected',
      code: 'invalid_keys',
    });
  });
});
