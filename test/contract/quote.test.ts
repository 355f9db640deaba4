import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('quoting an SMS (R21)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount(100);
  });
  afterAll(() => gateway.stop());

  const quote = (body: unknown, key = account.key) =>
    gateway.call('POST', '/developers/sms/quote', { key, body });

  it('answers with every documented member, and charges and stores nothing', async () => {
    const { status, body } = await quote({ to: '0700123456,12,0700123456,x,0700123457', message: 'a☕b😀' });
    expect(status).toBe(200);
    expect(body).toEqual({
      recipientsProcessed: 2,
      invalidNumbers: ['12', 'x'],
      duplicatesRemoved: 1,
      encoding: 'UCS-2',
      segments: 1,
      smsCount: 1,
      unicodeCharacters: [
        { char: '☕', index: 1 },
        { char: '😀', index: 3 },
      ],
      cost: 60,
      currency: 'UGX',
      balance: 100,
      sufficientBalance: true,
      sandbox: false,
    });
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(100);
    expect(
      (await gateway.call('GET', '/developers/sms/history', { key: account.key })).body.pagination.total,
    ).toBe(0);
  });

  it('says that the balance is too low, without a 402', async () => {
    const { status, body } = await quote({ to: '0700123456', message: 'a'.repeat(481) });
    expect({
      status,
      cost: body.cost,
      sufficient: body.sufficientBalance,
      unicode: body.unicodeCharacters,
    }).toEqual({
      status: 200,
      cost: 120,
      sufficient: false,
      unicode: [],
    });
  });

  it('costs nothing with a sandbox key, like the send (R130)', async () => {
    const { body } = await quote({ to: '0700123456', message: 'a'.repeat(1000) }, account.sandboxKey);
    expect(body).toMatchObject({ sandbox: true, cost: 0, sufficientBalance: true, smsCount: 7 });
  });

  it.each([
    [{ to: 'x', message: 'Hello' }, 'invalid_phone_number'],
    [{ to: '0700123456', message: 'a'.repeat(1001) }, 'message_too_long'],
    [{ to: '0700123456', message: '' }, 'validation_error'],
    [{ to: '0700123456', message: 'Hello', from: 'A B' }, 'invalid_sender_id'],
    [{ to: '0700123456', message: 'Hello', scheduledFor: 'tomorrow' }, 'invalid_scheduled_time'],
    [{ to: '0700123456', message: 'Hello', idempotencyKey: 'k'.repeat(65) }, 'validation_error'],
    [{ message: 'Hello' }, 'validation_error'],
  ])('refuses what the send refuses, with the same error: %j', async (body, code) => {
    const quoted = await quote(body);
    const sent = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    expect(quoted.body.error.code).toBe(code);
    expect(quoted.body).toEqual(sent.body);
  });

  it('needs SEND_SMS (R22)', async () => {
    const { key } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    expect((await quote({}, key)).body.message).toBe(
      'Insufficient scopes. Required one of: SEND_SMS, FULL_ACCESS',
    );
  });
});
