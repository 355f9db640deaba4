import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isObjectType } from 'graphql';
import { createSchema } from '../../src/graphql/schema.ts';
import { withKnex } from '../support/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn, signInOperator } from '../support/graphql.ts';

const BILLIONS = 3_000_000_000;

describe('types of the GraphQL API', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount(100);
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
  });
  afterAll(() => gateway?.stop());

  const data = async (query: string, variables: object = {}, as = token) => {
    const answer = await graphql(gateway, query, { token: as, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };
  const change = (statement: string, values: unknown[]) =>
    withKnex(gateway.database.connection, (knex) => knex.raw(statement, values as string[]));

  it('shows a ledger of 3 billion entries [R248]', async () => {
    await change('UPDATE accounts SET ledger_seq = ? WHERE id = ?', [BILLIONS, account.accountId]);
    const topUp = 'mutation ($id: ID!) { topUpAccount(accountId: $id, amount: 5) { balance } }';
    for (const _ of [1, 2]) await data(topUp, { id: account.accountId }, operator);
    const query = `query ($after: String) {
      ledger(first: 1, after: $after) { totalCount nodes { seq kind } pageInfo { endCursor } } }`;
    const { ledger } = await data(query);
    expect(ledger).toMatchObject({
      totalCount: BILLIONS + 2,
      nodes: [{ seq: BILLIONS + 2, kind: 'TOPUP' }],
    });
    const next = await data(query, { after: ledger.pageInfo.endCursor });
    expect(next.ledger.nodes).toEqual([{ seq: BILLIONS + 1, kind: 'TOPUP' }]);
  });

  it('counts beyond 2^31: messages, deliveries and usage [R248]', async () => {
    const { accountId } = account;
    await change('UPDATE accounts SET sms_seq = ? WHERE id = ?', [BILLIONS, accountId]);
    await change(
      `INSERT INTO usage_hours (account_id, hour, channel, environment, status, api_key_id, messages, cost_minor)
       VALUES (?, date_trunc('hour', now()), 'sms', 'production', 'sent', '', ?, ?)`,
      [accountId, BILLIONS, 30 * BILLIONS],
    );
    const body = { url: 'http://127.0.0.1:9/hook', events: ['sms.sent'] };
    const { webhook } = (await gateway.call('POST', '/developers/webhooks', { key: account.key, body })).body;
    await change(
      `INSERT INTO delivery_hours (webhook_id, hour, deliveries, event, status)
       VALUES (?, date_trunc('hour', now()), ?, 'sms.sent', 'success')`,
      [webhook.id, BILLIONS],
    );
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const to = new Date(Date.now() + 3_600_000).toISOString();
    const shown = await data(
      `query ($from: DateTime!, $to: DateTime!) {
        messages { totalCount }
        usage(from: $from, to: $to, interval: MONTH) { messages cost costMoney { amount minor } }
        webhooks { stats { succeeded } deliveries { totalCount } }
      }`,
      { from, to },
    );
    expect(shown).toEqual({
      messages: { totalCount: BILLIONS },
      usage: [
        {
          messages: BILLIONS,
          cost: 30 * BILLIONS,
          costMoney: { amount: '90000000000', minor: '90000000000' },
        },
      ],
      webhooks: [{ stats: { succeeded: BILLIONS }, deliveries: { totalCount: BILLIONS } }],
    });
  });

  it('shows exact money beside each amount [R248]', async () => {
    const create = `mutation { createAccount(input: { email: "exact@shop.example", currency: "USD", balance: 19.9 }) {
      id balance balanceMoney { amount currency minor } } }`;
    const { createAccount } = await data(create, {}, operator);
    expect(createAccount).toMatchObject({
      balance: 19.9,
      balanceMoney: { amount: '19.90', currency: 'USD', minor: '1990' },
    });
    const money = new Set<string>();
    for (const type of Object.values(createSchema().getTypeMap())) {
      if (!isObjectType(type) || type.name.startsWith('__')) continue;
      const fields = Object.values(type.getFields());
      const names = fields.map(({ name }) => name);
      for (const { name, type: shown } of fields) {
        const isAmount =
          /^(amount|balance|balanceAfter|cost|refunded)$/.test(name) && `${shown}` === 'Float!';
        if (isAmount && !names.includes(`${name}Money`)) money.add(`${type.name}.${name}`);
      }
    }
    expect([...money]).toEqual([]);
  });

  it('names no object type after its class', () => {
    const names = Object.values(createSchema().getTypeMap())
      .filter(isObjectType)
      .map(({ name }) => name);
    expect(names.filter((name) => name.endsWith('Type') && !name.startsWith('__'))).toEqual([]);
  });
});
