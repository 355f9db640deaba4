import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkLedgers } from '../../src/workers/ledgers/check-ledgers.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

/** Runs SQL by hand as the gateway's own database user. */
describe('PostgreSQL itself refuses', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let account: TestAccount;
  let other: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
    account = await gateway.createAccount(10_000);
    other = await gateway.createAccount(10_000);
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  /**
   * Sends a message, and waits until its recipient has `status`. The number's last digits decide the outcome in the
   * simulator.
   */
  const send = async (last: string, status: string): Promise<string> => {
    const body = { to: `070000${last}`, message: 'Hello' };
    const answer = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    const id = answer.body.id as string;
    await eventually(async () => {
      const [row] = await sql.query('SELECT status FROM recipients WHERE message_id = $1', [id]);
      return row.status === status;
    });
    return id;
  };
  const enter = (kind: string, amount: number, messageId: string, position: number | null, owner = account) =>
    sql.query(
      `INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, message_id, position, kind)
       SELECT $1, coalesce(max(seq), 0) + 1, $2::bigint, 5000, now(), $3, $4, $5 FROM ledger_entries WHERE account_id = $1`,
      [owner.accountId, amount, messageId, position, kind],
    );

  it('[R17] a second charge of a message, later or in the same statement', async () => {
    const id = await send('0004', 'sent');
    await expect(enter('charge', -30, id, null)).rejects.toThrow(`message ${id} is charged once`);
    await expect(enter('charge', -30, randomUUID(), null)).rejects.toThrow('is charged once');
    const twice = sql.query(
      `WITH message AS (
         INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
           environment, currency, sender, content)
         VALUES ($2, $1, 1, 30, 30, now(), now(), 'sms', 'production', 'UGX', 'SERVICE', 'Hello'))
       INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, message_id, kind)
       SELECT $1, seq, -30, 5000, now(), $2, 'charge' FROM generate_series(10, 11) AS seq`,
      [other.accountId, randomUUID()],
    );
    await expect(twice).rejects.toThrow('is charged once');
  });

  it('[R17] a second charge of a message by another statement of the transaction that accepts it', async () => {
    const id = randomUUID();
    await sql.query('BEGIN');
    try {
      await sql.query(
        `INSERT INTO messages (id, account_id, seq, cost_minor, unit_price_minor, created_at, expires_at, channel,
           environment, currency, sender, content)
         VALUES ($2, $1, 1, 30, 30, now(), now(), 'sms', 'production', 'UGX', 'SERVICE', 'Hello')`,
        [other.accountId, id],
      );
      const charge = () => enter('charge', -30, id, null, other);
      await sql.query('SAVEPOINT before');
      await charge();
      // The charge was rolled back. So the next charge is the first of its transaction.
      await sql.query('ROLLBACK TO SAVEPOINT before');
      await charge();
      await expect(charge()).rejects.toThrow('a transaction charges its messages in one statement');
    } finally {
      await sql.query('ROLLBACK');
    }
  });

  it("a refund above the recipient's cost, to another account, or for a recipient that did not fail", async () => {
    const failed = await send('0001', 'failed');
    const delivered = await send('0123', 'delivered');
    await expect(enter('refund', 31, failed, 0)).rejects.toThrow('at most its cost');
    await expect(enter('refund', 30, failed, 0, other)).rejects.toThrow('to its account');
    await expect(enter('refund', 30, failed, 1)).rejects.toThrow('recipient 1');
    await expect(enter('refund', 30, delivered, 0)).rejects.toThrow('when it failed');
    // The amount and the account are right, but the recipient was already refunded.
    await expect(enter('refund', 30, failed, 0)).rejects.toThrow('ledger_one_refund');
    const defer = (amount: number) =>
      sql.query(`INSERT INTO deferred_refunds VALUES ($1, 0, $2, $3, now() + interval '1 day')`, [
        failed,
        account.accountId,
        amount,
      ]);
    await expect(defer(31)).rejects.toThrow('at most its cost');
    await sql.query('BEGIN');
    await defer(30);
    await expect(
      sql.query('UPDATE deferred_refunds SET amount_minor = 31 WHERE message_id = $1', [failed]),
    ).rejects.toThrow('at most its cost');
    await sql.query('ROLLBACK');
  });

  it.each([
    ['delivered', '0123', ['pending', 'sent', 'failed']],
    ['failed', '0001', ['pending', 'sent', 'delivered']],
    ['sent', '0004', ['pending']],
  ])('a status that goes back from %s', async (status, last, steps) => {
    const id = await send(last, status);
    for (const to of steps) {
      const step = sql.query(
        `UPDATE recipients SET status = $2, sent_at = now(), error_code = 'x' WHERE message_id = $1`,
        [id, to],
      );
      await expect(step).rejects.toThrow(`from ${status} to ${to}: a status goes only forward`);
    }
  });

  it('a second event of a push message, and a second event of a recipient', async () => {
    const messageId = randomUUID();
    const add = (type: string, position: number | null) =>
      sql.query(
        `INSERT INTO events (account_id, seq, message_id, recorded_at, position, type, body)
         SELECT $1, coalesce(max(seq), 0) + 1, $2, now(), $3, $4, '{}' FROM events WHERE account_id = $1`,
        [other.accountId, messageId, position, type],
      );
    await add('push.sent', null);
    await expect(add('push.sent', null)).rejects.toThrow('events_once_a_message');
    await expect(add('push.failed', null)).rejects.toThrow('events_once_a_message');
    await add('sms.sent', 0);
    await expect(add('sms.sent', 0)).rejects.toThrow('events_fire_once');
  });

  it('a second first delivery of an event to an endpoint', async () => {
    const body = { url: 'https://1.1.1.1/hook', events: ['sms.sent'] };
    const hook = await gateway.call('POST', '/developers/webhooks', { key: account.key, body });
    const id = await send('0004', 'sent');
    const deliveries = () =>
      sql.query(
        `SELECT d.* FROM webhook_deliveries d JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
         WHERE e.message_id = $1 AND d.webhook_id = $2`,
        [id, hook.body.webhook.id],
      );
    await eventually(async () => (await deliveries()).length === 1);
    const [made] = await deliveries();
    const again = sql.query(
      `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, event, status)
       SELECT gen_random_uuid(), account_id, webhook_id, event_seq, now(), event, 'pending' FROM webhook_deliveries
       WHERE id = $1`,
      [made.id],
    );
    await expect(again).rejects.toThrow('webhook_deliveries_once');
  });

  it.each([
    `UPDATE audit_entries SET actor = 'user:nobody'`,
    'DELETE FROM audit_entries WHERE seq = (SELECT max(seq) FROM audit_entries)',
    'TRUNCATE audit_entries',
    'UPDATE audit_head SET seq = seq - 1',
    'UPDATE audit_head SET seq = seq + 2',
    "UPDATE audit_head SET hash = decode(repeat('ff', 32), 'hex')",
    'UPDATE audit_head SET sealed = NULL',
    'UPDATE audit_head SET log_id = gen_random_uuid()',
    'DELETE FROM audit_head',
    'TRUNCATE audit_head',
  ])('to change the audit log: %s', async (text) => {
    await expect(sql.query(text)).rejects.toThrow('is append-only');
  });

  describe('and the periodic check, for what no constraint can refuse,', () => {
    const check = () =>
      withUnitOfWork(gateway, async (uow) => {
        const errors: object[] = [];
        await checkLedgers(uow, { error: (fields) => errors.push(fields) });
        return errors;
      });
    const metric = async () => {
      const text = await gateway.parts.registry.getSingleMetricAsString('gateway_ledger_mismatch_accounts');
      return Number(text.trim().split(' ').at(-1));
    };

    it('reports nothing when all adds up', async () => {
      expect(await check()).toEqual([]);
      expect(await metric()).toBe(0);
    });

    it('reports a changed balance once, until it is corrected', async () => {
      const { accountId } = other;
      await sql.query('UPDATE accounts SET balance_minor = balance_minor + 1 WHERE id = $1', [accountId]);
      expect(await check()).toEqual([{ accountId }]);
      expect(await metric()).toBe(1);
      expect(await gateway.parts.checkLedgers()).toBe(1);
      expect(await check()).toEqual([]);
      await sql.query('UPDATE accounts SET balance_minor = balance_minor - 1 WHERE id = $1', [accountId]);
      expect(await check()).toEqual([]);
      expect(await metric()).toBe(0);
    });

    it('reports an entry after the last, and one that does not add up with the one before', async () => {
      const { accountId } = await gateway.createAccount(500);
      const enterTopup = (seq: number, amount: number, after: number) =>
        sql.query(
          `INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, kind, actor)
           VALUES ($1, $2, $3, $4, now(), 'topup', 'system:test')`,
          [accountId, seq, amount, after],
        );
      await enterTopup(2, 10, 520);
      // Change the balance too, so that it agrees with the wrong entries.
      await sql.query('UPDATE accounts SET ledger_seq = 2, balance_minor = 520 WHERE id = $1', [accountId]);
      expect(await check()).toEqual([{ accountId, ledgerSeq: 2 }]);
      await enterTopup(4, 10, 530);
      expect(await check()).toEqual([{ accountId }, { accountId, ledgerSeq: 4 }]);
      expect(await metric()).toBe(1);
    });
  });
});
