import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';

const SET = `mutation ($i: SetPlanInput!) { setPlan(input: $i) { name perMinute perSecond webhooksPerMinute sessionPerMinute } }`;
const ASSIGN = `mutation ($a: ID!, $p: String) { setAccountPlan(accountId: $a, plan: $p) {
  id plan { name perMinute } } }`;

describe('plans (R12)', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  let token: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '1000' });
    other = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '1000', ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
  });

  const ask = (query: string, variables: object = {}, as = operator): Promise<Answer> =>
    graphql(gateway, query, { token: as, variables });
  const set = (input: object) => ask(SET, { i: { webhooksPerMinute: 20, ...input } });
  const limitAt = async (at: TestGateway) =>
    (await at.call('GET', '/account', { key: account.key })).headers.get('x-ratelimit-limit');
  /**
   * Expects the limit of the account's keys. It applies at once in this process, and within moments in the other
   * process.
   */
  const expectLimit = async (limit: string) => {
    expect(await limitAt(gateway)).toBe(limit);
    await eventually(async () => (await limitAt(other)) === limit);
  };

  it('are created and changed by name, and apply to their accounts in every process', async () => {
    await expectLimit('1000');
    expect((await set({ name: 'small', perMinute: 30 })).body.data.setPlan).toEqual({
      name: 'small',
      perMinute: 30,
      perSecond: 0,
      webhooksPerMinute: 20,
      sessionPerMinute: null,
    });
    await set({ name: 'big', perMinute: 900, perSecond: 50, webhooksPerMinute: 40, sessionPerMinute: 700 });
    await expectLimit('1000');
    const assigned = await ask(ASSIGN, { a: account.accountId, p: 'small' });
    expect(assigned.body.data.setAccountPlan).toEqual({
      id: account.accountId,
      plan: { name: 'small', perMinute: 30 },
    });
    await expectLimit('30');
    await set({ name: 'small', perMinute: 40 });
    await expectLimit('40');
    expect(
      (await ask('{ plans { name perMinute perSecond webhooksPerMinute sessionPerMinute } }')).body.data
        .plans,
    ).toEqual([
      { name: 'big', perMinute: 900, perSecond: 50, webhooksPerMinute: 40, sessionPerMinute: 700 },
      { name: 'small', perMinute: 40, perSecond: 0, webhooksPerMinute: 20, sessionPerMinute: null },
    ]);
    const own = '{ account { plan { name perMinute perSecond webhooksPerMinute sessionPerMinute } } }';
    expect((await ask(own, {}, token)).body.data.account.plan).toEqual({
      name: 'small',
      perMinute: 40,
      perSecond: 0,
      webhooksPerMinute: 20,
      sessionPerMinute: null,
    });
    const search = 'query ($s: String) { accounts(search: $s) { nodes { id plan { name } } totalCount } }';
    expect((await ask(search, { s: account.email })).body.data.accounts).toEqual({
      nodes: [{ id: account.accountId, plan: { name: 'small' } }],
      totalCount: 1,
    });
    await ask(ASSIGN, { a: account.accountId });
    await expectLimit('1000');
    expect((await ask(own, {}, token)).body.data.account.plan).toBeNull();
  });

  it('are in the audit log with old and new values', async () => {
    const log =
      '{ auditLog(first: 50) { nodes { action target { id } before after actor { __typename } } } }';
    const { nodes } = (await ask(log)).body.data.auditLog;
    const ofPlans = nodes.filter((entry: { action: string }) => /plan/i.test(entry.action));
    expect(ofPlans).toEqual(
      [
        {
          action: 'account.setPlan',
          target: account.accountId,
          before: { plan: 'small' },
          after: { plan: null },
        },
        {
          action: 'plan.set',
          target: 'small',
          before: {
            name: 'small',
            perMinute: 30,
            perSecond: 0,
            webhooksPerMinute: 20,
            sessionPerMinute: null,
          },
          after: {
            name: 'small',
            perMinute: 40,
            perSecond: 0,
            webhooksPerMinute: 20,
            sessionPerMinute: null,
          },
        },
        {
          action: 'account.setPlan',
          target: account.accountId,
          before: { plan: null },
          after: { plan: 'small' },
        },
        {
          action: 'plan.set',
          target: 'big',
          before: null,
          after: { name: 'big', perMinute: 900, perSecond: 50, webhooksPerMinute: 40, sessionPerMinute: 700 },
        },
        {
          action: 'plan.set',
          target: 'small',
          before: null,
          after: {
            name: 'small',
            perMinute: 30,
            perSecond: 0,
            webhooksPerMinute: 20,
            sessionPerMinute: null,
          },
        },
      ].map(({ target, ...entry }) => ({
        ...entry,
        target: { id: target },
        // Members see an operator only as one of these types.
        actor: { __typename: expect.stringMatching(/^(User|System)$/) },
      })),
    );
  });

  it.each([
    ['name', { name: '', perMinute: 1 }],
    ['name', { name: 'x'.repeat(101), perMinute: 1 }],
    ['perMinute', { name: 'p', perMinute: 0 }],
    ['perMinute', { name: 'p', perMinute: 1_000_001 }],
    ['perSecond', { name: 'p', perMinute: 1, perSecond: -1 }],
    ['webhooksPerMinute', { name: 'p', perMinute: 1, webhooksPerMinute: 0 }],
    ['sessionPerMinute', { name: 'p', perMinute: 1, sessionPerMinute: 0 }],
  ])('are refused with a bad %s', async (path, input) => {
    const answer = await set(input);
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.body.errors[0].extensions.details.fields[0].path).toBe(`input.${path}`);
  });

  it('must exist, and so must the account', async () => {
    expect(codesOf(await ask(ASSIGN, { a: account.accountId, p: 'none' }))).toEqual(['NOT_FOUND']);
    expect(codesOf(await ask(ASSIGN, { a: 'none', p: 'big' }))).toEqual(['NOT_FOUND']);
  });
});

describe('the retention of an account', () => {
  it('is shown on the account', async () => {
    await using gateway = await startTestGateway({ ROLES: 'api' });
    const token = await signIn(gateway, await gateway.createAccount());
    const look = async () =>
      (await graphql(gateway, '{ account { retention { contentDays messageDays } } }', { token })).body.data
        .account.retention;
    expect(await look()).toEqual({ contentDays: null, messageDays: null });
    await graphql(gateway, 'mutation { setRetention(contentDays: 30) { contentDays } }', { token });
    expect(await look()).toEqual({ contentDays: 30, messageDays: null });
  });
});
