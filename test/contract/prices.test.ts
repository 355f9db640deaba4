import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const CHANGE = `mutation ($input: ChangePricesInput!, $dryRun: Boolean) {
  changePrices(input: $input, dryRun: $dryRun) { channel prefix amount isConfirmed } }`;
const PREVIEW = `query ($input: ChangePricesInput!) { previewPrices(input: $input) {
  total { ...Costs } accounts { id name costs { ...Costs } } } }
  fragment Costs on PreviewedCost { cost { amount } leastCost { amount } mostCost { amount } refusedRecipients }`;
const PRICE_FOR = `query ($to: String!) { priceFor(currency: "UGX", channel: SMS, to: $to) { prefix amount isConfirmed } }`;

describe('prices that operators change together', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let shop: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
    shop = await gateway.createAccount();
    token = await signInOperator(gateway);
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  const ask = (query: string, variables: object, as = token) =>
    graphql(gateway, query, { token: as, variables });
  const data = async (query: string, variables: object, as = token) => {
    const answer = await ask(query, variables, as);
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };
  const inUgx = (...changes: object[]) => ({
    input: { currency: 'UGX', changes: changes.map((change) => ({ channel: 'SMS', ...change })) },
  });
  const prices = async () =>
    (await data('{ prices { currency channel prefix amount } }', {})).prices
      .filter(
        ({ currency, channel }: { currency: string; channel: string }) =>
          currency === 'UGX' && channel === 'SMS',
      )
      .map(({ prefix, amount }: { prefix: string; amount: number }) => [prefix, amount]);

  it('are previewed by account, and the preview changes nothing (R514)', async () => {
    const body = { to: '+256700123456,+256770123456,+442079460000', message: 'Hello' };
    expect((await gateway.call('POST', '/developers/sms', { key: shop.key, body })).status).toBe(200);
    await foldAnalytics(gateway, sql);
    const before = await prices();
    const preview = async (...changes: object[]) => (await data(PREVIEW, inUgx(...changes))).previewPrices;
    const costs = (least: string, most: string, refusedRecipients = 0) => ({
      cost: { amount: '90' },
      leastCost: { amount: least },
      mostCost: { amount: most },
      refusedRecipients,
    });
    expect(await preview({ prefix: '', amount: 40 })).toEqual({
      total: costs('120', '120'),
      accounts: [{ id: shop.accountId, name: shop.email, costs: costs('120', '120') }],
    });
    // All numbers with +2567 are one figure, so nobody knows how many of them begin with +25677.
    expect((await preview({ prefix: '25677', amount: 20 })).total).toEqual(costs('70', '90'));
    expect((await preview({ prefix: '44', amount: 90 }, { prefix: '', amount: null })).total).toEqual(
      costs('90', '90', 2),
    );
    expect(await prices()).toEqual(before);
  });

  it('are changed, added and taken away together, with an audit entry for each (R513)', async () => {
    const added = [
      { prefix: '', amount: 35, before: 30 },
      { prefix: '44', amount: 90, before: null },
    ];
    const { changePrices } = await data(CHANGE, inUgx(...added));
    expect(changePrices).toContainEqual({ channel: 'SMS', prefix: '44', amount: 90, isConfirmed: true });
    expect(await prices()).toEqual([
      ['', 35],
      ['44', 90],
    ]);
    // The next send costs the new price.
    const sent = await gateway.call('POST', '/developers/sms', {
      key: shop.key,
      body: { to: '+442079460000', message: 'Hello' },
    });
    expect(sent.body.cost).toBe(90);
    await data(CHANGE, inUgx({ prefix: '44', amount: null, before: 90 }));
    expect(await prices()).toEqual([['', 35]]);
    const log =
      '{ auditLog(first: 3, filter: { action: "price.set" }) { nodes { target { id } before after } } }';
    expect((await data(log, {})).auditLog.nodes).toEqual([
      { target: { id: 'UGX sms 44' }, before: { amount: 90 }, after: { amount: null } },
      { target: { id: 'UGX sms 44' }, before: null, after: { amount: 90 } },
      { target: { id: 'UGX sms *' }, before: { amount: 30 }, after: { amount: 35 } },
    ]);
  });

  it('are all as they were if one change is faulty or outdated, and every fault is named (R513)', async () => {
    const before = await prices();
    const fields = async (...changes: object[]) => {
      const answer = await ask(CHANGE, inUgx(...changes));
      expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
      return answer.body.errors[0].extensions.details.fields.map(({ path }: { path: string }) => path);
    };
    expect(
      await fields(
        { prefix: '1', amount: 20 },
        { prefix: '2x', amount: 1 },
        { prefix: '3', amount: 0.5 },
        { prefix: '1', amount: 3 },
        { prefix: '' },
      ),
    ).toEqual([
      'input.changes.1.prefix',
      'input.changes.2.amount',
      'input.changes.3.prefix',
      'input.changes.4.amount',
    ]);
    expect(await fields({ prefix: '1', amount: 20 }, { prefix: '', amount: 50, before: 30 })).toEqual([
      'input.changes.1.before',
    ]);
    expect(await fields()).toEqual(['input.changes']);
    const dry = await data(CHANGE, { ...inUgx({ prefix: '1', amount: 20 }), dryRun: true });
    expect(dry.changePrices).toContainEqual(expect.objectContaining({ prefix: '1', amount: 20 }));
    expect(await prices()).toEqual(before);
  });

  it('of two operators who saw the same price, one changes it and the other is refused (R513)', async () => {
    const both = await Promise.all(
      [51, 52].map((amount) => ask(CHANGE, inUgx({ prefix: '9', amount, before: null }))),
    );
    expect(both.map((answer) => codesOf(answer)).sort()).toEqual([[], ['BAD_USER_INPUT']]);
  });

  it('show which of them holds for a number (R515)', async () => {
    await data(CHANGE, inUgx({ prefix: '25677', amount: 20 }));
    const holding = async (to: string) => (await data(PRICE_FOR, { to })).priceFor;
    expect(await holding('0770 123 456')).toEqual({ prefix: '25677', amount: 20, isConfirmed: true });
    expect(await holding('+442079460000')).toEqual({ prefix: '', amount: 35, isConfirmed: true });
    await data(CHANGE, inUgx({ prefix: '', amount: null }));
    expect(await holding('+442079460000')).toBeNull();
    expect(codesOf(await ask(PRICE_FOR, { to: 'nobody' }))).toEqual(['BAD_USER_INPUT']);
  });

  it('are changed and previewed by operators only (R513, R514)', async () => {
    const owner = await signIn(gateway, shop);
    const reader = await signInOperator(gateway, true);
    const input = inUgx({ prefix: '1', amount: 1 });
    for (const query of [CHANGE, PREVIEW]) {
      expect(codesOf(await ask(query, input, owner))).toEqual(['FORBIDDEN']);
    }
    expect(codesOf(await ask(CHANGE, input, reader))).toEqual(['FORBIDDEN']);
    expect((await ask(PREVIEW, input, reader)).body.errors).toBeUndefined();
    expect((await ask(PRICE_FOR, { to: '0770123456' }, owner)).body.data.priceFor.amount).toBe(20);
  });
});
