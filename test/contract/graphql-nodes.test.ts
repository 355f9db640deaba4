import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';

const ACTOR = '__typename ... on User { id email removedAt } ... on ApiKey { keyId } ... on System { name }';

describe('objects and actors in GraphQL', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
  });
  afterAll(() => gateway?.stop());

  const data = async (query: string, variables: object = {}, as = token) => {
    const answer = await graphql(gateway, query, { token: as, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };

  /** Creates one object of each type, and returns the ids by type name. */
  async function objects(): Promise<Record<string, string>> {
    const hook = { url: 'http://127.0.0.1:9/hook', events: ['sms.sent'] };
    const { webhook } = (await gateway.call('POST', '/developers/webhooks', { key: account.key, body: hook }))
      .body;
    const sms = { to: '+256700123456', message: 'Hello' };
    const message = (await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body: sms }))
      .body;
    const made = await data(`mutation { importContacts(csv: "name,phone\\nAmina,0700123456") { id } }`);
    const { createContact } = await data('mutation { createContact(input: { phone: "0700000001" }) { id } }');
    const { registerDevice } = await data(
      'mutation { registerDevice(input: { token: "t", platform: ANDROID, userId: "u" }) { id } }',
    );
    const { sendTestEvent } = await data('mutation ($id: ID!) { sendTestEvent(webhookId: $id) { id } }', {
      id: webhook.id,
    });
    const own = await data(
      '{ viewer { id } apiKeys { id } auditLog(first: 1) { nodes { id } } account { id } }',
    );
    return {
      Account: own.account.id,
      User: own.viewer.id,
      ApiKey: own.apiKeys[0].id,
      Message: message.id,
      Webhook: webhook.id,
      WebhookDelivery: sendTestEvent.id,
      Contact: createContact.id,
      ContactImport: made.importContacts.id,
      Device: registerDevice.id,
      AuditEntry: own.auditLog.nodes[0].id,
    };
  }

  it('are found by id alone, of every type, and those of other accounts are not [R258]', async () => {
    const ids = await objects();
    const query = `query ($ids: [ID!]!) { nodes(ids: $ids) {
      __typename id ... on Message { content } ... on ApiKey { keyId scopes } ... on User { email } } }`;
    using counter = countStatements();
    const { nodes } = await data(query, { ids: Object.values(ids) });
    expect(counter.ofRequests()).not.toHaveLength(0);
    expect(counter.ofRequests().length).toBeLessThanOrEqual(14);
    expect(nodes.map(({ __typename, id }: { __typename: string; id: string }) => [__typename, id])).toEqual(
      Object.entries(ids),
    );
    expect(nodes).toContainEqual(expect.objectContaining({ __typename: 'Message', content: 'Hello' }));
    const one = await data('query ($id: ID!) { node(id: $id) { __typename id } }', {
      id: ids.Message?.toUpperCase(),
    });
    expect(one.node).toEqual({ __typename: 'Message', id: ids.Message });

    const other = await signIn(gateway, await gateway.createAccount());
    const unseen = await data(query, { ids: [...Object.values(ids), 'nothing'] }, other);
    expect(unseen.nodes).toEqual(Array(11).fill(null));
    const seen = await data(query, { ids: Object.values(ids) }, operator);
    expect(seen.nodes.map((node: { __typename: string } | null) => node?.__typename ?? null)).toEqual([
      'Account',
      ...Array(9).fill(null),
    ]);
  });

  it('are at most 100 at once', async () => {
    const answer = await graphql(gateway, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      token,
      variables: { ids: Array.from({ length: 101 }, (_, index) => `${index}`) },
    });
    expect(codesOf(answer)[0]).toBe('BAD_USER_INPUT');
  });

  it('count towards the cost of a query behind an interface [R224]', async () => {
    const query = `{ node(id: "x") { ... on Webhook { deliveries(first: 100) { nodes {
      webhook { deliveries(first: 100) { nodes { id } } } message { id } } } } } }`;
    const answer = await graphql(gateway, query, { token });
    expect(answer.body.errors[0].extensions.limit).toBe('cost');
  });

  it('tell who did something by name, after the person has left too [R259]', async () => {
    const person = await inviteMember(gateway, token, 'ADMIN');
    const theirs = await signIn(gateway, person);
    const create = `mutation { createApiKey(input: { name: "k", scopes: [FULL_ACCESS], environment: SANDBOX }) {
      key apiKey { keyId creator { ${ACTOR} } issuer { ${ACTOR} } } } }`;
    const { createApiKey } = await data(create, {}, theirs);
    const actor = { __typename: 'User', id: person.id, email: person.email, removedAt: null };
    expect(createApiKey.apiKey).toMatchObject({ creator: actor, issuer: actor });
    const { importContacts } = await data(
      `mutation { importContacts(csv: "name,phone\\nAmina,0700123456") { creator { ${ACTOR} } } }`,
      {},
      theirs,
    );
    expect(importContacts.creator).toEqual(actor);
    const send = `mutation { sendSms(input: { to: "+256700123456", message: "Hi" }) { id sentBy { ${ACTOR} } } }`;
    const { sendSms } = await data(send, {}, theirs);
    expect(sendSms.sentBy).toEqual(actor);
    const body = { to: '+256700123456', message: 'Hello' };
    const sent = (await gateway.call('POST', '/developers/sms', { key: createApiKey.key, body })).body;

    await data('mutation ($id: ID!) { removeMember(userId: $id) }', { id: person.id });
    const gone = { ...actor, removedAt: expect.any(String) };
    const shown = await data(
      `query ($sms: ID!, $by: ID!, $key: ID!) {
        message(id: $sms) { sentBy { ${ACTOR} } }
        byKey: message(id: $by) { sentBy { ${ACTOR} } }
        apiKey(id: $key) { creator { ${ACTOR} } }
        ledger { nodes { kind actor { ${ACTOR} } message { id channel to } } }
        auditLog(filter: { action: "apiKey.create", target: "${createApiKey.apiKey.keyId}" }) {
          nodes { actor { ${ACTOR} } target { type id node { __typename id } } } }
      }`,
      { sms: sendSms.id, by: sent.id, key: createApiKey.apiKey.keyId },
    );
    const keyId = createApiKey.apiKey.keyId;
    expect(shown).toEqual({
      message: { sentBy: gone },
      byKey: { sentBy: { __typename: 'ApiKey', keyId } },
      apiKey: { creator: gone },
      ledger: {
        nodes: [
          {
            kind: 'CHARGE',
            actor: gone,
            message: { id: sendSms.id, channel: 'SMS', to: ['+256700123456'] },
          },
          { kind: 'OPENING', actor: { __typename: 'System', name: 'test' }, message: null },
        ],
      },
      auditLog: {
        nodes: [
          { actor: gone, target: { type: 'API_KEY', id: keyId, node: { __typename: 'ApiKey', id: keyId } } },
        ],
      },
    });
  });

  it('hide who an operator is from members [R259]', async () => {
    await data(
      'mutation ($id: ID!) { topUpAccount(accountId: $id, amount: 5) { id } }',
      { id: account.accountId },
      operator,
    );
    const query = `{ auditLog(filter: { action: "account.topUp" }) { nodes { actor { ${ACTOR} } target { type node { id } } } } }`;
    const target = { type: 'ACCOUNT', node: { id: account.accountId } };
    const { auditLog } = await data(query);
    expect(auditLog.nodes).toEqual([{ actor: { __typename: 'System', name: 'operator' }, target }]);
    const seen = await data(query, {}, operator);
    expect(seen.auditLog.nodes[0]).toMatchObject({ actor: { __typename: 'User' }, target });
  });
});
