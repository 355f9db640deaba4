import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { guideDocuments, guideVariables } from '../support/dashboard-documents.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { hashed, subscribe } from '../support/live.ts';
import { countStatements } from '../support/statements.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const RECIPIENTS = 1_000;
const DAY_MS = 24 * 3_600_000;

describe('docs/guides/graphql.md', () => {
  let gateway: TestGateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  let account: TestAccount;
  let token: string;
  let many: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver();
    account = await gateway.createAccount(10_000_000);
    token = await signIn(gateway, account);
    const { key } = account;
    await gateway.call('POST', '/developers/webhooks', {
      key,
      body: { url: receiver.url, events: ['sms.failed'] },
    });
    const send = async (to: string, rest: object = {}) =>
      (await gateway.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...rest } })).body
        .id;
    const numbers = Array.from(
      { length: RECIPIENTS },
      (_, index) => `+25670${String(index).padStart(3, '0')}0009`,
    );
    many = await send(numbers.join());
    await send('+256701230001');
    await send('+254712340009', { from: 'SHOP' });
    await send('+256701230009', { scheduledFor: new Date(Date.now() + DAY_MS).toISOString() });
    await eventually(async () => {
      const { messages } = await data('{ messages { nodes { status recipientCounts { delivered } } } }');
      return (
        messages.nodes.map(({ status }: { status: string }) => status).join() ===
        'PENDING,DELIVERED,FAILED,DELIVERED'
      );
    });
    await eventually(async () => {
      await withUnitOfWork(gateway, (_uow, stores) => stores.analytics.fold());
      const [bucket] = (
        await data(`{ analytics(from: "${from.toISOString()}", to: "${to.toISOString()}") {
        figures { delivered failed } } }`)
      ).analytics;
      return bucket?.figures.delivered === RECIPIENTS + 1 && bucket.figures.failed === 1;
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  const from = new Date(Date.now() - DAY_MS);
  const to = new Date(Date.now() + DAY_MS);
  const data = async (query: string, variables: object = {}) => {
    const answer = await graphql(gateway, query, { token, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };
  const answers = async () => {
    const found = new Map<
      string,
      { shown: Awaited<ReturnType<typeof data>>; statements: number; most: number }
    >();
    for (const { name, text, statements } of await guideDocuments()) {
      using counter = countStatements();
      const shown = await data(text, guideVariables(many, from, to));
      found.set(name, { shown, statements: counter.ofRequests().length, most: statements });
    }
    return found;
  };

  it('has ten documents, which are answered with the statements that it names (R295)', async () => {
    const found = await answers();
    expect(found.size).toBe(10);
    const of = (name: string) => found.get(name)?.shown;
    expect(of('Overview').viewer.account).toMatchObject({
      analytics: [{ figures: { messages: 4, failed: 1 }, previous: { messages: 0 } }],
      messages: { nodes: expect.arrayContaining([expect.objectContaining({ id: many })]) },
    });
    expect(of('Unfinished').messages).toMatchObject({
      totalCount: 2,
      nodes: [{ status: 'PENDING' }, { status: 'FAILED' }],
    });
    expect(of('Costliest').messages.nodes[0]).toMatchObject({
      id: many,
      recipientCounts: { delivered: RECIPIENTS },
    });
    expect(of('OneMessage').message.recipients).toHaveLength(RECIPIENTS);
    expect(of('Progress').message.recipientCounts).toEqual({
      pending: 0,
      sent: 0,
      delivered: RECIPIENTS,
      failed: 0,
    });
    expect(of('UsageByDay').analytics.length).toBeGreaterThanOrEqual(3);
    expect(of('FailureReasons').analytics[0]).toMatchObject({ channel: 'SMS', figures: { failed: 1 } });
    expect(of('ByCountry').analytics.map(({ country }: { country: string }) => country)).toEqual([
      'UG',
      'KE',
    ]);
    expect(of('WebhookHealth').webhooks[0]).toMatchObject({
      stats: { failed: 0 },
      deliveries: { nodes: [{ attempts: 1 }] },
    });
    expect(of('LiveCounters').pending.totalCount).toBe(1);
    for (const { statements, most } of found.values()) {
      expect(statements).toBeGreaterThan(0);
      expect(statements).toBeLessThanOrEqual(most);
    }
  });

  it('names the points that each document is estimated to cost, for a year (R295)', async () => {
    const year = new Date(to.getTime() - 365 * DAY_MS);
    for (const { name, text, points } of await guideDocuments()) {
      const since = name === 'LiveCounters' ? new Date(to.getTime() - 31 * DAY_MS) : year;
      const variables = guideVariables(many, since, to);
      const { cost } = await graphql(gateway, text, { token, variables, headers: { 'Cost-Only': 'true' } });
      expect([name, cost.requested]).toEqual([name, points]);
    }
  });

  it('has counters that can be a live query (R444)', async () => {
    const { text = '' } = (await guideDocuments()).find(({ name }) => name === 'LiveCounters') ?? {};
    const live = text.replace(') {', ') @live {');
    const variables = guideVariables(many, from, to);
    const counters = await subscribe(gateway, token, live, variables, hashed(live));
    try {
      await eventually(() => counters.events.length > 0);
      expect(counters.events[0]).toMatchObject({ data: { pending: { totalCount: 1 } } });
    } finally {
      counters.stop();
    }
  });

  it('filters messages by lists, sender, error and provider (R294)', async () => {
    const count = async (filter: string) =>
      (await data(`{ messages(filter: ${filter}) { totalCount nodes { id } } }`)).messages;
    const total = async (filter: string) => {
      const { totalCount, nodes } = await count(filter);
      expect(nodes).toHaveLength(totalCount);
      return totalCount;
    };
    expect(await total('{ status: [DELIVERED, FAILED], channel: [SMS, EMAIL] }')).toBe(3);
    expect(await total('{ status: FAILED }')).toBe(1);
    expect(await total('{ status: [], channel: [] }')).toBe(4);
    expect(await total('{ channel: EMAIL }')).toBe(0);
    expect(await total('{ sender: "SHOP" }')).toBe(1);
    const [failed] = (
      await data('{ messages(filter: { status: FAILED }) { nodes { recipients { error { code } } } } }')
    ).messages.nodes;
    expect(await total(`{ errorCode: "${failed.recipients[0].error.code}" }`)).toBe(1);
    expect(await total('{ errorCode: "none-such" }')).toBe(0);
    expect(await total('{ provider: "simulator", status: [DELIVERED] }')).toBe(2);
  });

  it('gives one page by cost, and says so (R294)', async () => {
    const page = await data(
      '{ messages(first: 2, orderBy: COST) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }',
    );
    expect(page.messages).toMatchObject({
      totalCount: 4,
      nodes: [{ id: many }, {}],
      pageInfo: { hasNextPage: false },
    });
    const { nodes } = (await data('{ messages(first: 1) { nodes { id } pageInfo { endCursor } } }')).messages;
    expect(nodes).toHaveLength(1);
    const after = (await data('{ messages(first: 1) { pageInfo { endCursor } } }')).messages.pageInfo
      .endCursor;
    const next = await graphql(gateway, `{ messages(after: "${after}", orderBy: COST) { nodes { id } } }`, {
      token,
    });
    expect(codesOf(next)).toEqual(['BAD_USER_INPUT']);
  });
});
