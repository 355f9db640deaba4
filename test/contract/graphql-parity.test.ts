import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';

describe('what REST shows, GraphQL shows too (R284)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(() => gateway?.stop());

  const ask = (query: string) => graphql(gateway, query, { token });
  const rest = (path: string) => gateway.call('GET', path, { key: account.key });

  it('the event feed, in parts, with the envelopes of webhooks', async () => {
    const body = { to: '+256700123451,+256700123452', message: 'hello' };
    await gateway.call('POST', '/developers/sms', { key: account.key, body });
    const whole = await eventually(async () => {
      const { body: feed } = await rest('/developers/events?limit=100');
      return feed.data.length === 2 && feed;
    });
    const first = await ask('{ eventFeed(limit: 1) { events { type payload } cursor hasMore } }');
    expect(first.body.data.eventFeed).toMatchObject({
      events: [{ type: whole.data[0].event, payload: whole.data[0] }],
      hasMore: true,
    });
    const { cursor } = first.body.data.eventFeed;
    const others = await ask(
      `{ eventFeed(after: "${cursor}", limit: 100) { events { payload } cursor hasMore } }`,
    );
    expect(others.body.data.eventFeed).toEqual({
      events: whole.data.slice(1).map((payload: object) => ({ payload })),
      cursor: whole.cursor,
      hasMore: false,
    });
    const latest = await ask('{ eventFeed(after: "latest") { events { type } cursor } }');
    expect(latest.body.data.eventFeed).toEqual({ events: [], cursor: whole.cursor });
  });

  it.each([0, 101])('a part of the feed has 1 to 100 events, not %d', async (limit) => {
    expect(codesOf(await ask(`{ eventFeed(limit: ${limit}) { cursor } }`))).toEqual(['BAD_USER_INPUT']);
  });

  it('the window of a WhatsApp number', async () => {
    const { body } = await rest('/developers/whatsapp/window?to=%2B256700123456');
    const answer = await ask('{ whatsAppWindow(to: "0700123456") { to isOpen lastInboundAt closesAt } }');
    expect(answer.body.data.whatsAppWindow).toEqual({
      to: body.to,
      isOpen: body.open,
      lastInboundAt: body.lastInboundAt,
      closesAt: body.closesAt,
    });
    expect(codesOf(await ask('{ whatsAppWindow(to: "12") { isOpen } }'))).toEqual(['INVALID_PHONE_NUMBER']);
  });

  it('the key for Web Push, and one device', async () => {
    const { body } = await rest('/developers/push/web-key');
    expect((await ask('{ webPushKey }')).body.data.webPushKey).toBe(body.publicKey);
    const made = await ask(
      'mutation { registerDevice(input: { token: "t1", platform: IOS, userId: "u1" }) { id } }',
    );
    const { id } = made.body.data.registerDevice;
    expect((await ask(`{ device(id: "${id}") { userId platform } }`)).body.data.device).toEqual({
      userId: 'u1',
      platform: 'IOS',
    });
    expect(codesOf(await ask('{ device(id: "00000000-0000-7000-8000-000000000000") { id } }'))).toEqual([
      'NOT_FOUND',
    ]);
  });
});
