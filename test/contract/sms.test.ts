import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('sending an SMS', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount(10_000_000);
  });
  afterAll(() => gateway.stop());

  const send = (body: unknown, key = account.key) => gateway.call('POST', '/developers/sms', { key, body });
  const sms = (to: string, rest: object = {}) => send({ to, message: 'Hello', ...rest });

  it('answers with every member of the documented resource (R41–R58, R100)', async () => {
    const { status, body } = await send({
      to: '0700123456, 256700123457, +256700123456, 12',
      message: 'Hello',
      from: 'ACME',
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
      sid: null,
      channel: 'sms',
      to: ['+256700123456', '+256700123457'],
      from: 'ACME',
      content: 'Hello',
      status: 'pending',
      cost: 60,
      currency: 'UGX',
      sandbox: false,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      metadata: {
        recipientsProcessed: 2,
        invalidNumbersSkipped: 1,
        duplicatesRemoved: 1,
        smsCount: 1,
        messageLength: 5,
        costPerSms: 30,
        encoding: 'GSM-7',
        segments: 1,
      },
    });
  });

  it.each([
    ['+256700123456', '+256700123456'],
    ['256700123456', '+256700123456'],
    ['0700123456', '+256700123456'],
    ['700123456', '+256700123456'],
    ['+447911123456', '+447911123456'],
    ['+256 (700) 123-456', '+256700123456'],
  ])('normalises %s to %s (R34, R90, R96)', async (given, stored) => {
    expect((await sms(given)).body.to).toEqual([stored]);
  });

  it('refuses a list without a valid number, and names field and value (R97, R169, R170)', async () => {
    for (const to of ['', ',', 'abc', '00256700123456', '447911123456']) {
      const { status, body } = await sms(to);
      expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'invalid_phone_number' });
      expect(body.error.details).toEqual({ field: 'to', value: to });
    }
  });

  it('skips invalid numbers, removes duplicates, and counts both (R97, R98)', async () => {
    const { body } = await sms('0700123456,,abc,+256700123456,700123456,+1, 0700123457 ,');
    expect(body.to).toEqual(['+256700123456', '+256700123457']);
    expect(body.metadata).toMatchObject({
      recipientsProcessed: 2,
      invalidNumbersSkipped: 2,
      duplicatesRemoved: 2,
    });
  });

  it.each([
    [160, 1, 1],
    [161, 2, 2],
    [306, 2, 2],
    [307, 2, 3],
    [1000, 7, 7],
  ])(
    'bills %i characters as %i units in %i segments (R99, R192–R194)',
    async (length, smsCount, segments) => {
      const { body } = await sms('0700123456,0700123457', { message: 'a'.repeat(length) });
      expect(body.metadata).toMatchObject({ messageLength: length, smsCount, segments });
      expect(body.cost).toBe(30 * smsCount * 2);
    },
  );

  it.each([
    ['70 in UCS-2', 'é☕'.repeat(35), 1, 1],
    ['71 in UCS-2', `${'☕'.repeat(70)}a`, 1, 2],
    ['135 in UCS-2', '☕'.repeat(135), 1, 3],
  ])('bills by length, in any encoding: %s (R5, R192)', async (_, message, smsCount, segments) => {
    const { body } = await sms('0700123456', { message });
    expect(body.metadata).toMatchObject({ encoding: 'UCS-2', smsCount, segments });
    expect(body.content).toBe(message);
  });

  it('accepts 1000 UTF-16 units of text and refuses 1001, and an empty text (R5, R91, R184)', async () => {
    expect((await sms('0700123456', { message: '😀'.repeat(500) })).body.metadata.messageLength).toBe(1000);
    const long = await sms('0700123456', { message: `${'😀'.repeat(500)}a` });
    expect(long.status).toBe(400);
    expect(long.body.error).toMatchObject({
      code: 'message_too_long',
      details: { length: 1001, maximum: 1000 },
    });
    expect((await sms('0700123456', { message: '' })).body.error.code).toBe('validation_error');
  });

  it('has a default sender, keeps small letters and refuses an invalid sender ID (R22, R92, R185)', async () => {
    expect((await sms('0700123456')).body.from).toBe('SERVICE');
    expect((await sms('0700123456', { from: 'MyBrand1234' })).body.from).toBe('MyBrand1234');
    for (const from of ['', 'ABCDEFGHIJKL', 'MY-BRAND', 'A B', 'ÄBC']) {
      expect((await sms('0700123456', { from })).body.error).toMatchObject({ code: 'invalid_sender_id' });
    }
  });

  it('accepts 1000 recipients in one charge, and refuses 1001 (R22)', async () => {
    const numbers = (count: number) =>
      Array.from(
        { length: count },
        (_, index) =>
          `+2567${String(10_000_004 + index * 10_000)
            .padStart(8, '0')
            .slice(-8)}`,
      ).join(',');
    const { status, body } = await sms(numbers(1000));
    expect({ status, cost: body.cost, count: body.to?.length }).toEqual({
      status: 200,
      cost: 30_000,
      count: 1000,
    });
    expect((await sms(numbers(1001))).body.error).toMatchObject({ code: 'validation_error' });
  });

  it.each(['to', 'message'])('requires %s as a string (R5)', async (member) => {
    for (const value of [undefined, null, 12, true, ['0700123456'], {}]) {
      const { status, body } = await send({ to: '0700123456', message: 'Hello', [member]: value });
      expect(status).toBe(400);
      expect(body.error.code).toBe('validation_error');
      expect(body.error.details.fields[0].path).toBe(member);
    }
  });

  it('ignores unknown members: there is no callback for one message (R5, R101)', async () => {
    const { status, body } = await sms('0700123456', { callbackUrl: 'http://127.0.0.1/', webhook: {} });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('callbackUrl');
  });

  it('goes from pending to sent with a sid, and then to delivered (R13, R86, R88)', async () => {
    const { body } = await sms('0700000004');
    const sent = await eventually(async () => {
      const found = await gateway.call('GET', `/developers/sms/${body.id}`, { key: account.key });
      return found.body.status === 'sent' && found.body;
    });
    expect(sent.sid).not.toBeNull();
    expect(sent.recipients[0].sid).toBe(sent.sid);
  });

  it('stores a sandbox message as sent, without cost, and queues nothing (R26, R87, R129, R130)', async () => {
    const before = (await gateway.call('GET', '/account', { key: account.key })).body.balance;
    const { body } = await send({ to: '0700000001,0700123456', message: 'Hello' }, account.sandboxKey);
    expect(body).toMatchObject({ sandbox: true, cost: 0, status: 'sent', sid: null });
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(before);
    const found = await gateway.call('GET', `/developers/messages/${body.id}`, { key: account.sandboxKey });
    expect(found.body).toMatchObject({ status: 'sent', sandbox: true });
    expect(found.body.recipients).toHaveLength(2);
  });

  it('needs SEND_SMS or FULL_ACCESS (R120, R174)', async () => {
    const able = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    expect((await send({ to: '0700123456', message: 'Hello' }, able.key)).status).toBe(200);
    const reader = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const { status, body } = await send({}, reader.key);
    expect(status).toBe(403);
    expect(body).toEqual({
      statusCode: 403,
      error: 'forbidden',
      message: 'Insufficient scopes. Required one of: SEND_SMS, FULL_ACCESS',
    });
  });
});
