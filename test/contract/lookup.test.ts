import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('looking up a message (R20)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
  });
  afterAll(() => gateway.stop());

  const get = (path: string, key = account.key) => gateway.call('GET', path, { key });
  const send = async (to: string) =>
    (await gateway.call('POST', '/developers/sms', { key: account.key, body: { to, message: 'Hello' } }))
      .body;

  it('shows each recipient and its timeline, and the status that follows (R13, R20)', async () => {
    const { id } = await send('0700123456,0700000001,0700000002,0700000004');
    const found = await eventually(async () => {
      const { body } = await get(`/developers/messages/${id}`);
      return (
        body.recipients.map((recipient: { status: string }) => recipient.status).join() ===
          'delivered,failed,failed,sent' && body
      );
    });
    expect(found).toMatchObject({ id, status: 'sent', cost: 120, channel: 'sms' });
    expect(found.sid).toBe(found.recipients[0].sid);
    expect(found.recipients[1]).toEqual({
      to: '+256700000001',
      status: 'failed',
      sid: null,
      cost: 30,
      refunded: 30,
      error: { code: 'SIM_REJECTED', message: expect.any(String) },
    });
    expect(found.recipients[2].error.code).toBe('SIM_UNDELIVERABLE');
    // Only recipients that no carrier accepted are refunded (R17).
    expect(found.recipients.map(({ refunded }: { refunded: number }) => refunded)).toEqual([0, 30, 0, 0]);
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(100_000 - 90);
    const stepsOf = (to: string) =>
      found.timeline
        .filter((entry: { recipient?: string }) => entry.recipient === to)
        .map((entry: { status: string }) => entry.status);
    expect(found.timeline[0]).toEqual({ at: found.createdAt, status: 'pending' });
    expect(stepsOf('+256700123456')).toEqual(['sent', 'delivered']);
    expect(stepsOf('+256700000002')).toEqual(['sent', 'failed']);
    expect(stepsOf('+256700000001')).toEqual(['failed']);
  });

  it('shows failed tries', async () => {
    const { id } = await send('0700000003');
    const found = await eventually(async () => {
      const { body } = await get(`/developers/sms/${id}`);
      return body.status === 'delivered' && body;
    });
    const notes = found.timeline.filter((entry: { detail?: string }) =>
      entry.detail?.startsWith('Unavailable: '),
    );
    expect(notes).toHaveLength(2);
  });

  it("another account's message, another channel, and an unknown or missing id are not found (R175)", async () => {
    const stranger = await gateway.createAccount();
    const { id } = await send('0700123456');
    for (const [path, key] of [
      [`/developers/messages/${id}`, stranger.key],
      [`/developers/sms/${id}`, stranger.key],
      [`/developers/messages/${randomUUID()}`, account.key],
      ['/developers/messages/nonsense', account.key],
      ['/developers/sms/12', account.key],
    ] as const) {
      const { status, body } = await get(path, key);
      expect({ status, body }).toEqual({
        status: 404,
        body: { error: { code: 'not_found', message: 'Message not found' } },
      });
    }
  });

  it('needs READ_MESSAGES or FULL_ACCESS (R124)', async () => {
    const { id } = await send('0700123456');
    const reader = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    expect((await get(`/developers/sms/${id}`, reader.key)).status).toBe(200);
    const sender = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    expect((await get(`/developers/sms/${id}`, sender.key)).body.message).toBe(
      'Insufficient scopes. Required one of: READ_MESSAGES, FULL_ACCESS',
    );
  });
});
