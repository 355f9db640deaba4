import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { signIn } from '../support/graphql.ts';
import { type Subscription, subscribe } from '../support/live.ts';

const MESSAGES =
  'subscription ($filter: MessageFilter) { messageUpdated(filter: $filter) { id status content } }';

describe('live updates over GraphQL subscriptions', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  const open: Subscription[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterEach(() => {
    for (const subscription of open.splice(0)) subscription.stop();
  });
  afterAll(() => gateway?.stop());

  async function watch(query: string, variables: Record<string, unknown> = {}, as = token) {
    const subscription = await subscribe(gateway, as, query, variables);
    open.push(subscription);
    return subscription;
  }
  const send = async (message: string, key = account.key) =>
    (await gateway.call('POST', '/developers/sms', { key, body: { to: '+256700123456', message } })).body
      .id as string;

  it('shows the life of a message in its order, ending as it stands', async () => {
    const live = await watch(MESSAGES);
    const id = await send('hello');
    await eventually(async () => live.events.at(-1)?.data?.messageUpdated.status === 'DELIVERED');
    const steps = live.events.map((event) => event.data?.messageUpdated);
    expect(steps[0]).toMatchObject({ id, content: 'hello' });
    const order = ['PENDING', 'SENT', 'DELIVERED'];
    const seen = steps.map(({ status }) => order.indexOf(status));
    expect(seen).toEqual([...seen].sort());
    expect(seen).not.toContain(-1);
    expect(live.end).toBeUndefined();
  });
});
