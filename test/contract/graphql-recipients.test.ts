import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';

interface Row {
  readonly to: string;
  readonly status: string;
  readonly provider: string | null;
  readonly message: { readonly id: string; readonly channel: string };
}

const QUERY = `query ($n: Int, $after: String, $filter: RecipientFilter) {
  recipients(first: $n, after: $after, filter: $filter) {
    totalCount pageInfo { hasNextPage endCursor } nodes { to status provider error { code } message { id channel } }
  }
}`;

describe('recipients as a list (R333)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    const send = async (channel: string, body: object, key = account.key) => {
      const answer = await gateway.call('POST', `/developers/${channel}`, { key, body });
      if (answer.status !== 200) throw new Error(answer.text);
    };
    // Numbers that end with 0001 fail, and the others are delivered (R226).
    const sms = (to: string, rest: object = {}) => send('sms', { to, message: 'Hello', ...rest });
    const email = (to: string) => send('email', { to, subject: 'Hello', text: 'Hello' });
    await sms('+256700000009,+256701230001,+256700000019');
    await email('one@a.example,two@a.example');
    await sms('+254712340009', { from: 'SHOP' });
    await email('three@a.example');
    await sms('+256700000019,+256700000029');
    await send('sms', { to: '+256700000019', message: 'Hello' }, account.sandboxKey);
    await eventually(async () => {
      const query = '{ recipients(first: 100) { nodes { status message { channel environment } } } }';
      const { nodes } = (await data(query)).recipients;
      const isSettled = ({ status, message }: { status: string; message: Record<string, string> }) =>
        message.environment === 'SANDBOX' ||
        (message.channel === 'EMAIL' ? ['SENT', 'DELIVERED'] : ['DELIVERED', 'FAILED']).includes(status);
      return nodes.length === 10 && nodes.every(isSettled);
    });
  });
  afterAll(() => gateway?.stop());

  const data = async (query: string, variables: object = {}) => {
    const answer = await graphql(gateway, query, { token, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };
  const found = async (filter?: object): Promise<{ rows: string[]; total: number }> => {
    const { nodes, totalCount } = (await data(QUERY, { n: 100, filter })).recipients;
    return { rows: nodes.map(({ to }: Row) => to), total: totalCount };
  };

  it.each([1, 2, 3, 100])('has each recipient once, by messages, in pages of %d', async (n) => {
    const query = '{ messages(first: 100) { nodes { id channel recipients { to status } } } }';
    const expected = (await data(query)).messages.nodes.flatMap(
      ({ id, channel, recipients }: { id: string; channel: string; recipients: Row[] }) =>
        recipients.map(({ to, status }) => ({ to, status, message: { id, channel } })),
    );
    expect(expected).toHaveLength(10);
    const walked: object[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const { nodes, pageInfo, totalCount } = (await data(QUERY, { n, after })).recipients;
      expect(totalCount).toBe(10);
      walked.push(...nodes.map(({ to, status, message }: Row) => ({ to, status, message })));
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    }
    expect(walked).toEqual(expected);
  });

  it.each([1, 2, 3, 100])('has the same recipients from its end, in pages of %d (R390)', async (n) => {
    const query = `query ($n: Int, $before: String, $filter: RecipientFilter) {
      recipients(last: $n, before: $before, filter: $filter) {
        edges { cursor node { to message { id } } } pageInfo { hasNextPage hasPreviousPage startCursor } } }`;
    const forward = async (filter: object) => {
      const whole = '{ edges { cursor node { to message { id } } } }';
      const text = `query ($filter: RecipientFilter) { recipients(first: 100, filter: $filter) ${whole} }`;
      return (await data(text, { filter })).recipients.edges;
    };
    const next = `query ($after: String, $filter: RecipientFilter) {
      recipients(first: 100, after: $after, filter: $filter) { nodes { to message { id } } } }`;
    for (const filter of [{}, { channel: ['EMAIL'] }, { address: '0700000019' }]) {
      const expected = (await forward(filter)).map(({ node }: { node: object }) => node);
      const walked: { cursor: string; node: object }[] = [];
      for (let before: string | null | undefined; before !== null; ) {
        const { edges, pageInfo } = (await data(query, { n, before, filter })).recipients;
        expect(pageInfo.hasNextPage).toBe(before !== undefined);
        walked.unshift(...edges);
        before = pageInfo.hasPreviousPage ? pageInfo.startCursor : null;
      }
      expect(walked.map(({ node }) => node)).toEqual(expected);
      // Also the cursors of a page that was read backward continue forward.
      for (const [index, { cursor }] of walked.entries()) {
        expect((await data(next, { after: cursor, filter })).recipients.nodes).toEqual(
          expected.slice(index + 1),
        );
      }
    }
    for (const wrong of [{ status: 'FAILED' }, { sender: 'SHOP' }, { environment: 'SANDBOX' }]) {
      const refused = await graphql(gateway, query, { token, variables: { n, filter: wrong } });
      expect(codesOf(refused)).toEqual(['BAD_USER_INPUT']);
    }
    const both = '{ recipients(first: 1, last: 1) { nodes { to } } }';
    expect(codesOf(await graphql(gateway, both, { token }))).toEqual(['BAD_USER_INPUT']);
  });

  it('is filtered by what support asks for', async () => {
    expect(await found({ address: '0700 000 019', environment: 'PRODUCTION' })).toEqual({
      rows: ['+256700000019', '+256700000019'],
      total: 2,
    });
    expect((await found({ address: 'two@A.example' })).rows).toEqual(['two@a.example']);
    expect((await found({ address: '+256700000999' })).rows).toEqual([]);
    expect(await found({ status: 'FAILED' })).toEqual({ rows: ['+256701230001'], total: 1 });
    const [{ error }] = (await data(QUERY, { filter: { status: 'FAILED' } })).recipients.nodes;
    expect((await found({ errorCode: error.code })).rows).toEqual(['+256701230001']);
    expect((await found({ sender: 'SHOP' })).rows).toEqual(['+254712340009']);
    expect((await found({ channel: ['EMAIL'] })).rows).toHaveLength(3);
    expect((await found({ environment: 'SANDBOX' })).rows).toEqual(['+256700000019']);
    expect((await found({ channel: 'SMS', provider: 'simulator', environment: 'PRODUCTION' })).rows).toEqual([
      '+256700000019',
      '+256700000029',
      '+254712340009',
      '+256700000009',
      '+256701230001',
      '+256700000019',
    ]);
    expect((await found({ provider: 'nobody' })).rows).toEqual([]);
    expect((await found({ from: new Date(Date.now() + 60_000).toISOString() })).total).toBe(0);
    expect((await found({ to: new Date(Date.now() + 60_000).toISOString() })).total).toBe(10);
  });

  it('finds a message with one failed recipient of three under FAILED (R410)', async () => {
    const query = `query ($filter: MessageFilter, $n: Int, $after: String) {
      messages(first: $n, after: $after, filter: $filter) { totalCount searchedBackTo pageInfo { hasNextPage endCursor }
        nodes { status recipientCounts { delivered failed } } } }`;
    const list = async (filter: object, n = 100) => (await data(query, { filter, n })).messages;
    const mixed = { status: 'DELIVERED', recipientCounts: { delivered: 2, failed: 1 } };
    expect((await list({ status: 'FAILED' })).nodes).toEqual([]);
    const failed = { recipientStatus: 'FAILED' };
    expect(await list(failed, 1)).toMatchObject({ totalCount: 1, searchedBackTo: null, nodes: [mixed] });
    expect((await list({ ...failed, status: ['DELIVERED'], search: 'Hello' })).nodes).toEqual([mixed]);
    for (const other of [
      { environment: 'SANDBOX' },
      { status: 'FAILED' },
      { channel: 'EMAIL' },
      { provider: 'nobody' },
      { to: new Date(0).toISOString() },
    ]) {
      expect(await list({ ...failed, ...other })).toMatchObject({ totalCount: 0, nodes: [] });
    }
    expect((await list({ recipientStatus: 'DELIVERED', channel: 'SMS' })).totalCount).toBe(3);
    // The status and the error are those of one recipient.
    const { nodes } = (await data(QUERY, { filter: { status: 'FAILED' } })).recipients;
    const { code } = nodes[0].error;
    expect((await list({ errorCode: code, ...failed })).totalCount).toBe(1);
    expect((await list({ errorCode: code, recipientStatus: 'DELIVERED' })).totalCount).toBe(0);
    const cost = async (filter: object) =>
      (await graphql(gateway, query, { token, variables: { filter }, headers: { 'Cost-Only': 'true' } })).cost
        .requested;
    expect(await cost(failed)).toBeLessThan(500);
    expect(await cost({ recipientStatus: 'SENT' })).toBeGreaterThan(3_000);
  });

  it('runs as many statements for two rows as for ten, and names what a search costs', async () => {
    const count = async (n: number) => {
      using counter = countStatements();
      await data(QUERY, { n, filter: { status: ['DELIVERED', 'SENT'] } });
      return counter.ofRequests().length;
    };
    expect(await count(2)).toBe(await count(10));
    const ask = (filter: object) =>
      graphql(gateway, QUERY, { token, variables: { n: 1, filter }, headers: { 'Cost-Only': 'true' } });
    expect((await ask({ status: 'FAILED' })).cost.requested).toBeGreaterThan(3_000);
    expect((await ask({ address: '0700000019' })).cost.requested).toBeLessThan(100);
  });

  it('tells where a search stopped, as the list of messages does (R334)', async () => {
    const owner = await gateway.createAccount();
    const own = await signIn(gateway, owner);
    const ids: string[] = [];
    for (const message of ['first', 'second', 'third']) {
      const body = { to: '+256700000009', message };
      ids.push((await gateway.call('POST', '/developers/sms', { key: owner.sandboxKey, body })).body.id);
    }
    const query = `{
      messages(filter: { search: "first" }) { searchedBackTo nodes { content } }
      costliest: messages(orderBy: COST) { searchedBackTo }
      all: messages { searchedBackTo nodes { createdAt } }
      recipients(filter: { status: [SENT] }) { searchedBackTo nodes { to } }
      addressed: recipients(filter: { address: "+256700000009" }) { searchedBackTo nodes { to } } }`;
    const read = async () => (await graphql(gateway, query, { token: own })).body.data;
    expect(await read()).toMatchObject({
      messages: { searchedBackTo: null, nodes: [{ content: 'first' }] },
      costliest: { searchedBackTo: null },
      recipients: { searchedBackTo: null },
    });
    // Renumber the messages as if 150,000 had been sent. The newest 100,000 then begin with the second of these
    // messages.
    await withKnex(gateway.database.connection, async (knex) => {
      for (const [index, seq] of [1, 50_001, 150_000].entries()) {
        await knex.raw('UPDATE messages SET seq = ? WHERE id = ?', [seq, ids[index] ?? '']);
      }
      await knex.raw('UPDATE accounts SET sms_seq = 150000 WHERE id = ?', [owner.accountId]);
    });
    const found = await read();
    const stop = found.all.nodes[1].createdAt;
    expect(found).toMatchObject({
      messages: { searchedBackTo: stop, nodes: [] },
      costliest: { searchedBackTo: stop },
      all: { searchedBackTo: null },
      recipients: { searchedBackTo: stop, nodes: [{}, {}] },
      addressed: { searchedBackTo: null, nodes: [{}, {}, {}] },
    });
  });

  it('belongs to its account, and refuses cursors of other lists', async () => {
    const stranger = await signIn(gateway, await gateway.createAccount());
    const { body } = await graphql(gateway, QUERY, { token: stranger });
    expect(body.data.recipients).toMatchObject({ nodes: [], totalCount: 0 });
    const query = `query ($a: ID!) { account(id: $a) { recipients(filter: { address: "0700000009" }) { nodes { to message { content } } } } }`;
    const operator = await signInOperator(gateway);
    const read = await graphql(gateway, query, { token: operator, variables: { a: account.accountId } });
    expect(read.body.data.account.recipients.nodes).toEqual([
      { to: '+256700000009', message: { content: '' } },
    ]);
    const { pageInfo } = (await data('{ messages(first: 1) { pageInfo { endCursor } } }')).messages;
    const variables = { after: pageInfo.endCursor };
    expect(codesOf(await graphql(gateway, QUERY, { token, variables }))).toEqual(['BAD_USER_INPUT']);
  });
});
