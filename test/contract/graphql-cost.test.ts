import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import { IMPORT_MAX_BYTES } from '../../src/domain/contacts/contact-import.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { askStream } from '../support/live.ts';

const BUDGET = 10_000;
const COST_ONLY = { 'Cost-Only': 'true' };

describe('the cost of queries (R280)', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    const settings = { RATE_LIMIT_POINTS_PER_MINUTE: String(BUDGET) };
    gateway = await startTestGateway(settings);
    other = await startTestGateway({ ...settings, ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
    for (const end of [1, 2, 3]) {
      const body = { to: `+25670012345${end}`, message: 'hello' };
      await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body });
    }
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
  });

  const sign = () => signIn(gateway, account);

  it('is estimated by the size of pages before, and exact after', async () => {
    const token = await sign();
    const query = '{ messages(first: 50) { nodes { id recipients { to } } } }';
    const answer = await graphql(gateway, query, { token });
    // `used`: 1 for the page, and 2 for each of the 3 messages with its recipient.
    expect(answer.cost).toMatchObject({ requested: 1 + 50 * 11, used: 7, remaining: BUDGET - 7 });
    const resetAt = Date.parse(answer.cost.resetAt ?? '');
    expect(resetAt - Date.now()).toBeLessThanOrEqual(60_000);
    const next = await graphql(gateway, '{ messages(first: 1) { nodes { id } } }', { token });
    expect(next.cost).toMatchObject({ requested: 2, used: 2, remaining: BUDGET - 9 });
  });

  it('counts introspection, which needs no database but much time of the process', async () => {
    const token = await sign();
    const whole = await graphql(gateway, getIntrospectionQuery(), { token });
    expect(whole.body.data.__schema.types.length).toBeGreaterThan(100);
    expect(whole.cost.requested).toBeGreaterThan(200);
    expect(whole.cost.requested).toBeLessThan(BUDGET / 4);
    expect(whole.cost).toMatchObject({
      used: whole.cost.requested,
      remaining: BUDGET - whole.cost.requested,
    });
    const schema = '__schema { types { fields { args { name } type { name } } } }';
    const costOf = async (count: number) => {
      const fields = Array.from({ length: count }, (_, at) => `a${at}: ${schema}`);
      const only = await graphql(gateway, `{ ${fields.join(' ')} }`, { token, headers: COST_ONLY });
      return only.cost.requested;
    };
    expect(await costOf(15)).toBe(15 * (await costOf(1)));
    // A small part is cheap, so that clients may look up a type with each query.
    const small = await graphql(gateway, '{ __type(name: "Message") { name kind } }', { token });
    expect(small.cost).toMatchObject({ requested: 1, used: 1 });
    const free = await graphql(gateway, '{ __typename }', { token });
    expect(free.cost).toMatchObject({ requested: 0, used: 0, remaining: small.cost.remaining });
  });

  it('refuses fifteen counts of searches at once before they run, and names what they cost', async () => {
    const counts = Array.from({ length: 15 }, (_, at) => `a${at}: messages(filter: $f) { totalCount }`);
    const query = `query ($f: MessageFilter) { ${counts.join(' ')} }`;
    const variables = { f: { search: 'nothing' } };
    const answer = await graphql(gateway, query, { token: await sign(), variables });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].message).toContain('a cost of 45015');
    expect(answer.cost).toEqual({ requested: 45_015, used: 0, remaining: null, resetAt: null });
  });

  it.each([
    ['{ messages { totalCount } }', 21],
    ['{ messages(filter: { status: FAILED }) { totalCount } }', 21],
    ['{ messages(filter: { search: "x" }) { totalCount } }', 3_001],
    [
      '{ messages(filter: { search: "x" }) { ...on MessageConnection { ...T } } } fragment T on MessageConnection { totalCount }',
      3_001,
    ],
    ['{ contacts(search: "x") { nodes { id } } }', 71],
    [
      '{ usage(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z", interval: DAY, groupBy: [CHANNEL]) { messages } }',
      169,
    ],
    ['{ messages(orderBy: COST) { nodes { id } } }', 1_021],
    [
      '{ analytics(from: "2026-01-01T00:00:00Z", to: "2026-01-31T00:00:00Z", interval: DAY, compareWith: PREVIOUS_PERIOD) { at } }',
      20 + 2 * 2 * 31 + 10,
    ],
    [
      '{ apiKeys { usage(from: "2026-01-01T00:00:00Z", to: "2026-01-07T00:00:00Z") { requests } } }',
      10 * (1 + 7 + 10),
    ],
    ['{ explainMessage(id: "x") { summary } }', 101],
    ['mutation { redeliverMany(webhookId: "x", deliveryIds: ["a", "b", "c"]) { queued } }', 1 + 3],
    ['mutation { signOut }', 0],
    ['mutation { deleteWebhook(id: "x", dryRun: true) }', 100],
  ])('%s costs %d points, which Cost-Only tells without running it', async (query, requested) => {
    const token = await sign();
    const answer = await graphql(gateway, query, { token, headers: COST_ONLY });
    expect(answer.body).toEqual({ data: null });
    expect(answer.cost).toMatchObject({ requested, used: 0, remaining: BUDGET });
    expect((await graphql(gateway, '{ viewer { id } }', { token })).body.errors).toBeUndefined();
  });

  it('an import costs a point for each 2,000 characters, so that refused ones end too (R587)', async () => {
    const token = await sign();
    const query =
      'mutation ($csv: String!, $dryRun: Boolean) { importContacts(csv: $csv, dryRun: $dryRun) { id } }';
    const costing = (csv: string, more: object = {}) =>
      graphql(gateway, query, { token, variables: { csv, ...more }, headers: COST_ONLY });
    expect((await costing('phone\n1')).cost.requested).toBe(1 + 1);
    expect((await costing('x'.repeat(4_001))).cost.requested).toBe(1 + 3);
    expect((await costing('x'.repeat(4_001), { dryRun: true })).cost.requested).toBe(1 + 3 + 100);
    // The largest file costs less than a query may cost.
    expect((await costing('x'.repeat(IMPORT_MAX_BYTES))).cost.requested).toBe(1 + 6_292);
    const start = (csv: string) => graphql(gateway, query, { token, variables: { csv } });
    // Nothing is stored of a text with a fault. It is paid for all the same.
    const faulty = `phone\n"1"2${'\n'.repeat(7_920_000)}`;
    const read = await start(faulty);
    expect([codesOf(read), read.cost.used]).toEqual([['BAD_USER_INPUT'], 3_961]);
    expect(codesOf(await start(faulty))).toEqual(['BAD_USER_INPUT']);
    const refused = await start(faulty);
    expect([codesOf(refused), refused.cost.used]).toEqual([['RATE_LIMITED'], 0]);
    expect(refused.body.errors[0].message).toMatch(/^The query costs 3962 points; /);
    expect(codesOf(await start('phone\n0700123456'))).toEqual([]);
  });

  it('over the budget of a minute, a query is refused in every process until the minute ends', async () => {
    const token = await sign();
    const search = '{ messages(filter: { search: "hello" }) { totalCount } }';
    for (const at of [gateway, other, gateway]) {
      const answer = await graphql(at, search, { token });
      expect(answer.body.data.messages.totalCount).toBe(3);
    }
    const refused = await graphql(other, search, { token });
    expect([refused.status, codesOf(refused)]).toEqual([429, ['RATE_LIMITED']]);
    const { retryAfter } = refused.body.errors[0].extensions;
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(refused.headers.get('retry-after')).toBe(String(retryAfter));
    const left = BUDGET - 3 * 3_001;
    expect(refused.body.errors[0].message).toBe(
      `The query costs 3001 points; ${left} of ${BUDGET} a minute are left. Try again in ${retryAfter} s.`,
    );
    expect(refused.cost).toMatchObject({ requested: 3_001, used: 0, remaining: left });
    // A cheap request still fits into the budget. Another session has its own budget.
    expect((await graphql(gateway, '{ viewer { id } }', { token })).body.errors).toBeUndefined();
    expect((await graphql(gateway, search, { token: await sign() })).body.errors).toBeUndefined();
    const stream = await askStream(gateway, 'subscription { messageUpdated { recipients { to } } }', {
      token,
    });
    expect(stream.body.errors).toBeUndefined();
  });

  it('what a query did not use is given back to all processes', async () => {
    const token = await sign();
    const wide = '{ messages(first: 100) { nodes { recipients { to } events { type } } } }';
    expect((await graphql(gateway, wide, { token })).cost.requested).toBe(2_101);
    await eventually(async () => {
      const answer = await graphql(other, '{ limits { pointsRemaining } }', { token });
      return answer.body.data.limits.pointsRemaining > BUDGET - 2_101;
    });
  });

  it('`limits` tells the limits, and what is left', async () => {
    const query =
      '{ limits { cost pointsPerMinute pointsRemaining pointsResetAt requestsPerMinute depth pageSizeMax } }';
    const { body, cost } = await graphql(gateway, query, { token: await sign() });
    expect(body.data.limits).toMatchObject({
      ...{ cost: 10_000, pointsPerMinute: BUDGET, pointsRemaining: BUDGET - 1, depth: 10, pageSizeMax: 100 },
      requestsPerMinute: 100_000,
    });
    expect(body.data.limits.pointsResetAt).toBe(cost.resetAt);
  });
});
