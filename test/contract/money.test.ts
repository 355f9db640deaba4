import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';

describe('money (R17)', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  const opened: { stop(): Promise<void> }[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    opened.push(gateway);
    sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });

  const send = (key: string, to: string, rest: object = {}, at = gateway) =>
    at.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...rest } });
  const balance = async (key: string, at = gateway) =>
    (await at.call('GET', '/account', { key })).body.balance;
  const entries = (accountId: string, from = sql) =>
    from.query(
      `SELECT kind, amount_minor::int AS amount, message_id, position FROM ledger_entries WHERE account_id = $1 ORDER BY seq`,
      [accountId],
    );

  it('a send above the balance gets 402 with balance, required and currency, and stores nothing (R99, R169, R173)', async () => {
    const poor = await gateway.createAccount(59);
    const { status, body } = await send(poor.key, '0700123456,0700123457');
    expect({ status, body }).toEqual({
      status: 402,
      body: {
        error: {
          code: 'insufficient_balance',
          message: expect.any(String),
          details: { balance: 59, required: 60, currency: 'UGX' },
        },
      },
    });
    expect(await balance(poor.key)).toBe(59);
    expect(await sql.query('SELECT 1 FROM messages WHERE account_id = $1', [poor.accountId])).toEqual([]);
    expect((await send(poor.key, '0700123456')).status).toBe(200);
  });

  it('refunds each recipient that no carrier accepted once, and none that failed later', async () => {
    const owner = await gateway.createAccount(1_000);
    // By number: rejected, undeliverable, delivered, rejected. The text has two units.
    const { body } = await send(owner.key, '0700000001,0700000002,0700123456,0710000001', {
      message: 'a'.repeat(161),
    });
    expect(body.cost).toBe(240);
    await eventually(async () => {
      const found = await gateway.call('GET', `/developers/messages/${body.id}`, { key: owner.key });
      return found.body.status === 'delivered';
    });
    expect(await balance(owner.key)).toBe(1_000 - 240 + 2 * 60);
    expect(await entries(owner.accountId)).toEqual([
      { kind: 'opening', amount: 1_000, message_id: null, position: null },
      { kind: 'charge', amount: -240, message_id: body.id, position: null },
      { kind: 'refund', amount: 60, message_id: body.id, position: 0 },
      { kind: 'refund', amount: 60, message_id: body.id, position: 3 },
    ]);
    await checkLedger(sql, owner.accountId);
  });

  it('a message that fails completely costs nothing in the end (R89)', async () => {
    const owner = await gateway.createAccount(90);
    const { body } = await send(owner.key, '0700000001,0710000001,0720000001');
    await eventually(async () => (await balance(owner.key)) === 90);
    const found = await gateway.call('GET', `/developers/sms/${body.id}`, { key: owner.key });
    expect(found.body).toMatchObject({ status: 'failed', sid: null, cost: 90 });
    await checkLedger(sql, owner.accountId);
  });

  it('the ledger is append-only: PostgreSQL refuses every change, and a second refund', async () => {
    const owner = await gateway.createAccount(1_000);
    const { body } = await send(owner.key, '0700000001');
    await eventually(async () => (await balance(owner.key)) === 1_000);
    const own = [owner.accountId];
    await expect(
      sql.query('UPDATE ledger_entries SET amount_minor = 1 WHERE account_id = $1', own),
    ).rejects.toThrow('the ledger is append-only');
    await expect(sql.query('DELETE FROM ledger_entries WHERE account_id = $1', own)).rejects.toThrow(
      'the ledger is append-only',
    );
    await expect(sql.query('TRUNCATE ledger_entries')).rejects.toThrow('the ledger is append-only');
    const again = sql.query(
      `INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, message_id, position, kind)
       VALUES ($1, 99, 30, 1030, now(), $2, 0, 'refund')`,
      [owner.accountId, body.id],
    );
    await expect(again).rejects.toThrow(/ledger_one_refund/);
    await checkLedger(sql, owner.accountId);
  });

  it('a balance cannot go below zero, not even by SQL', async () => {
    const owner = await gateway.createAccount(30);
    const change = sql.query('UPDATE accounts SET balance_minor = balance_minor - 31 WHERE id = $1', [
      owner.accountId,
    ]);
    await expect(change).rejects.toThrow(/balance_minor/);
  });

  it('the longest price prefix wins, and a destination without a price is refused (R3, R194)', async () => {
    const owner = await gateway.createAccount(1_000);
    const set = (prefix: string, amount: number) =>
      sql.query(
        `INSERT INTO prices (id, currency, channel, prefix, amount_minor, updated_at)
         VALUES (gen_random_uuid(), 'UGX', 'sms', $1, $2, now())`,
        [prefix, amount],
      );
    await set('254', 70);
    await set('25471', 90);
    // A process reads prices when it starts. The SQL statement above is not announced, so a new process is needed.
    const fresh = await startTestGateway({}, gateway.database);
    opened.push(fresh);
    const { body } = await send(owner.key, '0700123456,+254201234567,+254712345678', {}, fresh);
    expect(body.cost).toBe(30 + 70 + 90);
    expect(body.metadata.costPerSms).toBe(30);

    await sql.query(`DELETE FROM prices WHERE currency = 'UGX' AND channel = 'sms' AND prefix = ''`);
    const unpriced = await startTestGateway({}, gateway.database);
    opened.push(unpriced);
    const refused = await send(owner.key, '+254712345678,0700123456', {}, unpriced);
    expect(refused.body.error).toMatchObject({
      code: 'unpriced_destination',
      details: { destination: '+256700123456' },
    });
    await set('', 30);
  });

  describe('of 50 concurrent sends with a balance for 20', () => {
    let second: TestGateway;
    let owner: TestAccount;
    beforeAll(async () => {
      second = await startTestGateway({}, gateway.database);
      opened.push(second);
    });

    it.each([
      ['one process', () => [gateway]],
      ['two processes', () => [gateway, second]],
    ])('exactly 20 pass: %s (R99)', async (_, gateways) => {
      owner = await gateway.createAccount(20 * 60 + 29);
      const at = gateways();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          send(owner.key, '0700000004,0710000004', {}, at[index % at.length]),
        ),
      );
      const passed = answers.filter(({ status }) => status === 200);
      expect(passed).toHaveLength(20);
      for (const { status, body } of answers) {
        if (status === 200) continue;
        expect({ status, details: body.error.details }).toEqual({
          status: 402,
          details: { balance: expect.any(Number), required: 60, currency: 'UGX' },
        });
      }
      expect(await balance(owner.key)).toBe(29);
      const history = await gateway.call('GET', '/developers/sms/history?limit=100', { key: owner.key });
      expect(history.body.data.map(({ id }: { id: string }) => id).sort()).toEqual(
        passed.map(({ body }) => body.id).sort(),
      );
      await checkLedger(sql, owner.accountId);
    });
  });
});
