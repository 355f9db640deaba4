import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const LISTS = `
  apiKeys { keyId }
  messages { totalCount nodes { id content apiKey { keyId } recipients { to } events { payload }
    deliveries { payload responseBody } timeline { status } } }
  usage(from: "2026-01-01T00:00:00Z", to: "2026-12-31T00:00:00Z", interval: DAY) { messages }
  ledger { nodes { seq actor { __typename } } }
  statement(month: "2026-01") { closing { minor } }
  members { email }
  webhooks { id url deliveries { nodes { payload } } }
  contacts { nodes { name } }
  devices { nodes { id } }
  auditLog { nodes { action after } }`;

describe('the account as a root', () => {
  let gateway: TestGateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  let account: TestAccount;
  let other: TestAccount;
  let owner: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    receiver = await startWebhookReceiver();
    account = await gateway.createAccount();
    other = await gateway.createAccount();
    owner = await signIn(gateway, account);
    operator = await signInOperator(gateway);
    const { key } = account;
    const hook = { url: receiver.url, events: ['sms.sent', 'sms.failed'] };
    await gateway.call('POST', '/developers/webhooks', { key, body: hook });
    const contact = { name: 'Amina', phone: '+256701230000' };
    await gateway.call('POST', '/developers/contacts', { key, body: contact });
    // In the simulator, the first number fails, the second is delivered, and the third gets no report (R226).
    const to = '+256701230001,+256701230009,+256701230004';
    await gateway.call('POST', '/developers/sms', { key, body: { to, message: 'A private text' } });
    await eventually(async () => {
      const [node] = (
        await data(owner, '{ messages { nodes { recipients { status } deliveries { status } } } }')
      ).messages.nodes;
      const statuses = node.recipients.map(({ status }: { status: string }) => status);
      const isDelivered = node.deliveries.every(({ status }: { status: string }) => status === 'SUCCESS');
      return statuses.join() === 'FAILED,DELIVERED,SENT' && node.deliveries.length === 3 && isDelivered;
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  const data = async (token: string, query: string, variables: object = {}) => {
    const answer = await graphql(gateway, query, { token, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };
  const inspections = async () => {
    const query =
      '{ auditLog(filter: { action: "account.inspect" }) { nodes { after actor { ... on System { name } } } } }';
    return (await data(owner, query)).auditLog.nodes;
  };

  it('shows a member the lists of the own account, as the fields of Query do (R235)', async () => {
    const { viewer, ...top } = await data(owner, `{ viewer { account { ${LISTS} } } ${LISTS} }`);
    expect(viewer.account).toEqual(top);
    expect(viewer.account.messages.nodes[0].content).toBe('A private text');
    const { email, password } = await inviteMember(gateway, owner, 'VIEWER');
    const viewerToken = await signIn(gateway, { email, password });
    // An invitation is accepted when the member has chosen a password.
    const change = 'mutation ($p: String!) { changePassword(current: $p, new: "another long password 7") }';
    await data(viewerToken, change, { p: password });
    const own = await signIn(gateway, { email, password: 'another long password 7' });
    expect((await data(own, '{ account { messages { totalCount } } }')).account.messages.totalCount).toBe(1);
  });

  it('shows an operator an account without its texts, and records the request once (R290)', async () => {
    const before = (await inspections()).length;
    const query = `query ($id: ID!) { account(id: $id) { id ${LISTS} } }`;
    const shown = (await data(operator, query, { id: account.accountId })).account;
    const [message] = shown.messages.nodes;
    expect(message).toMatchObject({ content: '', apiKey: { keyId: expect.any(String) } });
    expect(message.recipients).toHaveLength(3);
    expect(message.deliveries).toHaveLength(3);
    expect(JSON.stringify(shown)).not.toContain('private');
    expect(shown.ledger.nodes.length).toBeGreaterThan(0);
    const entries = await inspections();
    expect(entries).toHaveLength(before + 1);
    expect(entries[0]).toEqual({ after: { texts: false, reason: null }, actor: { name: 'operator' } });
  });

  it('shows an operator with a reason the texts, and keeps the reason (R290)', async () => {
    const query = `query ($id: ID!) { account(id: $id, reason: "Ticket 7: the customer asked") {
      messages(filter: { search: "private" }) { nodes { content events { payload } } } } }`;
    const [message] = (await data(operator, query, { id: account.accountId })).account.messages.nodes;
    expect(message.content).toBe('A private text');
    expect(JSON.stringify(message.events)).toContain('A private text');
    expect((await inspections())[0].after).toEqual({ texts: true, reason: 'Ticket 7: the customer asked' });
  });

  it('keeps two accounts of one request apart (R290)', async () => {
    const query = `query ($a: ID!, $b: ID!) {
      a: account(id: $a) { messages { totalCount nodes { id apiKey { keyId } } } }
      b: account(id: $b, reason: "Ticket 8") { messages { totalCount nodes { id } } members { email } } }`;
    const { a, b } = await data(operator, query, { a: account.accountId, b: other.accountId });
    expect(a.messages.totalCount).toBe(1);
    expect(b).toMatchObject({ messages: { totalCount: 0 }, members: [{ email: other.email }] });
  });

  it('refuses a search in masked texts, a bad reason, and lists outside of account(id) (R290)', async () => {
    const ask = (query: string) => graphql(gateway, query, { token: operator });
    const at = `id: "${account.accountId}"`;
    const search = await ask(`{ account(${at}) { messages(filter: { search: "private" }) { totalCount } } }`);
    expect(codesOf(search)).toEqual(['FORBIDDEN']);
    const empty = await ask(`{ account(${at}, reason: " ") { members { email } } }`);
    expect(codesOf(empty)).toEqual(['BAD_USER_INPUT']);
    const all = await ask('{ accounts { nodes { id messages { totalCount } } } }');
    expect(new Set(codesOf(all))).toEqual(new Set(['FORBIDDEN']));
    // Without the lists of an account, an operator needs no reason, and nothing is recorded.
    const before = (await inspections()).length;
    await data(operator, `{ account(${at}) { name balance } }`);
    expect(await inspections()).toHaveLength(before);
  });

  it('shows no member another account (R235)', async () => {
    const query = `{ account(id: "${other.accountId}", reason: "Curious") { messages { totalCount } } }`;
    expect(codesOf(await graphql(gateway, query, { token: owner }))).toEqual(['NOT_FOUND']);
  });

  it('counts the recipients of a message by status, without a statement more (R291)', async () => {
    const statements = async (field: string) => {
      using counter = countStatements();
      const { nodes } = (await data(owner, `{ messages { nodes { id ${field} } } }`)).messages;
      return { nodes, texts: counter.ofRequests() };
    };
    const [without, counted] = [
      await statements(''),
      await statements('recipientCounts { pending sent delivered failed }'),
    ];
    expect(counted.nodes[0].recipientCounts).toEqual({ pending: 0, sent: 1, delivered: 1, failed: 1 });
    expect(counted.texts).toEqual(without.texts);
  });
});
