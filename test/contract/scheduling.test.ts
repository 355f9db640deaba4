import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { checkLedger, openSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('scheduledFor and cancellation (R18, R93)', () => {
  let smsc: Smsc;
  let gateway: TestGateway;
  let account: TestAccount;
  const opened: { stop(): Promise<void> }[] = [];
  beforeAll(async () => {
    smsc = await startSmsc();
    opened.push(smsc);
    gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}` });
    opened.push(gateway);
    account = await gateway.createAccount(1_000_000);
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });

  const send = (rest: object, key = account.key, at = gateway) =>
    at.call('POST', '/developers/sms', { key, body: { to: '0700123456', message: 'Hello', ...rest } });
  const cancel = (id: string, key = account.key, at = gateway) =>
    at.call('DELETE', `/developers/messages/${id}`, { key });
  const get = async (id: string, at = gateway, key = account.key) =>
    (await at.call('GET', `/developers/messages/${id}`, { key })).body;
  const balance = async (key = account.key) => (await gateway.call('GET', '/account', { key })).body.balance;

  /** Returns the time of the submission in ms. */
  const leftAt = async (id: string, at: TestGateway, key: string): Promise<number> => {
    const found = await eventually(async () => {
      const details = await get(id, at, key);
      return details.status === 'sent' && details;
    });
    return Date.parse(found.timeline.at(-1).at);
  };
  /**
   * Expects that no message is submitted before its due time. Then a late message shows the delay of the machine: most
   * others must be submitted before a message that was sent one second after the last due time.
   */
  async function expectOnTime(
    scheduled: readonly { id: string; dueAt: number }[],
    at = gateway,
    key = account.key,
  ): Promise<void> {
    const lastDueAt = Math.max(...scheduled.map(({ dueAt }) => dueAt));
    await eventually(() => Date.now() >= lastDueAt + 1_000);
    const { body: next } = await send({}, key, at);
    const nextLeftAt = await leftAt(next.id, at, key);
    const times = await Promise.all(
      scheduled.map(async ({ id, dueAt }) => ({ dueAt, leftAt: await leftAt(id, at, key) })),
    );
    expect(times.filter((each) => each.leftAt < each.dueAt)).toEqual([]);
    expect(times.filter((each) => each.leftAt < nextLeftAt).length).toBeGreaterThan(times.length / 2);
  }

  describe('when', () => {
    it.each([
      ['tomorrow', () => 'tomorrow'],
      ['no zone', () => '2099-12-01T10:00:00'],
      ['30 February', () => '2099-02-30T00:00:00Z'],
      ['a day without a time', () => '2099-12-01'],
      ['nothing', () => ''],
      ['more than 30 days ahead', () => inMs(30 * DAY_MS + 60_000)],
      ['more than a minute ago', () => inMs(-61_000)],
    ])('%s is refused', async (_, time) => {
      const { status, body } = await send({ scheduledFor: time() });
      expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'invalid_scheduled_time' });
    });

    it.each([
      ['almost 30 days ahead', () => inMs(30 * DAY_MS - 60_000)],
      ['with an offset', () => new Date(Date.now() + DAY_MS).toISOString().replace(/\.\d+Z$/, '+00:00')],
    ])('%s: the message waits, echoes it and is charged at once', async (_, time) => {
      const before = await balance();
      const scheduledFor = time();
      const { status, body } = await send({ scheduledFor });
      expect({ status, state: body.status, cost: body.cost }).toEqual({
        status: 200,
        state: 'pending',
        cost: 30,
      });
      expect(body.scheduledFor).toBe(new Date(scheduledFor).toISOString());
      expect(await balance()).toBe(before - 30);
    });

    it('a minute in the past counts as now', async () => {
      const { body } = await send({ scheduledFor: inMs(-50_000) });
      expect(body).not.toHaveProperty('scheduledFor');
      await eventually(async () => (await get(body.id)).status === 'sent');
    });

    it('a sandbox message is stored as sent at once (R26)', async () => {
      const { body } = await send({ scheduledFor: inMs(HOUR_MS) }, account.sandboxKey);
      expect(body).toMatchObject({ status: 'sent', cost: 0, sandbox: true });
      expect((await cancel(body.id, account.sandboxKey)).body.error.code).toBe('message_not_cancelable');
    });
  });

  it('the message is sent at its time: never early, and no later than one sent a second after', async () => {
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        send({ scheduledFor: inMs(700 + index * 53), message: `On time ${index}` }),
      ),
    );
    await expectOnTime(sent.map(({ body }) => ({ id: body.id, dueAt: Date.parse(body.scheduledFor) })));
  });

  it('the message is sent at its time also after a restart', async () => {
    const database = await createTestDatabase();
    opened.push({ stop: () => database.drop() });
    const routes = { SMS_ROUTES: `*=${smsc.url}` };
    const first = await startTestGateway(routes, database);
    opened.push(first);
    const { key } = await first.createAccount();
    const sent = await Promise.all(
      Array.from({ length: 5 }, () => send({ scheduledFor: inMs(HOUR_MS) }, key, first)),
    );
    await first.stop();
    const second = await startTestGateway(routes, database);
    opened.push(second);
    // Set the due times in the database now, so that they are in the future however long the restart took.
    const scheduled = sent.map(({ body }, index) => ({
      id: body.id,
      dueAt: Date.now() + 1_500 + index * 77,
    }));
    await using sql = await openSql(database);
    for (const { id, dueAt } of scheduled) {
      const values = [id, new Date(dueAt)];
      await sql.query('UPDATE messages SET scheduled_for = $2 WHERE id = $1', values);
      await sql.query(
        `UPDATE pgboss.job SET start_after = $2 WHERE data->'messageIds' ? $1::text AND state = 'created'`,
        values,
      );
    }
    await expectOnTime(scheduled, second, key);
  });

  describe('DELETE /developers/messages/:id', () => {
    it('fails a waiting message, refunds it and sends no event (R16)', async () => {
      const receiver = await startWebhookReceiver();
      opened.push(receiver);
      const owner = await gateway.createAccount(1_000);
      await gateway.call('POST', '/developers/webhooks', {
        key: owner.key,
        body: { url: receiver.url, events: ['sms.sent', 'sms.failed'] },
      });
      const { body: sent } = await send(
        { to: '0700123456,0700123457', scheduledFor: inMs(HOUR_MS) },
        owner.key,
      );
      expect(await balance(owner.key)).toBe(940);
      const { status, body } = await cancel(sent.id, owner.key);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        id: sent.id,
        status: 'failed',
        cost: 60,
        scheduledFor: sent.scheduledFor,
        sid: null,
      });
      for (const recipient of body.recipients) {
        expect(recipient).toMatchObject({ status: 'failed', error: { code: 'canceled' } });
      }
      expect(body.timeline.at(-1)).toMatchObject({ status: 'failed' });
      expect(await balance(owner.key)).toBe(1_000);
      // Messages arrive in order. The next one has arrived, so the canceled one will not.
      const { body: next } = await send({}, owner.key);
      await receiver.waitFor((hook) => hook.body.messageId === next.id);
      expect(receiver.received.map((hook) => hook.body.messageId)).toEqual([next.id]);
    });

    it('is too late when the message was sent, has failed or was canceled (R3)', async () => {
      const { body: gone } = await send({});
      await eventually(async () => (await get(gone.id)).status === 'sent');
      const { body: canceled } = await send({ scheduledFor: inMs(HOUR_MS) });
      await cancel(canceled.id);
      const before = await balance();
      for (const id of [gone.id, canceled.id]) {
        const { status, body } = await cancel(id);
        expect({ status, code: body.error?.code }).toEqual({ status: 409, code: 'message_not_cancelable' });
      }
      expect(await balance()).toBe(before);
    });

    it('needs a key that may send on the channel, of the same account (R22, R174, R175)', async () => {
      const { body: sent } = await send({ scheduledFor: inMs(HOUR_MS) });
      const keyFor = async (scope: string) =>
        (await gateway.createKey(account.accountId, { scopes: [scope] })).key;
      const byReader = await cancel(sent.id, await keyFor('READ_MESSAGES'));
      expect(byReader.status).toBe(403);
      expect(byReader.body.message).toMatch(
        /^Insufficient scopes\. Required one of: .*SEND_SMS.*FULL_ACCESS$/,
      );
      const byMailer = await cancel(sent.id, await keyFor('SEND_EMAIL'));
      expect(byMailer.body).toEqual({
        statusCode: 403,
        error: 'forbidden',
        message: 'Insufficient scopes. Required one of: SEND_SMS, FULL_ACCESS',
      });
      const stranger = await gateway.createAccount();
      expect((await cancel(sent.id, stranger.key)).status).toBe(404);
      expect((await cancel(randomUUID())).status).toBe(404);
      expect((await cancel('nonsense')).status).toBe(404);
      // A sandbox key must not move money or stop a message.
      const fromSandbox = await cancel(sent.id, account.sandboxKey);
      expect([fromSandbox.status, fromSandbox.body.error.code]).toEqual([404, 'not_found']);
      expect((await cancel(sent.id, await keyFor('SEND_SMS'))).status).toBe(200);
    });

    it('cancels while no carrier has accepted the message, but not when one may have', async () => {
      const sick = await startSmsc({ answer: 8 });
      opened.push(sick);
      const other = await startTestGateway({ SMS_ROUTES: `*=${sick.url}` });
      opened.push(other);
      const owner = await other.createAccount(1_000);
      const tried = (id: string, times: number) =>
        eventually(async () => {
          const { timeline } = await get(id, other, owner.key);
          return (
            timeline.filter((entry: { detail?: string }) => entry.detail?.startsWith('Unavailable: '))
              .length >= times
          );
        });
      const { body: refused } = await send({}, owner.key, other);
      await tried(refused.id, 1);
      expect((await cancel(refused.id, owner.key, other)).body).toMatchObject({ status: 'failed' });

      sick.behave({ answer: 'drop' });
      const { body: unsure } = await send({}, owner.key, other);
      await tried(unsure.id, 1);
      // The last attempt was definitely not sent. The first one may have been, so the message still cannot be canceled.
      sick.behave({ answer: 8 });
      await tried(unsure.id, 2);
      expect((await cancel(unsure.id, owner.key, other)).body.error.code).toBe('message_not_cancelable');
      const { body } = await other.call('GET', '/account', { key: owner.key });
      expect(body.balance).toBe(970);
    });
  });

  it('never both sends and refunds a message, however close to the hand-over', async () => {
    const second = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}` }, gateway.database);
    opened.push(second);
    const gateways = [gateway, second];
    const owner = await gateway.createAccount(1_000_000);
    /**
     * When to cancel, in ms from the due time. Most values are near the due time, where the cancellation races with the
     * submission.
     */
    const CANCEL_MS = [-1_000, -20, -10, 0, 10, 20, 30, 40, 50, 1_000];
    const race = async (number: number) => {
      const due = Date.now() + 1_500;
      const message = `Race ${number}`;
      const scheduledFor = new Date(due).toISOString();
      const { body } = await send(
        { message, scheduledFor, to: '0700123456,0700123457' },
        owner.key,
        gateways[number % 2],
      );
      const cancelAt = due + (CANCEL_MS[number % CANCEL_MS.length] ?? 0);
      await eventually(() => Date.now() >= cancelAt);
      const canceled = await cancel(body.id, owner.key, gateways[(number + 1) % 2]);
      return { id: body.id, message, status: canceled.status };
    };
    const startAt = Date.now();
    // Start 80 loops, 20 ms apart. If all requests were sent at once, they would take longer than the time until they
    // are due.
    const outcomes: Awaited<ReturnType<typeof race>>[] = [];
    await Promise.all(
      Array.from({ length: 80 }, async (_, lane) => {
        await eventually(() => Date.now() >= startAt + lane * 20);
        for (const round of [0, 1, 2]) outcomes.push(await race(round * 80 + lane + round));
      }),
    );
    const byStatus = Map.groupBy(outcomes, ({ status }) => status);
    expect([...byStatus.keys()].sort()).toEqual([200, 409]);
    // Check one message after another, because hundreds of polls at once would slow the gateway down.
    for (const { id, status } of outcomes) {
      await eventually(
        async () => (await get(id, gateway, owner.key)).status === (status === 200 ? 'failed' : 'sent'),
      );
    }
    const left = smsc
      .messages()
      .map(({ text }) => text)
      .filter((text) => text.startsWith('Race'));
    const expected = (byStatus.get(409) ?? []).flatMap(({ message }) => [message, message]);
    expect(left.sort()).toEqual(expected.sort());
    expect(await balance(owner.key)).toBe(1_000_000 - expected.length * 30);
    await using sql = await openSql(gateway.database);
    await checkLedger(sql, owner.accountId);
  });
});
