import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const LOOK_UP = `mutation ($query: String!) { lookUpMessages(query: $query) {
  id accountId accountName channel environment status statusReason createdAt sender textLength recipientCount
  recipients { address status provider sid sentAt deliveredAt failedAt attempts errorCode errorMessage }
  timeline { at status recipient detail } } }`;
const TEXT = 'A very private text';

describe('the look-up of a message over all accounts (R516)', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let shop: TestAccount;
  let bank: TestAccount;
  let token: string;
  let shopMessage: string;
  let bankMessage: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
    shop = await gateway.createAccount();
    bank = await gateway.createAccount();
    token = await signInOperator(gateway);
    // In the simulator, the first number is rejected, and the second is delivered.
    shopMessage = await send(shop, '+256700120001,+256700123456');
    bankMessage = await send(bank, '+256700120001');
    await eventually(
      async () =>
        (await sql.query(`SELECT FROM recipients WHERE status IN ('delivered', 'failed')`)).length === 3,
    );
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  const send = async ({ key }: TestAccount, to: string): Promise<string> =>
    (await gateway.call('POST', '/developers/sms', { key, body: { to, message: TEXT } })).body.id;
  const lookUp = async (query: string) => {
    const answer = await graphql(gateway, LOOK_UP, { token, variables: { query } });
    if (answer.body.errors) throw new Error(answer.text);
    expect(answer.text).not.toContain(TEXT);
    return answer.body.data.lookUpMessages;
  };
  const audited = async (as: string, action: string) => {
    const query =
      'query ($action: String) { auditLog(first: 50, filter: { action: $action }) { nodes { after target { id } actor { __typename } } } }';
    const answer = await graphql(gateway, query, { token: as, variables: { action } });
    return answer.body.data.auditLog.nodes;
  };

  it('finds it by its id, without the text and with masked numbers', async () => {
    const [found, ...others] = await lookUp(` ${shopMessage.toUpperCase()} `);
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      id: shopMessage,
      accountId: shop.accountId,
      accountName: shop.email,
      channel: 'SMS',
      environment: 'PRODUCTION',
      textLength: TEXT.length,
      recipientCount: 2,
    });
    expect(found.recipients).toEqual([
      expect.objectContaining({ address: '…001', status: 'FAILED', errorCode: expect.any(String) }),
      expect.objectContaining({ address: '…456', status: 'DELIVERED', provider: 'simulator' }),
    ]);
    expect(JSON.stringify(found)).not.toContain('25670012');
    expect(found.timeline.map(({ status }: { status: string }) => status)).toEqual(
      expect.arrayContaining(['pending', 'sent', 'delivered', 'failed']),
    );
  });

  it('finds those to a number in any spelling over all accounts, and shows only this number whole', async () => {
    const found = await lookUp('0700 120 001');
    expect(found.map(({ id }: { id: string }) => id)).toEqual([bankMessage, shopMessage]);
    const [first, second] = found[1].recipients;
    expect([first.address, second.address]).toEqual(['+256700120001', '…456']);
  });

  it("finds it by the provider's id", async () => {
    const [row] = await sql.query('SELECT sid FROM recipients WHERE message_id = $1 AND sid IS NOT NULL', [
      shopMessage,
    ]);
    const found = await lookUp(String(row?.sid));
    expect(found.map(({ id }: { id: string }) => id)).toEqual([shopMessage]);
  });

  it('finds nothing for what is unknown, and refuses what is too short', async () => {
    expect(await lookUp('+256799999999')).toEqual([]);
    expect(await lookUp('00000000-0000-7000-8000-000000000000')).toEqual([]);
    expect(codesOf(await graphql(gateway, LOOK_UP, { token, variables: { query: 'ab' } }))).toEqual([
      'BAD_USER_INPUT',
    ]);
  });

  it('is in the audit log of the platform, and of each account whose message was shown', async () => {
    const count = async () => {
      const owner = await signIn(gateway, bank);
      return [
        (await audited(token, 'platform.lookUp')).length,
        (await audited(owner, 'account.lookUp')).length,
      ] as const;
    };
    const before = await count();
    await lookUp('+256700120001');
    await lookUp(shopMessage);
    expect(await count()).toEqual([before[0] + 2, before[1] + 1]);
    const [entry] = await audited(await signIn(gateway, bank), 'account.lookUp');
    expect(entry).toEqual({
      after: { query: '…001', messageIds: [bankMessage] },
      target: { id: bank.accountId },
      actor: { __typename: 'System' },
    });
    const platform = await audited(token, 'platform.lookUp');
    expect(JSON.stringify(platform)).not.toContain('256700120001');

    // What is not understood as an address may still have one in it.
    for (const query of [
      '0700120001, 0700120002',
      'tel:+256700120001',
      'Jane jane@shop.example',
      'mailto:jane@shop.example',
    ]) {
      await lookUp(query);
      const [{ after }] = (await audited(token, 'platform.lookUp')) as [{ after: { query: string } }];
      expect([query, after.query]).toEqual([query, expect.not.stringMatching(/0700|25670|jane@/)]);
    }
  });

  it('is for operators only', async () => {
    const owner = await signIn(gateway, shop);
    const at = new Date(Date.now() + 24 * 3_600_000).toISOString();
    const made = await graphql(
      gateway,
      `mutation { createAccessToken(input: { name: "t", permissions: ["account.get"], expiresAt: "${at}" }) { token } }`,
      { token: owner },
    );
    for (const each of [owner, made.body.data.createAccessToken.token]) {
      const answer = await graphql(gateway, LOOK_UP, { token: each, variables: { query: shopMessage } });
      expect(codesOf(answer)).toEqual(['FORBIDDEN']);
    }
    const reader = await signInOperator(gateway, true);
    const answer = await graphql(gateway, LOOK_UP, { token: reader, variables: { query: shopMessage } });
    expect(answer.body.data.lookUpMessages).toHaveLength(1);
  });
});
