import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startSmsc } from '../support/smsc.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

describe('one SMS from POST to carrier to signed webhook', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
  });
  const opened: { stop(): Promise<void> }[] = [];
  afterAll(async () => {
    await gateway.stop();
    for (const peer of opened) await peer.stop();
  });

  const history = async () =>
    (await gateway.call('GET', '/developers/sms/history', { key: account.key })).body.data;

  it('is delivered by the simulator, charged once, and reported to the webhook with the documented signature', async () => {
    const receiver = await startWebhookReceiver();
    opened.push(receiver);
    const registered = await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['sms.sent', 'sms.failed'] },
    });
    expect(registered.status).toBe(201);

    const sent = await gateway.call('POST', '/developers/sms', {
      key: account.key,
      body: { to: '+256700123456', message: 'Hello' },
    });
    expect(sent.status).toBe(200);
    expect(sent.body).toMatchObject({ sid: null, status: 'pending', cost: 30, to: ['+256700123456'] });

    const hook = await receiver.waitFor((received) => received.body.messageId === sent.body.id);
    expect(hook.body).toMatchObject({
      event: 'sms.sent',
      channel: 'sms',
      data: { to: '+256700123456', from: 'SERVICE', message: 'Hello' },
    });
    const [, time, v1] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(hook.headers['x-service-signature'])) ?? [];
    const expected = createHmac('sha256', registered.body.secret)
      .update(`${time}.`)
      .update(hook.raw)
      .digest('hex');
    expect(v1).toBe(expected);
    expect(hook.headers['x-service-event']).toBe('sms.sent');
    expect(hook.headers['user-agent']).toBe('Service-Webhooks/1.0');

    await eventually(async () => (await history())[0].status === 'delivered');
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(99_970);
  });

  it('is sent to an SMSC over SMPP and follows its delivery report', async () => {
    const smsc = await startSmsc({ reports: { form: 'text', when: 'after' } });
    opened.push(smsc);
    await using smpp = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}` });
    const owner = await smpp.createAccount();
    const sent = await smpp.call('POST', '/developers/sms', {
      key: owner.key,
      body: { to: '0700123456', message: 'Hello over SMPP €', from: 'ACME' },
    });
    expect(sent.status).toBe(200);
    const found = await eventually(async () => {
      const details = await smpp.call('GET', `/developers/messages/${sent.body.id}`, { key: owner.key });
      return details.body.status === 'delivered' && details.body;
    });
    expect(found.sid).not.toBeNull();
    expect(found.timeline.map((entry: { status: string }) => entry.status)).toEqual([
      'pending',
      'sent',
      'delivered',
    ]);
    expect(smsc.messages()).toEqual([expect.objectContaining({ text: 'Hello over SMPP €' })]);
  });
});
