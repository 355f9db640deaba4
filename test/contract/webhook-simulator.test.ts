import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OwnReceiver } from '../../src/channels/webhook/own-receiver.ts';
import type { ApiKeyCaller } from '../../src/domain/caller.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const QUERY = '{ simulatorReceiverUrl }';

describe("the gateway's own webhook receiver", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let outsider: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  beforeAll(async () => {
    // By default no private network is allowed.
    gateway = await startTestGateway({ WEBHOOK_ALLOWED_NETWORKS: '' });
    account = await gateway.createAccount();
    outsider = await startWebhookReceiver();
  });
  afterAll(async () => {
    await gateway?.stop();
    await outsider?.stop();
  });

  const call = (method: string, path: string, body?: unknown) =>
    gateway.call(method, `/developers${path}`, { key: account.key, ...(body ? { body } : {}) });
  const register = (url: string) => call('POST', '/webhooks', { url, events: ['sms.sent'] });
  const offered = async (at: TestGateway, who: TestAccount) =>
    (await graphql(at, QUERY, { token: await signIn(at, who) })).body.data.simulatorReceiverUrl;

  it('is offered, can be registered, gets events of an SMS, and answers with what it received', async () => {
    const url = await offered(gateway, account);
    expect(url).toBe(`${gateway.url}/simulator/webhook/first-webhook`);
    const registered = await register(url);
    expect(registered.status).toBe(201);
    const { id } = registered.body.webhook;
    await call('POST', '/sms', { to: '+256700123456', message: 'Hello' });
    const delivery = await eventually(async () => {
      const { data } = (await call('GET', `/webhooks/${id}/deliveries`)).body;
      return data[0]?.status === 'success' && data[0];
    });
    expect(delivery).toMatchObject({ event: 'sms.sent', httpStatus: 200, attempts: 1 });
    expect(JSON.parse(delivery.responseBody)).toEqual({
      receiver: expect.stringMatching(/simulator/),
      event: 'sms.sent',
      deliveryId: delivery.id,
      hasSignature: true,
      bytes: expect.any(Number),
    });
    await call('DELETE', `/webhooks/${id}`);
  });

  it('works with any name in its path', async () => {
    for (const name of ['a', 'x'.repeat(64), 'My_own-1']) {
      const registered = await register(`${gateway.url}/simulator/webhook/${name}`);
      expect(registered.status).toBe(201);
      await call('DELETE', `/webhooks/${registered.body.webhook.id}`);
    }
  });

  it('opens no other way in: every other private address stays refused, in any spelling', async () => {
    const { port } = new URL(gateway.url);
    const base = `http://127.0.0.1:${port}`;
    expect(gateway.url).toBe(base);
    const path = '/simulator/webhook/x';
    const other = new URL(outsider?.url ?? '').port;
    const addresses = [
      `${base}/`,
      `${base}/graphql`,
      `${base}/metrics`,
      `${base}/health/live`,
      `${base}/api/v1/account`,
      `${base}/callbacks/sms/twilio`,
      `${base}/simulator/webhook`,
      `${base}/simulator/webhook/`,
      `${base}/simulator/webhook/${'x'.repeat(65)}`,
      `${base}${path}/`,
      `${base}${path}/y`,
      `${base}${path}?y=1`,
      `${base}${path}#y`,
      `${base}${path}%2f`,
      `${base}${path}.`,
      `${base}/simulator/webhook/..`,
      `${base}/simulator/webhook/%2e%2e`,
      `${base}/simulator/webhook/../../graphql`,
      `${base}/simulator/webhook/%2e%2e/%2e%2e/graphql`,
      `${base}/simulator/webhook/x;y`,
      `${base}/simulator/webhook/é`,
      `${base}//simulator/webhook/x`,
      `${base}/./simulator/webhook/x`,
      `${base}/Simulator/webhook/x`,
      `${base}\\simulator\\webhook\\x`,
      `http://127.0.0.1:${other}${path}`,
      `http://127.0.0.1${path}`,
      `http://127.0.0.1:0${port}${path}`,
      `http://localhost:${port}${path}`,
      `http://LOCALHOST:${port}${path}`,
      `http://127.1:${port}${path}`,
      `http://127.0.0.2:${port}${path}`,
      `http://0.0.0.0:${port}${path}`,
      `http://0:${port}${path}`,
      `http://0x7f.0.0.1:${port}${path}`,
      `http://2130706433:${port}${path}`,
      `http://127.0.0.1.:${port}${path}`,
      `http://[::1]:${port}${path}`,
      `http://[::ffff:127.0.0.1]:${port}${path}`,
      `http://127.0.0.1:${port}@127.0.0.1:${other}${path}`,
      `http://a@127.0.0.1:${port}${path}`,
      `http:127.0.0.1:${port}${path}`,
      `HTTP://127.0.0.1:${port}${path}`,
      `https://127.0.0.1:${port}${path}`,
      ` ${base}${path}`,
      `${base}${path}\n`,
    ];
    const codes = new Map<string, unknown>();
    for (const url of addresses) codes.set(url, (await register(url)).body.error?.code);
    expect(Object.fromEntries(codes)).toEqual(
      Object.fromEntries(addresses.map((url) => [url, 'invalid_webhook_url'])),
    );
    const kept = await register(`${base}${path}`);
    const { id } = kept.body.webhook;
    expect((await call('PUT', `/webhooks/${id}`, { url: `${base}/graphql` })).body.error?.code).toBe(
      'invalid_webhook_url',
    );
    await call('DELETE', `/webhooks/${id}`);
    expect(outsider?.received).toEqual([]);
  });

  it('is checked again at every attempt, with the stored address', async () => {
    const { id } = (await register(`${gateway.url}/simulator/webhook/x`)).body.webhook;
    for (const url of [`${gateway.url}/graphql`, outsider?.url ?? '']) {
      await withKnex(gateway.database.connection, (knex) => knex('webhooks').where({ id }).update({ url }));
      const { delivery } = (await call('POST', `/webhooks/${id}/test`)).body;
      expect(delivery).toMatchObject({
        httpStatus: null,
        errorMessage: 'the host does not resolve to a public address',
      });
    }
    expect(outsider?.received).toEqual([]);
    await call('DELETE', `/webhooks/${id}`);
  });

  it('is a target for webhooks only', async () => {
    const url = `${gateway.url}/simulator/webhook/x`;
    const media = { to: '+256700123456', type: 'media', media: { type: 'image', url } };
    const sent = await call('POST', '/whatsapp', media);
    expect([sent.status, sent.body.error?.message]).toEqual([
      400,
      expect.stringMatching(/media\.url: .*does not resolve to a public address/),
    ]);
    const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) };
    const device = await call('POST', '/push/devices', { token: url, platform: 'web', userId: 'u', keys });
    expect([device.status, device.body.error?.message]).toEqual([
      400,
      expect.stringMatching(/does not resolve to a public address/),
    ]);
  });

  it('answers any POST, without repeating its content', async () => {
    const url = `${gateway.url}/simulator/webhook/x`;
    const answer = await fetch(url, {
      method: 'POST',
      body: '<script>',
      headers: { 'X-Service-Event': 'sms.sent' },
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(await answer.json()).toMatchObject({
      event: 'sms.sent',
      deliveryId: null,
      hasSignature: false,
      bytes: 8,
    });
    const statusOf = async (address: string, init: RequestInit) => (await fetch(address, init)).status;
    expect(await statusOf(url, {})).toBe(404);
    expect(await statusOf(`${url}%20y`, { method: 'POST' })).toBe(404);
    expect(await statusOf(`${url}/y`, { method: 'POST' })).toBe(404);
    expect(await statusOf(url, { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1) })).toBe(413);
  });
});

