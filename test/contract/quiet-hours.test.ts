import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { latencyBucket } from '../../src/domain/analytics/latency.ts';
import { FIRST_UUID } from '../../src/domain/uuid.ts';
import { CLOUD_API, callBack, inboundCallback, startCloudApi, taken } from '../support/cloud-api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { readMetrics } from '../support/metrics.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { sweepAt } from '../support/sweeps.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const UGANDAN = '+256700000001';
const BRITISH = '+447700900123';

/** A full minute in UTC, as far from now. Tests must not depend on the time of day, so quiet hours are around now. */
const minuteIn = (ms: number) => new Date(Math.floor((Date.now() + ms) / MINUTE_MS) * MINUTE_MS);
const clock = (time: Date) => time.toISOString().slice(11, 16);
/** Quiet for Uganda from two hours ago until `TO`, and for Kenya from `TO` until three hours later. */
const FROM = minuteIn(-2 * HOUR_MS);
const TO = minuteIn(3 * HOUR_MS);
const QUIET_HOURS = `256=${clock(FROM)}-${clock(TO)} UTC,254=${clock(TO)}-${clock(minuteIn(6 * HOUR_MS))} UTC`;
const UNTIL = TO.toISOString();
const KENYAN_UNTIL = minuteIn(6 * HOUR_MS).toISOString();

