import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { crashAWorker, killWorkers } from '../support/crashing-workers.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** Longest time in ms until a delivery is recovered. Another process may take a job after 10 s without a heartbeat. */
const RECOVERY_MS = 90_000;
const STEPS = [
  { step: 'event recorded', sentBefore: 0, sentAfter: 1 },
  { step: 'job fetched', sentBefore: 0, sentAfter: 1 },
  // The worker died before it recorded the attempt. So the event is sent again with the same delivery id (at least
  // once).
  { step: 'attempt made, not recorded', sentBefore: 1, sentAfter: 2 },
  { step: 'attempt recorded, job not done', sentBefore: 1, sentAfter: 1 },
] as const;

const closers: (() => Promise<unknown>)[] = [];

/** Sends one SMS and kills its worker at `step`. */
async function crashAt(step: string) {
  const database = await createTestDatabase();
  closers.unshift(() => database.drop());
  const receiver = await startWebhookReceiver();
  closers.unshift(() => receiver.stop());
  const api = await startTestGateway({ ROLES: 'api' }, database);
  closers.unshift(() => api.stop());
  const { key } = await api.createAccount();
  const registered = await api.call('POST', '/developers/webhooks', {
    key,
    body: { url: receiver.url, events: ['sms.sent'] },
  });
  const sent = await api.call('POST', '/developers/sms', {
    key,
    body: { to: '+256700123456', message: 'Hello' },
  });
  await crashAWorker(step, database);
  return { database, receiver, api, key, registered, sent, sentBefore: receiver.received.length };
}

/** Starts a worker that takes over the dead worker's jobs. Returns the outcome. */
async function recover(crashed: Awaited<ReturnType<typeof crashAt>>) {
  const { database, receiver, api, key, registered, sent, sentBefore } = crashed;
  const worker = await startTestGateway({ ROLES: 'worker' }, database);
  closers.unshift(() => worker.stop());
  const path = `/developers/webhooks/${registered.body.webhook.id}/deliveries`;
  const deliveries = await eventually(async () => {
    const { data } = (await api.call('GET', path, { key })).body;
    return data[0]?.status === 'success' && data;
  }, RECOVERY_MS);
  // The job of the dead worker is deleted, so no further attempt can follow.
  await eventually(async () => {
    const { webhook, 'webhook-backlog': backlog } = await worker.parts.queue.depth();
    return webhook + backlog === 0;
  }, RECOVERY_MS);
  const feed = await api.call('GET', '/developers/events', { key });
  return {
    messageId: sent.body.id,
    sentBefore,
    deliveries,
    feed: feed.body.data,
    received: receiver.received,
  };
}

describe('kill -9 during a webhook delivery (R163, R166)', () => {
  // The crashes happen one after another. The recoveries run at the same time, because they mostly wait for the
  // heartbeat timeout.
  const crashes = new Map<string, ReturnType<typeof recover>>();
  beforeAll(() => {
    let before: Promise<unknown> = Promise.resolve();
    for (const { step } of STEPS) {
      const crashed = before.then(() => crashAt(step));
      before = crashed.catch(() => undefined);
      const crash = crashed.then(recover);
      crash.catch(() => undefined);
      crashes.set(step, crash);
    }
  });
  afterAll(async () => {
    killWorkers();
    await Promise.allSettled(crashes.values());
    for (const close of closers) await close();
  });

  it.each(STEPS)(
    'after "$step" loses nothing: the event is delivered under one id',
    async ({ step, sentBefore, sentAfter }) => {
      const crash = await crashes.get(step);
      if (!crash) throw new Error('not started');
      expect(crash.sentBefore).toBe(sentBefore);
      expect(crash.received).toHaveLength(sentAfter);
      expect(crash.deliveries).toEqual([
        expect.objectContaining({ messageId: crash.messageId, status: 'success', attempts: 1 }),
      ]);
      const ids = crash.received.map((hook) => hook.headers['x-service-delivery']);
      expect(new Set(ids)).toEqual(new Set([crash.deliveries[0].id]));
      expect(new Set(crash.received.map((hook) => hook.raw.toString())).size).toBe(1);
      expect(crash.feed).toEqual([crash.received[0]?.body]);
    },
    2 * RECOVERY_MS + 30_000,
  );
});
