import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';

describe('messages from the end of their list', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    const send = (channel: 'sms' | 'email', body: object, key = account.key) =>
      gateway.call('POST', `/developers/${channel}`, { key, body });
    // Channels and environments alternate, and some messages have the same time. The carrier refuses every third SMS.
    for (let round = 0; round < 6; round += 1) {
      const to = round % 3 === 0 ? '+256700000001' : '+256700000009';
      await Promise.all([
        send('sms', { to, message: 'One' }),
        send('email', { to: 'one@a.example', subject: 'One', text: 'One' }),
        send('sms', { to, message: 'Two' }, account.sandboxKey),
        send('email', { to: 'two@a.example', subject: 'Two', text: 'Two' }, account.sandboxKey),
      ]);
    }
    const settled =
      '{ messages(first: 100, filter: { channel: SMS, status: [PENDING, SENT], environment: PRODUCTION }) { totalCount } }';
    await eventually(async () => (await data(settled)).messages.totalCount === 0);
    await eventually(
      async () =>
        (await data('{ messages(filter: { status: PENDING }) { totalCount } }')).messages.totalCount === 0,
    );
  });
  afterAll(() => gateway?.stop());

  const ask = (query: string, variables: object = {}) => graphql(gateway, query, { token, variables });
  const data = async (query: string, variables: object = {}) => {
    const answer = await ask(query, variables);
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };

  it.each([
    ['', 7],
    ['environment: PRODUCTION', 5],
    ['environment: SANDBOX', 2],
    ['status: FAILED', 1],
    ['status: [FAILED, DELIVERED], environment: PRODUCTION', 2],
    ['channel: [EMAIL, SMS], from: "2020-01-01T00:00:00Z"', 9],
    ['apiKeyId: "KEY"', 5],
  ])(
    'give messages by { %s } forward and backward, each once, also while new ones arrive (R390)',
    async (by, n) => {
      const send = (channel: 'sms' | 'email', body: object) =>
        gateway.call('POST', `/developers/${channel}`, { key: account.sandboxKey, body });
      const arrive = () =>
        Promise.all([
          send('email', { to: 'new@a.example', subject: 'New', text: 'New' }),
          send('sms', { to: '+256700000000', message: 'New' }),
        ]);
      await arrive();
      const filter = by.replace('KEY', account.key.split('_')[1] ?? '');
      const part =
        'edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
      const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
      messages(first: $first, after: $after, last: $last, before: $before, filter: { ${filter} }) { ${part} } }`;
      type Edge = { cursor: string; node: { id: string } };
      const idsOf = (edges: Edge[]) => edges.map(({ node }) => node.id);
      const forward: Edge[] = [];
      for (let after: string | null | undefined; after !== null; ) {
        const { edges, pageInfo } = (await data(query, { first: n, after })).messages;
        forward.push(...edges);
        after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
      }
      expect(forward.length).toBeGreaterThan(1);
      const backward: Edge[] = [];
      for (let before: string | null | undefined; before !== null; ) {
        if (backward.length < forward.length) await arrive();
        const { edges, pageInfo } = (await data(query, { last: n, before })).messages;
        expect(pageInfo.hasNextPage).toBe(before !== undefined);
        expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges[0]?.cursor, edges.at(-1)?.cursor]);
        backward.unshift(...edges);
        before = pageInfo.hasPreviousPage ? pageInfo.startCursor : null;
      }
      // What arrived meanwhile comes before.
      expect(idsOf(backward).slice(-forward.length)).toEqual(idsOf(forward));
      expect(new Set(idsOf(backward)).size).toBe(backward.length);
      // A cursor names the same place in both directions, whichever of them gave it.
      const middle = Math.floor(forward.length / 2);
      for (const { cursor } of [forward[middle], backward.at(middle - forward.length)] as Edge[]) {
        const after = (await data(query, { first: 3, after: cursor })).messages;
        expect(idsOf(after.edges)).toEqual(idsOf(forward.slice(middle + 1, middle + 4)));
        const before = (await data(query, { last: 3, before: cursor })).messages;
        expect(idsOf(before.edges)).toEqual(
          idsOf(backward)
            .slice(0, middle - forward.length)
            .slice(-3),
        );
      }
    },
  );

  it('are not read from the end of a search, by cost, or in both directions at once (R390)', async () => {
    for (const args of [
      'last: 1, orderBy: COST',
      'last: 1, filter: { search: "Number" }',
      'before: "x"',
      'last: 1, filter: { sender: "SHOP" }',
      'last: 1, filter: { provider: "simulator" }',
      'last: 1, filter: { recipientStatus: FAILED }',
      'first: 1, last: 1',
      'last: 101',
    ]) {
      expect([args, ...codesOf(await ask(`{ messages(${args}) { nodes { id } } }`))]).toEqual([
        args,
        'BAD_USER_INPUT',
      ]);
    }
  });
});
