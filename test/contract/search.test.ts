import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';

const QUERY = `query ($text: String!, $environment: Environment) {
  search(text: $text, environment: $environment) { __typename id } }`;
const SPELLINGS = ['0700120001', '+256 700 120 001', '256700120001', '700120001', '0700-120-001'];

describe('search in GraphQL (R340)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let sms: string;
  let email: string;
  let webhook: string;
  let contact: string;
  let delivery: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    const post = async (path: string, body: object, key = account.key) =>
      (await gateway.call('POST', path, { key, body })).body;
    sms = (await post('/developers/sms', { to: '+256700120001', message: 'Your parcel is here' })).id;
    const mail = { to: 'amina@example.com', subject: 'Invoice', text: 'Please pay' };
    email = (await post('/developers/email', mail)).id;
    const hook = { url: 'http://127.0.0.1:9/orders', events: ['sms.sent'], description: 'Order desk' };
    webhook = (await post('/developers/webhooks', hook)).webhook.id;
    contact = (await post('/developers/contacts', { phone: '0700120001', name: 'Amina Nakato' })).id;
    const sent = await graphql(gateway, 'mutation ($id: ID!) { sendTestEvent(webhookId: $id) { id } }', {
      token,
      variables: { id: webhook },
    });
    delivery = sent.body.data.sendTestEvent.id;
  });
  afterAll(() => gateway?.stop());

  const found = async (text: string, as = token, environment?: string): Promise<string[]> => {
    const answer = await graphql(gateway, QUERY, { token: as, variables: { text, environment } });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data.search.map(({ __typename, id }: Record<string, string>) => `${__typename} ${id}`);
  };

  it.each(SPELLINGS)('finds the messages and the contact of a number as %s (R340)', async (text) => {
    expect(await found(text)).toEqual([`Message ${sms}`, `Contact ${contact}`]);
  });

  it.each(SPELLINGS)('the list of messages finds a number as %s (R340)', async (search) => {
    const { body } = await graphql(
      gateway,
      'query ($search: String) { messages(filter: { search: $search }) { nodes { id } totalCount } }',
      { token, variables: { search } },
    );
    expect(body.data.messages).toEqual({ nodes: [{ id: sms }], totalCount: 1 });
  });

  it('finds any object by its id, an email address, a name and a text (R340)', async () => {
    const { body } = await graphql(gateway, '{ viewer { id } apiKeys { keyId name environment } }', {
      token,
    });
    const key = body.data.apiKeys.find(
      ({ environment }: { environment: string }) => environment === 'PRODUCTION',
    );
    expect(await found(sms)).toEqual([`Message ${sms}`]);
    expect(await found(` ${delivery.toUpperCase()} `)).toEqual([`WebhookDelivery ${delivery}`]);
    expect(await found(key.keyId)).toEqual([`ApiKey ${key.keyId}`]);
    expect(await found('amina@example.com')).toEqual([`Message ${email}`]);
    expect(await found(account.email)).toEqual([`User ${body.data.viewer.id}`]);
    expect(await found('order DESK')).toEqual([`Webhook ${webhook}`]);
    expect(await found('127.0.0.1')).toEqual([`Webhook ${webhook}`]);
    expect(await found('nakato')).toEqual([`Contact ${contact}`]);
    expect(await found('parcel')).toEqual([`Message ${sms}`]);
  });

  it('shows one environment, and nothing of other accounts (R340)', async () => {
    expect(await found('0700120001', token, 'SANDBOX')).toEqual([]);
    const other = await signIn(gateway, await gateway.createAccount());
    for (const text of ['0700120001', sms, 'parcel', 'Order desk', 'amina@example.com']) {
      expect(await found(text, other)).toEqual([]);
    }
    const viewer = await signIn(gateway, await inviteMember(gateway, token, 'VIEWER'));
    expect(await found('parcel', viewer)).toEqual([`Message ${sms}`]);
    const refused = await graphql(gateway, QUERY, {
      token: await signInOperator(gateway),
      variables: { text: 'parcel' },
    });
    expect(codesOf(refused)).toEqual(['FORBIDDEN']);
  });

  it('refuses a text of one character or of 101, and costs more for texts than for numbers (R340)', async () => {
    for (const text of [' a ', 'a'.repeat(101)]) {
      const refused = await graphql(gateway, QUERY, { token, variables: { text } });
      expect(codesOf(refused)).toEqual(['BAD_USER_INPUT']);
    }
    const cost = async (text: string) =>
      (await graphql(gateway, QUERY, { token, variables: { text } })).cost.requested;
    expect(await cost('0700120001')).toBeLessThan(100);
    expect(await cost('parcel')).toBeGreaterThan(1_000);
  });
});
