import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { forgetOldEvents } from '../../src/workers/retention/event-retention.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import type { TestAccount } from '../support/gateway.ts';
import { startWebhookBench } from '../support/webhooks.ts';

const DAY_MS = 24 * 3_600_000;

let bench: Awaited<ReturnType<typeof startWebhookBench>>;
beforeAll(async () => {
  bench = await startWebhookBench();
});
afterAll(() => bench?.stop());

const feed = (owner: TestAccount, query = '') =>
  bench.gateway.call('GET', `/developers/events${query}`, { key: owner.key });

describe('the event feed (R33)', () => {
  it('has the envelopes byte for byte as delivered, in order', async () => {
    const owner = await bench.gateway.createAccount();
    const receiver = await bench.receiving();
    const { id } = await bench.register(owner, { url: receiver.url, events: ['sms.sent', 'sms.failed'] });
    const body = { to: '+256700123456', message: 'é "quoted" \\ \u2028 </script> 😀', from: 'ACME' };
    await bench.gateway.call('POST', '/developers/sms', { key: owner.key, body });
    await bench.sendSms(owner, '+256700120001');
    await bench.call(owner, 'POST', `/${id}/test`);
    await eventually(() => receiver.received.length === 3);
    const answer = await feed(owner);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ cursor: '3', hasMore: false });
    expect(answer.body.data).toHaveLength(3);
    for (const hook of receiver.received) {
      expect(answer.body.data).toContainEqual(hook.body);
      expect(answer.text).toContain(hook.raw.toString('utf8'));
    }
    const raw = answer.body.data.map((event: { messageId?: string; event: string }) => {
      const found = receiver.received.find(
        (hook) => hook.body.messageId === event.messageId && hook.body.event === event.event,
      );
      return found?.raw.toString('utf8');
    });
    expect(answer.text).toBe(`{"data":[${raw.join(',')}],"cursor":"3","hasMore":false}`);
  });

  it('continues from a cursor without gaps or repeats, also without a webhook', async () => {
    const owner = await bench.gateway.createAccount();
    const to = Array.from({ length: 25 }, (_, index) => `+2567001234${String(index).padStart(2, '0')}`);
    await bench.gateway.call('POST', '/developers/sms', {
      key: owner.key,
      body: { to: to.join(','), message: 'Hi' },
    });
    await eventually(async () => (await feed(owner, '?limit=100')).body.data.length === 25);
    const seen: string[] = [];
    let after = '';
    for (let hasMore = true; hasMore; ) {
      const { body } = await feed(owner, `?limit=10${after === '' ? '' : `&after=${after}`}`);
      seen.push(...body.data.map((event: { data: { to: string } }) => event.data.to));
      after = body.cursor;
      hasMore = body.hasMore;
    }
    expect(seen.sort()).toEqual(to);
    expect(after).toBe('25');
    expect((await feed(owner, `?after=${after}`)).body).toEqual({ data: [], cursor: '25', hasMore: false });
    expect((await feed(owner)).body.data).toHaveLength(20);
  });

  it("has only the account's events, and is empty at first", async () => {
    const owner = await bench.gateway.createAccount();
    expect((await feed(owner)).text).toBe('{"data":[],"cursor":"0","hasMore":false}');
  });

  it('has no events of a sandbox key (R129, R130)', async () => {
    const owner = await bench.gateway.createAccount();
    await bench.gateway.call('POST', '/developers/sms', {
      key: owner.sandboxKey,
      body: { to: '+256700123456', message: 'Hi' },
    });
    await bench.sendSms(owner);
    await eventually(async () => (await feed(owner)).body.data.length > 0);
    expect((await feed(owner)).body.data).toHaveLength(1);
  });

  it('gives the cursor of its end, after which come the events that happen next', async () => {
    const owner = await bench.gateway.createAccount();
    expect((await feed(owner, '?after=latest')).body).toEqual({ data: [], cursor: '0', hasMore: false });
    await bench.sendSms(owner);
    await eventually(async () => (await feed(owner)).body.data.length === 1);
    const { cursor } = (await feed(owner, '?after=latest')).body;
    expect(cursor).toBe('1');
    const id = await bench.sendSms(owner);
    const next = await eventually(async () => (await feed(owner, `?after=${cursor}`)).body.data[0]);
    expect(next.messageId).toBe(id);
  });

  it.each(['?after=x', '?after=-1', '?after=1.5', '?limit=0', '?limit=101', '?after='])(
    'refuses %s',
    async (query) => {
      const owner = await bench.gateway.createAccount();
      const answer = await feed(owner, query);
      expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_error']);
    },
  );

  it('reaches 30 days back; older events are deleted with their deliveries and attempts', async () => {
    const owner = await bench.gateway.createAccount();
    const receiver = await bench.receiving();
    const { id } = await bench.register(owner, { url: receiver.url });
    for (let index = 0; index < 3; index += 1) await bench.sendSms(owner);
    await eventually(
      async () => (await bench.deliveries(owner, id, '?status=success')).pagination.total === 3,
    );
    const own = { account_id: owner.accountId };
    await withKnex(bench.gateway.database.connection, async (knex) => {
      const age = (seq: number, days: number) =>
        knex('events')
          .where({ ...own, seq })
          .update({ recorded_at: new Date(Date.now() - days * DAY_MS) });
      await age(1, 30.1);
      await age(2, 29.9);
      const forgotten = await forgetOldEvents(bench.gateway.parts.stores.events, { now: () => new Date() });
      expect(forgotten).toBe(1);
      expect(await knex('webhook_attempts').where(own)).toHaveLength(2);
    });
    const answer = await feed(owner);
    expect(answer.body.data).toHaveLength(2);
    expect(answer.body.cursor).toBe('3');
    expect((await bench.deliveries(owner, id)).pagination.total).toBe(2);
  });
});
