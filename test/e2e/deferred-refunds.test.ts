import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transitionRecipients } from '../../src/domain/messages/transition-recipients.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type ApiReply, africasTalkingAnswer, type SmsApi, startSmsApi } from '../support/sms-api.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { sweepAt } from '../support/sweeps.ts';
import { machineIds } from '../support/system.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

const PRICE = 30;
const HOUR_MS = 3_600_000;

describe('refunds of a message that may have been sent (R218)', () => {
  let first: SmsApi;
  let second: SmsApi;
  let gateway: TestGateway;
  let account: TestAccount;
  let sql: TestSql;
  /**
   * By phone number: the first carrier's answers to the submissions, in order. After the last of them the carrier
   * refuses.
   */
  const replies = new Map<string, ApiReply[]>();
  const refused = (to: string) => africasTalkingAnswer(to, 403, 'InvalidPhoneNumber');
  beforeAll(async () => {
    first = await startSmsApi(({ form }) => {
      const to = form.get('to') ?? '';
      return replies.get(to)?.shift() ?? refused(to);
    });
    second = await startSmsApi(({ form }) => refused(form.get('to') ?? ''));
    const backup = `africastalking://other:key@${second.host}?callbackToken=proof`;
    const main = `africastalking://acme:key@${first.host}?callbackToken=proof`;
    gateway = await startTestGateway({
      SMS_ROUTES: `*=${main},25671=${main}|${backup}`,
    });
    sql = await openSql(gateway.database);
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
    await Promise.all([first?.stop(), second?.stop()]);
  });

  const show = async (id: string) =>
    (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
  const balance = async () => (await gateway.call('GET', '/account', { key: account.key })).body.balance;
  /** Sends to `to`, and waits until the message has failed. `answers` are the first carrier's answers. */
  const fail = async (to: string, answers: ApiReply[]) => {
    replies.set(to, answers);
    const body = { to, message: 'Hello' };
    const sent = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    expect(sent.status).toBe(200);
    return eventually(async () => {
      const message = await show(sent.body.id);
      return message.status === 'failed' && message;
    });
  };
  const makeDue = (id: string) =>
    sql.query('UPDATE deferred_refunds SET due_at = now() WHERE message_id = $1', [id]);
  const refundsOf = async (id: string) =>
    sql.query(
      `SELECT amount_minor::int AS amount FROM ledger_entries WHERE message_id = $1 AND kind = 'refund'`,
      [id],
    );

  it('the refund comes at once when the carrier refused the only hand-over', async () => {
    const before = await balance();
    const message = await fail('+256700600001', []);
    expect(message.recipients[0]).toMatchObject({ refunded: PRICE });
    expect(message).not.toHaveProperty('statusReason');
    expect(await balance()).toBe(before);
  });

  it.each([
    ['the same carrier refused the next one', '+256700600002'],
    ['the next carrier refused it', '+256710600003'],
  ])('the refund waits for the report window when a hand-over was cut off and %s', async (_what, to) => {
    const before = await balance();
    const message = await fail(to, ['drop']);
    expect(message.statusReason).toBe('refund_pending');
    const [recipient] = message.recipients;
    expect(recipient).toMatchObject({ status: 'failed', refunded: 0 });
    const hours = (Date.parse(recipient.refundDueAt) - Date.now()) / HOUR_MS;
    expect(hours).toBeGreaterThan(71.9);
    expect(hours).toBeLessThan(72.1);
    expect(await balance()).toBe(before - PRICE);
    await sweepAt(gateway, new Date());
    expect(await refundsOf(message.id)).toEqual([]);

    await makeDue(message.id);
    await Promise.all([sweepAt(gateway, new Date()), sweepAt(gateway, new Date())]);
    expect(await refundsOf(message.id)).toEqual([{ amount: PRICE }]);
    expect(await balance()).toBe(before);
    const settled = await show(message.id);
    expect(settled).not.toHaveProperty('statusReason');
    expect(settled.recipients[0]).toMatchObject({ status: 'failed', refunded: PRICE });
    expect(settled.recipients[0]).not.toHaveProperty('refundDueAt');
  });

  it('there is no refund when the carrier says later that it accepted the message', async () => {
    const before = await balance();
    const { id } = await fail('+256700600004', ['drop']);
    // Record what a suspended process would record when it runs again: the carrier's answer that it got before.
    await withUnitOfWork(gateway, (uow) =>
      uow.run(async (tx) => {
        const move = { messageId: id, position: 0, from: 'pending', to: 'sent', error: null } as const;
        const at = new Date();
        const provider = `africastalking:acme@${first.host}`;
        await transitionRecipients(
          tx,
          machineIds,
          [id],
          [{ ...move, at, provider, sids: ['ATXid_late'] }],
          at,
        );
      }),
    );
    const report = new URLSearchParams({ id: 'ATXid_late', status: 'Success', phoneNumber: '+256700600004' });
    const told = await fetch(`${gateway.url}/callbacks/sms/africastalking?token=proof`, {
      method: 'POST',
      body: report,
    });
    expect(told.status).toBe(200);
    const message = await show(id);
    expect(message.status).toBe('failed');
    expect(message).not.toHaveProperty('statusReason');
    expect(message.recipients[0]).toMatchObject({ status: 'failed', sid: 'ATXid_late', refunded: 0 });
    const details = message.timeline.map(({ detail = '' }: { detail?: string }) => detail).join('\n');
    expect(details).toContain('had accepted this recipient');
    expect(details).toContain('delivery report');
    await makeDue(id);
    await sweepAt(gateway, new Date());
    expect(await refundsOf(id)).toEqual([]);
    expect(await balance()).toBe(before - PRICE);
  });
});
