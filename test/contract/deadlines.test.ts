import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { up as startHeldSweeps } from '../../migrations/0201_held_sweeps.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { sweepAt } from '../support/sweeps.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

describe('every message ends (R14)', () => {
  /** A gateway without workers: it accepts messages and never submits them. */
  let idle: TestGateway;
  let sql: TestSql;
  const opened: { stop(): Promise<void> }[] = [];
  beforeAll(async () => {
    idle = await startTestGateway({ ROLES: 'api' });
    opened.push(idle);
    sql = await openSql(idle.database);
    opened.push({ stop: () => sql.close() });
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });

  // The expiry of messages stores how far it has come (`sweep_marks`). Each test must start without that mark.
  beforeEach(() => sql.query('DELETE FROM sweep_marks'));

  const send = async (at: TestGateway, key: string, to: string, rest: object = {}) =>
    (await at.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...rest } })).body;
  const get = async (at: TestGateway, key: string, id: string) =>
    (await at.call('GET', `/developers/messages/${id}`, { key })).body;
  const balance = async (at: TestGateway, key: string) =>
    (await at.call('GET', '/account', { key })).body.balance;
  const sinceDue = (message: { createdAt: string; scheduledFor?: string }, ms: number) =>
    new Date(Date.parse(message.scheduledFor ?? message.createdAt) + ms);

  it.each([
    ['a message', {}],
    [
      'a scheduled message, counted from its time',
      { scheduledFor: new Date(Date.now() + 72 * HOUR_MS).toISOString() },
    ],
  ])(
    '%s without an answer of a carrier for 24 hours fails as expired, and is refunded once',
    async (_, rest) => {
      const { key, accountId } = await idle.createAccount(100);
      const message = await send(idle, key, '0700123456,0700123457', rest);
      const sandbox = await send(
        idle,
        (await idle.createKey(accountId, { environment: 'sandbox' })).key,
        '0700123456',
      );
      await sweepAt(idle, sinceDue(message, 24 * HOUR_MS));
      expect(await get(idle, key, message.id)).toMatchObject({ status: 'pending' });

      for (let round = 0; round < 3; round++)
        await sweepAt(idle, sinceDue(message, 24 * HOUR_MS + (16 + round) * MINUTE_MS));
      const found = await get(idle, key, message.id);
      expect(found.status).toBe('failed');
      for (const { error } of found.recipients) expect(error.code).toBe('expired');
      expect(await balance(idle, key)).toBe(100);
      expect((await get(idle, key, sandbox.id)).status).toBe('sent');
      await checkLedger(sql, accountId);
    },
  );

  it('two concurrent sweeps refund once', async () => {
    const { key, accountId } = await idle.createAccount(10_000);
    const messages = await Promise.all(
      Array.from({ length: 30 }, () => send(idle, key, '0700123456,0700123457')),
    );
    const now = sinceDue(messages.at(-1), 30 * 24 * HOUR_MS);
    await Promise.all([sweepAt(idle, now), sweepAt(idle, now), sweepAt(idle, now)]);
    await sweepAt(idle, now);
    expect(await balance(idle, key)).toBe(10_000);
    await checkLedger(sql, accountId);
  });

  it('a message is not handed over after its deadline, and the webhook gets sms.failed (R136)', async () => {
    // The carrier answers with an error (status 8), and delays that answer until the deadline has passed.
    const sick: Smsc = await startSmsc({ answer: 8, answersReversedBy: 2 });
    opened.push(sick);
    const receiver = await startWebhookReceiver();
    opened.push(receiver);
    const gateway = await startTestGateway({ SMS_ROUTES: `*=${sick.url}` });
    opened.push(gateway);
    const own = await openSql(gateway.database);
    opened.push({ stop: () => own.close() });
    const { key, accountId } = await gateway.createAccount(100);
    await gateway.call('POST', '/developers/webhooks', {
      key,
      body: { url: receiver.url, events: ['sms.failed'] },
    });
    const message = await send(gateway, key, '0700123456');
    await eventually(() => sick.received.length > 0);
    await own.query(`UPDATE messages SET expires_at = now() WHERE id = $1`, [message.id]);
    sick.behave({ answer: 'accept', answersReversedBy: 1 });
    const hook = await receiver.waitFor((received) => received.body.messageId === message.id);
    expect(hook.body.data).toMatchObject({ errorCode: 'expired', stage: 'submission', permanent: false });
    expect(sick.received).toHaveLength(1);
    expect(await balance(gateway, key)).toBe(100);
    await checkLedger(own, accountId);
  });

  it('a message that expired while no worker ran is not sent when one starts', async () => {
    const smsc = await startSmsc();
    opened.push(smsc);
    const routes = { SMS_ROUTES: `*=${smsc.url}` };
    const api = await startTestGateway({ ...routes, ROLES: 'api' });
    opened.push(api);
    const own = await openSql(api.database);
    opened.push({ stop: () => own.close() });
    const { key, accountId } = await api.createAccount(100);
    const old = await send(api, key, '0700123456');
    await own.query('UPDATE messages SET expires_at = now() WHERE id = $1', [old.id]);
    const fresh = await send(api, key, '0700123457');
    opened.push(await startTestGateway({ ...routes, ROLES: 'worker' }, api.database));
    const found = await eventually(async () => {
      const details = await get(api, key, old.id);
      return details.status === 'failed' && details;
    });
    expect(found.recipients[0].error.code).toBe('expired');
    await eventually(async () => (await get(api, key, fresh.id)).status === 'sent');
    expect(smsc.messages()).toHaveLength(1);
    expect(await balance(api, key)).toBe(70);
    await checkLedger(own, accountId);
  });

  it('a message without a delivery report for 72 hours stays sent, says so, and a late report still counts', async () => {
    const smsc = await startSmsc();
    opened.push(smsc);
    const gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}` });
    opened.push(gateway);
    const own = await openSql(gateway.database);
    opened.push({ stop: () => own.close() });
    const { key } = await gateway.createAccount();
    const silent = await send(gateway, key, '0700123456');
    const young = await send(gateway, key, '0700123457');
    for (const { id } of [silent, young])
      await eventually(async () => (await get(gateway, key, id)).status === 'sent');
    // Change the second message as if a carrier had accepted it 20 hours later.
    await own.query(`UPDATE recipients SET sent_at = sent_at + interval '20 hours' WHERE message_id = $1`, [
      young.id,
    ]);

    await sweepAt(gateway, sinceDue(silent, 72 * HOUR_MS - MINUTE_MS));
    expect(await get(gateway, key, silent.id)).not.toHaveProperty('statusReason');
    await sweepAt(gateway, sinceDue(young, 72 * HOUR_MS + MINUTE_MS));
    expect(await get(gateway, key, silent.id)).toMatchObject({
      status: 'sent',
      statusReason: 'delivery_unconfirmed',
    });
    expect(await get(gateway, key, young.id)).not.toHaveProperty('statusReason');
    await sweepAt(gateway, sinceDue(young, 98 * HOUR_MS));
    expect(await get(gateway, key, young.id)).toMatchObject({
      status: 'sent',
      statusReason: 'delivery_unconfirmed',
    });

    const { sid } = await get(gateway, key, silent.id);
    await gateway.parts.reports.take(`smpp:${new URL(smsc.url).username}@${new URL(smsc.url).host}`, [
      { sid, status: 'delivered' },
    ]);
    const late = await get(gateway, key, silent.id);
    expect(late.status).toBe('delivered');
    expect(late).not.toHaveProperty('statusReason');
  });

  it('a scheduled message is unconfirmed 72 hours after it was sent, not earlier', async () => {
    const smsc = await startSmsc();
    opened.push(smsc);
    const gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}` });
    opened.push(gateway);
    const own = await openSql(gateway.database);
    opened.push({ stop: () => own.close() });
    const { key } = await gateway.createAccount();
    const message = await send(gateway, key, '0700123456', {
      scheduledFor: new Date(Date.now() + 500).toISOString(),
    });
    await eventually(async () => (await get(gateway, key, message.id)).status === 'sent');
    // Change the message as if it had been scheduled ten days ahead and submitted at that time.
    const scheduledFor = sinceDue(message, 240 * HOUR_MS);
    await own.query('UPDATE messages SET scheduled_for = $2 WHERE id = $1', [message.id, scheduledFor]);
    await own.query('UPDATE recipients SET sent_at = $2 WHERE message_id = $1', [message.id, scheduledFor]);
    await sweepAt(gateway, new Date(scheduledFor.getTime() + 71 * HOUR_MS));
    expect(await get(gateway, key, message.id)).not.toHaveProperty('statusReason');
    await sweepAt(gateway, new Date(scheduledFor.getTime() + 73 * HOUR_MS));
    expect(await get(gateway, key, message.id)).toMatchObject({
      status: 'sent',
      statusReason: 'delivery_unconfirmed',
    });
  });

  it('a sweep that fails stops neither the other sweeps nor the refunds that are due (R14, R218)', async () => {
    const { key, accountId } = await idle.createAccount(100);
    const message = await send(idle, key, '0700123456');
    await sql.query('UPDATE recipients SET attempts = 1 WHERE message_id = $1', [message.id]);
    await sweepAt(idle, sinceDue(message, 25 * HOUR_MS));
    expect(await get(idle, key, message.id)).toMatchObject({
      status: 'failed',
      statusReason: 'refund_pending',
    });
    const other = await send(idle, key, '0700123457');
    await sql.query('UPDATE deferred_refunds SET due_at = now() WHERE message_id = $1', [message.id]);
    await sql.query(`CREATE FUNCTION fail_sweep() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the sweep % fails', NEW.name; END $$`);
    await sql.query(`CREATE TRIGGER fail_sweep BEFORE UPDATE ON sweep_marks FOR EACH ROW
      WHEN (NEW.name IN ('expired', 'unconfirmed-held')) EXECUTE FUNCTION fail_sweep()`);
    try {
      await expect(sweepAt(idle, sinceDue(other, 24 * HOUR_MS * 4))).rejects.toThrow('2 of 14 sweeps failed');
      expect(await get(idle, key, message.id)).not.toHaveProperty('statusReason');
      expect(await balance(idle, key)).toBe(70);
    } finally {
      await sql.query('DROP FUNCTION fail_sweep CASCADE');
    }
    await checkLedger(sql, accountId);
  });

  it('an update starts the sweeps of held messages where they would be had they always run (R14, R385)', async () => {
    const marks = async () =>
      await sql.query(
        `SELECT name, last_at, last_id::text FROM sweep_marks WHERE name LIKE '%-held%' ORDER BY name`,
      );
    const swept = async () => {
      await sql.query('DELETE FROM sweep_marks');
      const [{ now }] = await sql.query('SELECT now()');
      await sweepAt(idle, now);
      return marks();
    };
    const before = await swept();
    await sql.query('DELETE FROM sweep_marks');
    await withKnex(idle.database.connection, startHeldSweeps);
    const started = await marks();
    const after = await swept();
    expect(started.map(({ name }) => name)).toEqual(before.map(({ name }) => name));
    for (const [index, { last_at: at, last_id: id }] of started.entries()) {
      expect(at >= before[index]?.last_at && at <= after[index]?.last_at).toBe(true);
      expect(id >= before[index]?.last_id && id <= after[index]?.last_id).toBe(true);
    }
    // A sweep that has begun goes on from its mark.
    await withKnex(idle.database.connection, startHeldSweeps);
    expect(await marks()).toEqual(after);
  });
});
