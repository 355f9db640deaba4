import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';

const MONEY = '{ minor currency }';
const FIELDS = `month from to isFinal opening ${MONEY} topUps ${MONEY} topUpCount
  charges { channel messages amount ${MONEY} } refunds ${MONEY} refundCount closing ${MONEY} difference ${MONEY}`;
const QUERY = `query ($month: String!) { statement(month: $month) { account { id } ${FIELDS} } }`;
const ugx = (minor: number) => ({ minor: String(minor), currency: 'UGX' });

describe('the statement of a month (R460)', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  const read = async (token: string, month: string) =>
    (await graphql(gateway, QUERY, { token, variables: { month } })).body.data.statement;
  const balanceOf = async ({ key }: TestAccount) =>
    (await gateway.call('GET', '/account', { key })).body.balance;

  it('adds top-ups, charges by channel and refunds up to the closing balance', async () => {
    const account = await gateway.createAccount(1_000);
    const token = await signIn(gateway, account);
    const { key, sandboxKey } = account;
    const system = { kind: 'system', name: 'test' } as const;
    await gateway.parts.operations.accounts.topUp.run(system, { accountId: account.accountId, amount: 500 });
    // The simulator rejects the numbers that end in 0001 (R226). The sandbox costs nothing.
    const sms = { to: '0700000001,0700123456,0700123457', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key, body: sms });
    await gateway.call('POST', '/developers/sms', { key: sandboxKey, body: sms });
    const email = { to: 'amina@example.com', subject: 'Hello', text: 'Hello' };
    await gateway.call('POST', '/developers/email', { key, body: email });
    await eventually(async () => (await balanceOf(account)) === 1_500 - 90 + 30);
    const ledger = '{ ledger { nodes { kind message { channel to } recipient { to status cost } } } }';
    const { nodes } = (await graphql(gateway, ledger, { token })).body.data.ledger;
    const whole = { channel: 'SMS', to: ['+256700000001', '+256700123456', '+256700123457'] };
    expect(nodes).toEqual([
      { kind: 'REFUND', message: whole, recipient: { to: '+256700000001', status: 'FAILED', cost: 30 } },
      { kind: 'CHARGE', message: whole, recipient: null },
      { kind: 'TOPUP', message: null, recipient: null },
      { kind: 'OPENING', message: null, recipient: null },
    ]);
    const month = new Date().toISOString().slice(0, 7);
    const from = new Date(`${month}-01T00:00:00Z`);
    expect(await read(token, month)).toEqual({
      account: { id: account.accountId },
      month,
      from: from.toISOString(),
      to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1)).toISOString(),
      isFinal: false,
      opening: ugx(0),
      topUps: ugx(1_500),
      topUpCount: 2,
      charges: [
        { channel: 'EMAIL', messages: 1, amount: ugx(0) },
        { channel: 'SMS', messages: 1, amount: ugx(90) },
      ],
      refunds: ugx(30),
      refundCount: 1,
      closing: ugx(1_440),
      difference: ugx(0),
    });
  });

  it('begins where the month before ends, also for entries that overtook each other', async () => {
    const account = await gateway.createAccount(0);
    const token = await signIn(gateway, account);
    const times = [
      '2026-01-31T23:59:50Z',
      '2026-02-01T00:00:05Z',
      '2026-01-31T23:59:58Z',
      '2026-02-10T12:00:00Z',
      '2026-02-28T23:59:59.999Z',
      '2026-03-01T00:00:00Z',
    ];
    await withKnex(gateway.database.connection, async (knex) => {
      let balance = 0;
      const entries = times.map((time, index) => {
        balance += 10 ** index;
        const seq = index + 1;
        const amounts = { amount_minor: 10 ** index, balance_after_minor: balance };
        const made = { created_at: new Date(time), kind: 'topup', actor: 'system:test' };
        return { account_id: account.accountId, seq, ...amounts, ...made };
      });
      await knex('ledger_entries').insert(entries);
      const end = { ledger_seq: times.length, balance_minor: balance };
      await knex('accounts').where({ id: account.accountId }).update(end);
    });
    const sums = async (month: string) => {
      const { opening, topUps, closing, difference, isFinal } = await read(token, month);
      expect([difference.minor, isFinal]).toEqual(['0', true]);
      return [opening, topUps, closing].map(({ minor }) => Number(minor));
    };
    expect(await sums('2025-12')).toEqual([0, 0, 0]);
    expect(await sums('2026-01')).toEqual([0, 101, 101]);
    expect(await sums('2026-02')).toEqual([101, 11_010, 11_111]);
    expect(await sums('2026-03')).toEqual([11_111, 100_000, 111_111]);
    expect(await sums('2026-04')).toEqual([111_111, 0, 111_111]);
  });

  it('says by how much the counts of messages and the ledger disagree', async () => {
    const account = await gateway.createAccount(500);
    const token = await signIn(gateway, account);
    const month = new Date().toISOString().slice(0, 7);
    await withKnex(gateway.database.connection, async (knex) => {
      const counted = { channel: 'push', environment: 'production', status: 'sent', api_key_id: '' };
      const day = { account_id: account.accountId, hour: new Date(), block: 0, bitmap: 0 };
      await knex('usage_deltas').insert({ ...day, ...counted, messages: 1, cost_minor: 7 });
    });
    const { closing, difference } = await read(token, month);
    expect([closing, difference]).toEqual([ugx(500), ugx(7)]);
  });

  it('is of a month that has begun, and of the own account; operators read any account', async () => {
    const [account, other] = [await gateway.createAccount(300), await gateway.createAccount(400)];
    const token = await signIn(gateway, account);
    for (const month of ['2026-13', 'May', '9999-01']) {
      const answer = await graphql(gateway, QUERY, { token, variables: { month } });
      expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
      expect(answer.text).toContain('must be a month such as');
    }
    const month = new Date().toISOString().slice(0, 7);
    expect((await read(token, month)).closing).toEqual(ugx(300));
    const operator = await signInOperator(gateway);
    const query = `query ($id: ID!, $month: String!) { account(id: $id) { statement(month: $month) { closing ${MONEY} } } }`;
    const asked = await graphql(gateway, query, {
      token: operator,
      variables: { id: other.accountId, month },
    });
    expect(asked.body.data.account.statement.closing).toEqual(ugx(400));
    expect(codesOf(await graphql(gateway, QUERY, { token: operator, variables: { month } }))).toEqual([
      'FORBIDDEN',
    ]);
  });
});
