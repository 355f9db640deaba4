import { createGuardedClient } from '../../src/channels/guarded-http/guarded-client.ts';
import { ApnsProvider } from '../../src/channels/push/apns-provider.ts';
import { FcmProvider } from '../../src/channels/push/fcm-provider.ts';
import { parseServiceAccount } from '../../src/channels/push/google-token.ts';
import { PushSimulator } from '../../src/channels/push/push-simulator.ts';
import { WebPushProvider } from '../../src/channels/push/web-push-provider.ts';
import type { PushSubmission } from '../../src/domain/ports/provider.ts';
import { APNS_ACCOUNT, startApns } from '../support/apns.ts';
import { fcmError, startFcm } from '../support/fcm.ts';
import { describeProvider, type Treatment } from '../support/provider-conformance.ts';
import { newBrowser, startPushService } from '../support/push-service.ts';
import { TEST_VAPID } from '../support/vapid.ts';

const timeoutMs = 2_000;
const content = {
  to: 'android:00000000-0000-7000-8000-000000000000',
  target: { accountId: 'account', token: 'device-token', keys: null, registeredAt: new Date() },
  title: 'Hello',
  body: 'there',
  data: {},
  priority: 'high',
} as const satisfies Partial<PushSubmission>;

describeProvider<PushSubmission>('FCM', async () => {
  const fcm = await startFcm();
  const answers = {
    accept: undefined,
    reject: fcmError(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'),
    throttle: fcmError(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'),
    silent: 'hang',
    down: 'reset',
  } as const;
  return {
    provider: new FcmProvider({
      account: parseServiceAccount(fcm.credentials),
      baseUrl: fcm.url,
      timeoutMs,
    }),
    content,
    arrange(treatment: Treatment) {
      fcm.behaviour.answer = () => answers[treatment];
      return undefined;
    },
    reached: fcm.begun,
    connections: fcm.connections,
    stop: fcm.stop,
  };
});

describeProvider<PushSubmission>(
  'APNs',
  async () => {
    const apns = await startApns();
    const answers = {
      accept: undefined,
      reject: { status: 400, reason: 'BadDeviceToken' },
      throttle: { status: 429, reason: 'TooManyRequests' },
      silent: 'hang',
      down: 'reset',
    } as const;
    return {
      provider: new ApnsProvider({ ...APNS_ACCOUNT, baseUrl: apns.url, timeoutMs }),
      content,
      arrange(treatment: Treatment) {
        apns.behaviour.answer = () => answers[treatment];
        return undefined;
      },
      reached: apns.begun,
      connections: apns.connections,
      stop: apns.stop,
    };
  },
  { isRepeatKnown: true },
);

describeProvider<PushSubmission>('Web Push', async () => {
  const service = await startPushService();
  const client = createGuardedClient({
    allowedNetworks: ['127.0.0.0/8'],
    requireHttps: false,
    maxConnectionsPerAccount: 8,
  });
  const answers = {
    accept: undefined,
    reject: { status: 400 },
    throttle: { status: 429 },
    silent: 'hang',
    down: 'reset',
  } as const;
  const provider = new WebPushProvider({
    client,
    keys: TEST_VAPID,
    subject: 'mailto:ops@example.com',
    timeoutMs,
  });
  return {
    provider: Object.assign(provider, {
      // In production the gateway creates the HTTP client, and closes it after the providers.
      stop: async () => {
        await WebPushProvider.prototype.stop.call(provider);
        await client.close();
      },
    }),
    content: {
      ...content,
      target: {
        accountId: 'account',
        token: service.endpoint('browser'),
        keys: newBrowser().keys,
        registeredAt: new Date(),
      },
    },
    arrange(treatment: Treatment) {
      service.behaviour.answer = () => answers[treatment];
      return undefined;
    },
    reached: () => service.requests.length,
    connections: service.connections,
    stop: service.stop,
  };
});

describeProvider<PushSubmission>(
  'The push simulator',
  async () => ({
    provider: new PushSimulator(),
    content,
    arrange(treatment: Treatment) {
      const ending = treatment === 'reject' ? '0001' : treatment === 'throttle' ? '0003' : '1000';
      return { target: { ...content.target, token: `token-${ending}` } };
    },
    reached: () => 0,
    connections: () => 0,
    stop: async () => undefined,
  }),
  { treatments: ['accept', 'reject', 'throttle'], isRepeatKnown: true },
);