describe("the gateway's own webhook receiver at another address", () => {
  it('is reached at PUBLIC_URL, but not where that redirects to', async () => {
    const inside = await startWebhookReceiver();
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(String(request.url));
      response.writeHead(307, { Location: inside.url }).end();
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const origin = `http://localhost:${(proxy.address() as AddressInfo).port}`;
    const gateway = await startTestGateway({
      WEBHOOK_ALLOWED_NETWORKS: '',
      PUBLIC_URL: `${origin}/gateway/`,
    });
    try {
      const { accountId } = await gateway.createAccount();
      const caller: ApiKeyCaller = {
        kind: 'api-key',
        accountId,
        keyId: '0123456789abcdef',
        scopes: ['FULL_ACCESS'],
        environment: 'production',
      };
      const { webhooks, events } = gateway.parts.operations;
      const url = await events.simulatorUrl.run(SYSTEM, {});
      expect(url).toBe(`${origin}/gateway/simulator/webhook/first-webhook`);
      const register = (target: string) =>
        webhooks.register.run(caller, { url: target, events: ['sms.sent'] }).catch((error: Error) => error);
      expect(await register(`${origin}/simulator/webhook/x`)).toMatchObject({ code: 'invalid_webhook_url' });
      const registered = await register(String(url));
      if (registered instanceof Error) throw registered;
      const { delivery } = await webhooks.test.run(caller, { id: registered.webhook.id });
      expect(delivery).toMatchObject({
        httpStatus: 307,
        errorMessage: 'answered 307; redirects are not followed',
      });
      expect(asked).toEqual(['/gateway/simulator/webhook/first-webhook']);
      expect(inside.received).toEqual([]);
    } finally {
      await gateway.stop();
      proxy.close();
      proxy.closeAllConnections();
      await inside.stop();
    }
  });

  it('does not exist in production', async () => {
    await using gateway = await startTestGateway({
      WEBHOOK_ALLOWED_NETWORKS: '',
      NODE_ENV: 'production',
      SMS_ROUTES: '*=simulator:',
    });
    const account = await gateway.createAccount();
    const offered = await graphql(gateway, QUERY, { token: await signIn(gateway, account) });
    expect(offered.body).toEqual({ data: { simulatorReceiverUrl: null } });
    const url = `${gateway.url}/simulator/webhook/x`;
    expect((await fetch(url, { method: 'POST' })).status).toBe(404);
    for (const target of [url, url.replace('http:', 'https:')]) {
      const { body } = await gateway.call('POST', '/developers/webhooks', {
        key: account.key,
        body: { url: target, events: ['sms.sent'] },
      });
      expect(body.error.code).toBe('invalid_webhook_url');
    }
  });

  it.each([
    ['http://0.0.0.0:3000', 'http://127.0.0.1:3000/simulator/webhook/first-webhook'],
    ['http://[::]:3000', 'http://[::1]:3000/simulator/webhook/first-webhook'],
    ['https://Gateway.Example:443', 'https://gateway.example/simulator/webhook/first-webhook'],
  ])('a gateway at %s offers it as %s', (base, url) => {
    const receiver = new OwnReceiver();
    expect([receiver.url, receiver.admits(url)]).toEqual([null, false]);
    receiver.servedAt(base);
    expect([receiver.url, receiver.admits(url)]).toEqual([url, true]);
  });
});