describe('quiet hours', () => {
  let smsc: Smsc;
  let gateway: TestGateway;
  let account: TestAccount;
  let sql: TestSql;
  const opened: { stop(): Promise<void> }[] = [];
  const open = async <Part extends { stop(): Promise<void> }>(part: Promise<Part>): Promise<Part> => {
    opened.push(await part);
    return part;
  };
  beforeAll(async () => {
    smsc = await open(startSmsc());
    gateway = await open(startTestGateway({ SMS_ROUTES: `*=${smsc.url}`, QUIET_HOURS }));
    account = await gateway.createAccount();
    sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });

  const send = (to: string, more: object = {}, key = account.key, at = gateway) =>
    at.call('POST', '/developers/sms', {
      key,
      body: { to, message: 'Mangoes are cheap today', purpose: 'marketing', ...more },
    });
  const get = async (id: string, key = account.key, at = gateway) =>
    (await at.call('GET', `/developers/messages/${id}?explain=true`, { key })).body;
  const balance = async (key = account.key, at = gateway) =>
    (await at.call('GET', '/account', { key })).body.balance;
  const arrived = (to: string, text: string) =>
    // The gateway adds a line with a way out to marketing (R531).
    smsc
      .messages()
      .filter((message) => `+${message.to.replace('+', '')}` === to && message.text.split('\n')[0] === text);
  const becomes = (id: string, status: string, key = account.key, at = gateway) =>
    eventually(async () => {
      const found = await get(id, key, at);
      return found.status === status && found;
    });
  const database = async (): Promise<TestDatabase> => {
    const created = await createTestDatabase();
    opened.push({ stop: () => created.drop() });
    return created;
  };

  it('hold marketing, recipient by recipient, and the answer says until when (R385)', async () => {
    const { key, accountId } = await gateway.createAccount(1_000);
    const receiver = await open(startWebhookReceiver());
    await gateway.call('POST', '/developers/webhooks', {
      key,
      body: { url: receiver.url, events: ['sms.sent', 'sms.failed'] },
    });
    const message = 'Held one by one';
    const sent = await send(`${UGANDAN},${BRITISH},+254700000001`, { message }, key);
    expect(sent.status).toBe(200);
    expect(sent.body).toMatchObject({ status: 'pending', cost: 90, metadata: { heldUntil: UNTIL } });
    expect(await balance(key)).toBe(910);
    const found = await eventually(async () => {
      const details = await get(sent.body.id, key);
      return (
        details.recipients.filter(({ status }: { status: string }) => status === 'sent').length === 2 &&
        details
      );
    });
    expect(found).toMatchObject({ status: 'pending', metadata: { heldUntil: UNTIL } });
    expect(found.recipients).toEqual([
      expect.objectContaining({ to: UGANDAN, status: 'pending', heldUntil: UNTIL }),
      expect.not.objectContaining({ heldUntil: expect.anything() }),
      expect.not.objectContaining({ heldUntil: expect.anything() }),
    ]);
    expect(found.explanation.causes).toContainEqual({
      cause: 'held',
      text: `It is marketing, and held until ${UNTIL}: quiet hours in Uganda.`,
      recipients: 1,
    });
    // A later message to the same number has arrived, so the held one does not come.
    const later = await send(UGANDAN, { message: 'Your parcel', purpose: 'transactional' }, key);
    await becomes(later.body.id, 'sent', key);
    expect([arrived(UGANDAN, message), arrived(BRITISH, message)].map((all) => all.length)).toEqual([0, 1]);
    await receiver.waitFor((hook) => hook.body.messageId === later.body.id);
    expect(receiver.received.map(({ body }) => [body.event, body.data.to])).toEqual([
      ['sms.sent', expect.any(String)],
      ['sms.sent', expect.any(String)],
      ['sms.sent', UGANDAN],
    ]);
    await checkLedger(sql, accountId);
  });

  it.each(['transactional', 'otp', undefined])(
    'hold no message of the purpose %s (R385)',
    async (purpose) => {
      const sent = await send(UGANDAN, { purpose, message: `Now ${purpose}` });
      expect(sent.body.metadata).not.toHaveProperty('heldUntil');
      const found = await becomes(sent.body.id, 'sent');
      expect(found.metadata).not.toHaveProperty('heldUntil');
    },
  );

  it('hold no marketing in the sandbox, by email or to another country (R385)', async () => {
    const sandbox = await send(UGANDAN, {}, account.sandboxKey);
    expect(sandbox.body).toMatchObject({ status: 'sent' });
    expect(sandbox.body.metadata).not.toHaveProperty('heldUntil');
    const abroad = await send(BRITISH);
    expect(abroad.body.metadata).not.toHaveProperty('heldUntil');
    await becomes(abroad.body.id, 'sent');
    const body = { to: 'ann@example.com', subject: 'Mangoes', text: 'Cheap', purpose: 'marketing' };
    const email = await gateway.call('POST', '/developers/email', { key: account.key, body });
    expect(email.body.metadata).not.toHaveProperty('heldUntil');
    await becomes(email.body.id, 'sent');
  });

  it('count at the time for which a message is scheduled (R385)', async () => {
    const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
    const quiet = await send(UGANDAN, { scheduledFor: inHours(1) });
    expect(quiet.body.metadata.heldUntil).toBe(UNTIL);
    const after = await send(UGANDAN, { scheduledFor: inHours(4) });
    expect(after.body.metadata).not.toHaveProperty('heldUntil');
    const both = await send(`${UGANDAN},+254700000001`, { scheduledFor: inHours(4) });
    expect(both.body.metadata.heldUntil).toBe(KENYAN_UNTIL);
    const [, kenyan] = (await get(both.body.id)).recipients;
    expect(kenyan.heldUntil).toBe(KENYAN_UNTIL);
    for (const { body } of [quiet, after, both]) {
      const canceled = await gateway.call('DELETE', `/developers/messages/${body.id}`, { key: account.key });
      expect(canceled.status).toBe(200);
    }
  });

  it('are in the quote, in the stored answer of a key, and in GraphQL (R19, R385)', async () => {
    const body = { to: `${UGANDAN},${BRITISH}`, message: 'Mangoes', purpose: 'marketing' };
    const quote = (more: object) =>
      gateway.call('POST', '/developers/sms/quote', { key: account.key, body: { ...body, ...more } });
    expect((await quote({})).body.heldUntil).toBe(UNTIL);
    expect((await quote({ to: BRITISH })).body).not.toHaveProperty('heldUntil');
    const first = await send(UGANDAN, { idempotencyKey: 'held once' });
    const again = await send(UGANDAN, { idempotencyKey: 'held once' });
    expect(again.text).toBe(first.text);

    const token = await signIn(gateway, account);
    const ask = async (query: string, variables: object) =>
      (await graphql(gateway, query, { token, variables })).body.data;
    const estimate = await ask(
      'query ($input: EstimateSmsInput!) { estimateSms(input: $input) { heldUntil } }',
      {
        input: { to: UGANDAN, message: 'Mangoes', purpose: 'MARKETING' },
      },
    );
    expect(estimate).toEqual({ estimateSms: { heldUntil: UNTIL } });
    const fields = '{ id status heldUntil recipients { to heldUntil } }';
    const input = {
      to: `${UGANDAN},${BRITISH}`,
      message: 'By hand',
      purpose: 'MARKETING',
      environment: 'PRODUCTION',
      idempotencyKey: 'by hand',
    };
    const { sendSms } = await ask(`mutation ($input: SendSmsInput!) { sendSms(input: $input) ${fields} }`, {
      input,
    });
    const held = {
      status: 'PENDING',
      heldUntil: UNTIL,
      recipients: [
        { to: UGANDAN, heldUntil: UNTIL },
        { to: BRITISH, heldUntil: null },
      ],
    };
    expect(sendSms).toMatchObject(held);
    const { messages, explainMessage } = await ask(
      `query ($id: ID!) { messages(first: 1) { nodes ${fields} } explainMessage(id: $id) { causes { cause } } }`,
      { id: sendSms.id },
    );
    expect(messages.nodes[0]).toMatchObject(held);
    expect(explainMessage.causes).toContainEqual({ cause: 'HELD' });
  });

  it('hold a message that can be canceled and is refunded, unless others have left (R388)', async () => {
    const { key, accountId } = await gateway.createAccount(1_000);
    const cancel = (id: string) => gateway.call('DELETE', `/developers/messages/${id}`, { key });
    const held = await send(`${UGANDAN},+256700000002`, {}, key);
    expect(await balance(key)).toBe(940);
    const canceled = await cancel(held.body.id);
    expect(canceled.body).toMatchObject({ status: 'failed' });
    expect(canceled.body.recipients[1]).toMatchObject({
      status: 'failed',
      error: { code: 'canceled' },
      refunded: 30,
    });
    expect(await balance(key)).toBe(1_000);
    const mixed = await send(`${UGANDAN},${BRITISH}`, {}, key);
    await eventually(async () => (await get(mixed.body.id, key)).recipients[1].status === 'sent');
    expect((await cancel(mixed.body.id)).body.error.code).toBe('message_not_cancelable');
    await checkLedger(sql, accountId);
  });

  it('hold recipients that can be canceled after a carrier refused the others (R388)', async () => {
    const refusing = await open(startSmsc({ answer: 11 }));
    const at = await open(startTestGateway({ SMS_ROUTES: `*=${refusing.url}`, QUIET_HOURS }));
    await using own = await openSql(at.database);
    const { key, accountId } = await at.createAccount(1_000);
    const sent = await send(`${UGANDAN},${BRITISH}`, {}, key, at);
    const refused = await eventually(async () => {
      const [, british] = (await get(sent.body.id, key, at)).recipients;
      return british.status === 'failed' && british;
    });
    const canceled = await at.call('DELETE', `/developers/messages/${sent.body.id}`, { key });
    expect(canceled.body).toMatchObject({
      status: 'failed',
      recipients: [{ status: 'failed', error: { code: 'canceled' }, refunded: 30 }, { error: refused.error }],
    });
    expect(refused.error.code).not.toBe('canceled');
    expect(await balance(key, at)).toBe(1_000);
    const again = await at.call('DELETE', `/developers/messages/${sent.body.id}`, { key });
    expect(again.body.error.code).toBe('message_not_cancelable');
    await checkLedger(own, accountId);
  });

  it('end after a restart, and the message leaves then and not before (R385)', async () => {
    const shared = await database();
    const routes = { SMS_ROUTES: `*=${smsc.url}` };
    const first = await open(startTestGateway({ ...routes, QUIET_HOURS }, shared));
    const { key, accountId } = await first.createAccount(1_000);
    const message = 'After the restart';
    const sent = await send(UGANDAN, { message }, key, first);
    await first.stop();
    // As if this was the time until which it was held. The second gateway has no quiet hours, as if they were over.
    const second = await open(startTestGateway(routes, shared));
    const until = new Date(Date.now() + 1_500);
    await using own = await openSql(shared);
    await own.query('UPDATE recipients SET held_until = $2 WHERE message_id = $1', [sent.body.id, until]);
    await own.query(
      `UPDATE pgboss.job SET start_after = $2 WHERE data->'messageIds' ? $1::text AND state = 'created'`,
      [sent.body.id, until],
    );
    expect((await get(sent.body.id, key, second)).recipients[0]).toMatchObject({
      status: 'pending',
      heldUntil: until.toISOString(),
    });
    // Analytics count the time from the end of the quiet hours until the carrier accepted it.
    await own.query("UPDATE messages SET created_at = created_at - interval '10 hours'");
    const found = await becomes(sent.body.id, 'sent', key, second);
    const buckets = await own.query(
      `SELECT submit_bucket AS bucket FROM analytics_deltas WHERE submit_bucket IS NOT NULL
       UNION ALL SELECT bucket FROM analytics_latencies WHERE measure = 'submit'`,
    );
    expect(buckets.length).toBeGreaterThan(0);
    for (const { bucket } of buckets) expect(bucket).toBeLessThan(latencyBucket(HOUR_MS));
    expect(Date.parse(found.timeline.at(-1).at)).toBeGreaterThanOrEqual(until.getTime());
    expect(arrived(UGANDAN, message)).toHaveLength(1);
    await checkLedger(own, accountId);
  });

  describe('that begin while a message waits for its carrier', () => {
    const KENYANS = [1, 2, 3].map((at) => `+25470000000${at}`);
    /** Starts a gateway whose clock the test sets. */
    const gatewayTo = async (...urls: string[]) => {
      const at = await open(startTestGateway({ SMS_ROUTES: `*=${urls.join('|')}`, QUIET_HOURS }));
      let aheadMs = 0;
      Object.assign(at.parts.clock, { now: () => new Date(Date.now() + aheadMs), fault: () => undefined });
      const { key } = await at.createAccount(1_000);
      const recipients = async (id: string) => (await get(id, key, at)).recipients;
      const moveTo = (time: number) => {
        aheadMs = time - Date.now();
      };
      return { at, key, recipients, moveTo };
    };
    const held = { status: 'pending', heldUntil: KENYAN_UNTIL };

    it('hold those for whom the carrier had no place yet (R386)', async () => {
      const slow = await open(startSmsc({ answer: 'late' }));
      const { at, key, recipients, moveTo } = await gatewayTo(`${slow.url}?window=1`);
      const { body } = await send(KENYANS.join(','), {}, key, at);
      await eventually(() => slow.received.length === 1);
      // Other messages to the carrier wait too, and leave.
      const parcel = await send(KENYANS.join(','), { purpose: 'transactional' }, key, at);
      moveTo(TO.getTime() + 1_000);
      slow.behave({ answer: 'accept' });
      slow.answerLate();
      await becomes(parcel.body.id, 'sent', key, at);
      const ends = await eventually(async () => {
        const found = await recipients(body.id);
        return found.some(({ heldUntil }: { heldUntil?: string }) => heldUntil) && found;
      });
      expect(ends.map(({ status }: { status: string }) => status).sort()).toEqual([
        'pending',
        'pending',
        'sent',
      ]);
      expect(ends.filter(({ status }: { status: string }) => status === 'pending')).toEqual([
        expect.objectContaining(held),
        expect.objectContaining(held),
      ]);
      expect(slow.received).toHaveLength(4);
    });

    it('hold those who wait at a carrier that gives no answer (R386)', async () => {
      const silent = await open(startSmsc({ answer: 'silent' }));
      const { at, key, recipients, moveTo } = await gatewayTo(`${silent.url}?window=1`);
      moveTo(TO.getTime() - 3_000);
      const { body } = await send(KENYANS.join(','), {}, key, at);
      expect(body.metadata).not.toHaveProperty('heldUntil');
      const ends = await eventually(async () => {
        const found = await recipients(body.id);
        return found.filter(({ heldUntil }: { heldUntil?: string }) => heldUntil).length === 2 && found;
      });
      expect(ends.filter(({ heldUntil }: { heldUntil?: string }) => heldUntil)).toEqual([
        expect.objectContaining(held),
        expect.objectContaining(held),
      ]);
      expect(silent.received).toHaveLength(1);
    });

    it('hold those whom the next carrier of a failover would get (R386)', async () => {
      let moveTo: (time: number) => void = () => undefined;
      const first = await open(
        startSmsc({
          answer: () => {
            moveTo(TO.getTime() + 1_000);
            return 'throttle';
          },
        }),
      );
      const second = await open(startSmsc());
      const to = await gatewayTo(first.url, second.url);
      moveTo = to.moveTo;
      const { body } = await send(KENYANS[0] ?? '', {}, to.key, to.at);
      const [recipient] = await eventually(async () => {
        const found = await to.recipients(body.id);
        return found[0].heldUntil && found;
      });
      expect(recipient).toMatchObject(held);
      expect([first.received.length > 0, second.received.length]).toEqual([true, 0]);
    });
  });

  describe('a message that another process accepted', () => {
    let accepting: TestGateway;
    let worker: TestGateway;
    let key: string;
    let own: TestSql;
    beforeAll(async () => {
      const shared = await database();
      accepting = await open(startTestGateway({ SMS_ROUTES: `*=${smsc.url}`, ROLES: 'api' }, shared));
      key = (await accepting.createAccount(1_000)).key;
      own = await openSql(shared);
      opened.push({ stop: () => own.close() });
    });
    const work = async () => {
      worker = await open(startTestGateway({ SMS_ROUTES: `*=${smsc.url}`, QUIET_HOURS }, accepting.database));
    };

    it('is held by the worker, and can be canceled (R386)', async () => {
      const message = 'Held by the worker';
      const sent = await send(`${UGANDAN},${BRITISH}`, { message }, key, accepting);
      expect(sent.body.metadata).not.toHaveProperty('heldUntil');
      const late = await send(UGANDAN, { message: 'Too late' }, key, accepting);
      await own.query('UPDATE messages SET expires_at = $2 WHERE id = $1', [late.body.id, minuteIn(HOUR_MS)]);
      await work();
      const found = await eventually(async () => {
        const details = await get(sent.body.id, key, worker);
        return details.recipients[1].status === 'sent' && details.metadata.heldUntil && details;
      });
      expect(found.recipients[0]).toMatchObject({ status: 'pending', heldUntil: UNTIL });
      expect(found.explanation.causes).toContainEqual(
        expect.objectContaining({ cause: 'held', recipients: 1 }),
      );
      const jobs = await own.query(
        `SELECT start_after FROM pgboss.job WHERE data->'messageIds' ? $1::text AND state = 'created'`,
        [sent.body.id],
      );
      expect(jobs).toEqual([{ start_after: TO }]);
      // It does not count as late: not for the alert, and not after a restore (R231).
      await eventually(
        async () =>
          (await readMetrics(worker.processUrl)).sum('gateway_oldest_pending_message_seconds') === 0,
      );
      const { pending } = await worker.parts.stores.copy.pendingAfter(
        { messageId: FIRST_UUID, position: 0 },
        100,
      );
      expect(pending.find(({ messageId }) => messageId === sent.body.id)?.dueAt).toEqual(TO);
      expect(arrived(UGANDAN, message)).toEqual([]);

      const only = await send(UGANDAN, {}, key, accepting);
      await eventually(async () => (await get(only.body.id, key, worker)).metadata.heldUntil === UNTIL);
      const canceled = await worker.call('DELETE', `/developers/messages/${only.body.id}`, { key });
      expect(canceled.body).toMatchObject({
        status: 'failed',
        recipients: [{ error: { code: 'canceled' }, refunded: 30 }],
      });

      // The end of the quiet hours is after its deadline (R387).
      const expired = await becomes(late.body.id, 'failed', key, worker);
      expect(expired.recipients[0]).toMatchObject({
        refunded: 30,
        error: { code: 'expired', message: `Quiet hours of its number end at ${UNTIL}, after its deadline.` },
      });
    });
  });

  describe('the deadline (R387)', () => {
    beforeEach(() => sql.query('DELETE FROM sweep_marks'));

    it('counts from the end of the quiet hours, also if the job is lost', async () => {
      const { key, accountId } = await gateway.createAccount(1_000);
      const sent = await send(`${UGANDAN},+256700000002`, {}, key);
      await sql.query(`DELETE FROM pgboss.job WHERE data->'messageIds' ? $1::text`, [sent.body.id]);
      const pastDeadline = (ms: number) => new Date(TO.getTime() + 24 * HOUR_MS + ms);
      for (const ms of [-2 * HOUR_MS, 0, 10 * MINUTE_MS]) {
        await sweepAt(gateway, pastDeadline(ms));
        expect((await get(sent.body.id, key)).status).toBe('pending');
      }
      await sweepAt(gateway, pastDeadline(48 * HOUR_MS));
      const found = await get(sent.body.id, key);
      expect(found.recipients).toEqual(
        [UGANDAN, '+256700000002'].map((to) =>
          expect.objectContaining({
            to,
            status: 'failed',
            refunded: 30,
            error: expect.objectContaining({ code: 'expired' }),
          }),
        ),
      );
      expect(await balance(key)).toBe(1_000);
      await checkLedger(sql, accountId);
    });
  });

  it('hold templates on WhatsApp, and refuse a free text whose window closes in them (R385, R387)', async () => {
    const platform = await startCloudApi(({ body }) => taken(body.to, `wamid.out-${body.to}`));
    opened.push({ stop: () => platform.stop() });
    const at = await open(
      startTestGateway({
        QUIET_HOURS,
        WHATSAPP_URL: platform.url,
        WHATSAPP_PHONE_NUMBER_ID: CLOUD_API.phoneNumberId,
        WHATSAPP_TOKEN: CLOUD_API.token,
        WHATSAPP_APP_SECRET: CLOUD_API.secret,
        WHATSAPP_VERIFY_TOKEN: 'verify-me',
      }),
    );
    const { key } = await at.createAccount();
    const write = (body: object) =>
      at.call('POST', '/developers/whatsapp', { key, body: { to: UGANDAN, ...body } });
    const template = { type: 'template', template: { name: 'order_shipped', language: 'en_US' } };
    const own = await write(template);
    await becomes(own.body.id, 'sent', key, at);
    const held = await write({ ...template, purpose: 'marketing' });
    expect(held.body).toMatchObject({ status: 'pending', metadata: { heldUntil: UNTIL } });
    // The window closes in an hour, before the quiet hours end.
    const inbound = inboundCallback(UGANDAN.slice(1), 'wamid.in', new Date(Date.now() - 23 * HOUR_MS), {
      text: { body: 'Hi' },
    });
    expect((await callBack(at.url, inbound)).status).toBe(200);
    const text = { type: 'text', text: { body: 'Mangoes' } };
    expect((await write(text)).body).toMatchObject({ status: 'pending' });
    const refused = await write({ ...text, purpose: 'marketing' });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'session_window_closed']);
  });
});
