import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const LOG = `query ($first: Int, $filter: AuditLogFilter) {
  auditLog(first: $first, filter: $filter) {
    totalCount nodes { action account { id name email } target { id name } }
  }
}`;

interface Entry {
  readonly action: string;
  readonly account: { readonly id: string; readonly name: string; readonly email: string } | null;
  readonly target: { readonly id: string; readonly name: string | null };
}

describe('names in the audit log', () => {
  let gateway: TestGateway;
  let shop: TestAccount;
  let owner: string;
  let operator: string;
  let mangoes: { id: string; email: string };
  beforeAll(async () => {
    gateway = await startTestGateway();
    shop = await gateway.createAccount();
    owner = await signIn(gateway, shop);
    operator = await signInOperator(gateway);
    const { accounts } = gateway.parts.operations;
    const made = { currency: 'UGX', balance: 5 };
    const { account } = await accounts.create.run(SYSTEM, {
      ...made,
      email: 'fruit@test.example',
      name: 'Mangoes',
    });
    mangoes = account;
    await accounts.create.run(SYSTEM, { ...made, email: 'other@test.example', name: 'Mangoes of Jinja' });
  });
  afterAll(() => gateway?.stop());

  const ask = (filter: object, as = operator, first = 50) =>
    graphql(gateway, LOG, { token: as, variables: { filter, first } });
  const entriesOf = async (filter: object, as = operator, first = 50): Promise<readonly Entry[]> => {
    const answer = await ask(filter, as, first);
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data.auditLog.nodes;
  };
  const mutate = async (query: string, variables: object) => {
    const answer = await graphql(gateway, query, { token: owner, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };

  it('an entry names its account and its target, also one that is removed (R526)', async () => {
    const person = await inviteMember(gateway, owner, 'VIEWER');
    const { members } = await mutate('{ members { id email } }', {});
    const { id } = members.find(({ email }: { email: string }) => email === person.email);
    await mutate('mutation ($id: ID!) { removeMember(userId: $id) }', { id });
    const { keyId } = await gateway.createKey(shop.accountId, {});
    const hook = { url: 'http://127.0.0.1:9/hook?token=secret', events: ['sms.sent'] };
    const { webhook } = (await gateway.call('POST', '/developers/webhooks', { key: shop.key, body: hook }))
      .body;
    await mutate('mutation ($id: ID!) { deleteWebhook(id: $id) }', webhook);
    const { requestSender } = await mutate(
      'mutation { requestSender(input: { channel: SMS, senderId: "PAPAYA", purposes: [TRANSACTIONAL], useCase: "Codes", company: "Papaya Ltd" }) { id } }',
      {},
    );
    const named: readonly (readonly [string, string, string])[] = [
      ['member.remove', id, person.email],
      ['apiKey.create', keyId, 'test'],
      ['webhook.delete', webhook.id, 'http://127.0.0.1:9/hook?token=***'],
      ['sender.request', requestSender.id, 'PAPAYA'],
      ['account.create', shop.accountId, shop.email],
    ];
    for (const as of [operator, owner]) {
      for (const [action, target, name] of named) {
        const [entry] = await entriesOf({ action, target }, as);
        expect(entry).toEqual({
          action,
          account: { id: shop.accountId, name: shop.email, email: shop.email },
          target: { id: target, name },
        });
      }
    }
  });

  it('a change of the platform has no account, and a price has no name (R526)', async () => {
    await gateway.parts.operations.prices.set.run(SYSTEM, {
      ...{ currency: 'RWF', channel: 'sms', prefix: '', amount: 12 },
    });
    const [entry] = await entriesOf({ action: 'price.set' });
    expect(entry).toMatchObject({ account: null, target: { name: null } });
  });

  it('one statement reads the accounts of a page, and one the names (R526)', async () => {
    const statements = async (first: number) => {
      using counter = countStatements();
      await entriesOf({ action: 'account.create' }, operator, first);
      return counter.ofRequests().length;
    };
    const created = await entriesOf({ action: 'account.create' });
    expect(new Set(created.map(({ account }) => account?.id)).size).toBeGreaterThan(2);
    await statements(1);
    expect(await statements(50)).toBe(await statements(1));
  });

  it('operators filter by an account: its id, its email, its name or a part of it (R526)', async () => {
    const wanted = [{ action: 'account.create', account: { name: 'Mangoes' } }];
    for (const account of [
      mangoes.id.toUpperCase(),
      mangoes.email,
      'FRUIT@test.example',
      'mangoes',
      'fruit@',
    ]) {
      const found = await ask({ account });
      expect(found.body.data.auditLog).toMatchObject({ totalCount: 1, nodes: wanted });
    }
    expect(await entriesOf({ account: 'of Jinja', action: 'account.create' })).toMatchObject([
      { account: { email: 'other@test.example' } },
    ]);
  });

  it.each([
    ['Mang', /several accounts.*other@test\.example.*fruit@test\.example/],
    ['nobody of this name', /names no account/],
    ['x'.repeat(321), /at most 320/],
  ])('an account that is not one is refused: %s (R526)', async (account, message) => {
    const answer = await ask({ account });
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.text).toMatch(message);
    expect(answer.body.errors[0].extensions.details.fields[0].path).toBe('filter.account');
  });

  it('members cannot filter by account (R526)', async () => {
    expect(codesOf(await ask({ account: shop.accountId }, owner))).toEqual(['FORBIDDEN']);
  });

  it('a person is found by email as actor and as target, members only in their account (R526)', async () => {
    const person = await inviteMember(gateway, owner, 'ADMIN');
    const token = await signIn(gateway, person);
    const { viewer } = (await graphql(gateway, '{ viewer { id } }', { token })).body.data;
    await graphql(gateway, 'mutation { createContact(input: { phone: "0700000001" }) { id } }', { token });
    const rename = 'mutation ($id: ID!) { updateApiKey(keyId: $id, input: { name: "renamed" }) { keyId } }';
    const { keyId } = await gateway.createKey(shop.accountId, { scopes: ['SEND_SMS'] });
    await graphql(gateway, rename, { token, variables: { id: keyId } });
    const [byId, byEmail] = [`user:${viewer.id}`, person.email.toUpperCase()];
    for (const as of [operator, owner]) {
      const found = await entriesOf({ actor: byEmail, action: 'apiKey.update' }, as);
      expect(found).toMatchObject([{ target: { id: keyId } }]);
      expect(found).toEqual(await entriesOf({ actor: byId, action: 'apiKey.update' }, as));
      expect(await entriesOf({ target: byEmail, action: 'member.invite' }, as)).toHaveLength(1);
    }
    expect(await entriesOf({ actor: 'nobody@test.example' })).toEqual([]);
    const other = await signIn(gateway, await gateway.createAccount());
    expect(await entriesOf({ target: person.email }, other)).toEqual([]);
  });

  it('a sender names its account (R526)', async () => {
    const query = '{ senders(first: 10, environment: PRODUCTION) { nodes { senderId account { id } } } }';
    const { senders } = (await graphql(gateway, query, { token: operator })).body.data;
    expect(senders.nodes).toContainEqual({ senderId: 'PAPAYA', account: { id: shop.accountId } });
  });
});
