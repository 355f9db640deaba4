import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { africasTalkingAnswer, type SmsApi, startSmsApi, twilioAnswer } from '../support/sms-api.ts';
import { openSql } from '../support/sql.ts';

describe('callbacks of SMS carriers (R15)', () => {
  let api: SmsApi;
  let gateway: TestGateway;
  let account: TestAccount;
  let publicUrl: string;
  let sids = 0;
  beforeAll(async () => {
    const port = await freePort();
    publicUrl = `http://127.0.0.1:${port}`;
    api = await startSmsApi(({ path, form }) => {
      sids += 1;
      return path.startsWith('/version1')
        ? africasTalkingAnswer(form.get('to') ?? '', 101, 'Success', `ATXid_${sids}`)
        : twilioAnswer(form, `SM${sids}`);
    });
    gateway = await startTestGateway({
      PORT: String(port),
      PUBLIC_URL: publicUrl,
      SMS_ROUTES: [
        `256=africastalking://acme:key@${api.host}`,
        `254=africastalking://other:key@${api.host}?callbackToken=t0ken`,
        `44=twilio://AC1:one@${api.host}`,
        `1=twilio://AC2:two@${api.host}`,
      ].join(),
    });
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await gateway?.stop();
    await api?.stop();
  });

  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/callbacks/sms/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const signed = (token: string, fields: Record<string, string>, path = 'twilio') => {
    const text = Object.keys(fields)
      .sort()
      .reduce((so, name) => so + name + fields[name], `${publicUrl}/callbacks/sms/${path}`);
    return { 'x-twilio-signature': createHmac('sha1', token).update(text).digest('base64') };
  };
  const details = async (id: string) =>
    (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
  /** Sends a message. When the carrier has accepted it, resolves with its id and its sid (the carrier's id). */
  const sent = async (to: string) => {
    const body = { to, message: 'Hello' };
    const { id } = (await gateway.call('POST', '/developers/sms', { key: account.key, body })).body;
    const { sid } = await eventually(async () => {
      const found = await details(id);
      return found.status === 'sent' && found;
    });
    return { id, sid: sid as string };
  };

  it('Africa’s Talking: sent and buffered change nothing, success means delivered', async () => {
    const { id, sid } = await sent('+256700123456');
    for (const status of ['Sent', 'Submitted', 'Buffered', 'Whatever']) {
      expect((await post('africastalking', { id: sid, status, phoneNumber: '+256700123456' })).status).toBe(
        200,
      );
    }
    expect((await details(id)).status).toBe('sent');
    const report = {
      id: sid,
      status: 'Success',
      phoneNumber: '+256700123456',
      networkCode: '64110',
      retryCount: '0',
    };
    expect((await post('africastalking', report)).status).toBe(200);
    expect((await details(id)).status).toBe('delivered');
  });

  it('Africa’s Talking: a failure has its reason as code', async () => {
    const { id, sid } = await sent('+256700123457');
    await post('africastalking', {
      id: sid,
      status: 'Failed',
      phoneNumber: '+256700123457',
      failureReason: 'UserIsInactive',
    });
    expect((await details(id)).recipients[0]).toMatchObject({
      status: 'failed',
      error: { code: 'UserIsInactive' },
    });
  });

  it('Africa’s Talking: with a token, only callbacks with that token reach its messages', async () => {
    const { id, sid } = await sent('+254700123456');
    const report = { id: sid, status: 'Success', phoneNumber: '+254700123456' };
    // A report without the right token counts as a report to the configured account that has no token. That account did
    // not send this message, so nothing changes.
    expect((await post('africastalking?token=wrong', report)).status).toBe(200);
    expect((await details(id)).status).toBe('sent');
    await using alone = await startTestGateway({
      SMS_ROUTES: `*=africastalking://other:key@${api.host}?callbackToken=t0ken`,
    });
    const refused = await fetch(`${alone.url}/callbacks/sms/africastalking?token=wrong`, {
      method: 'POST',
      body: '',
    });
    expect(refused.status).toBe(401);
  });

  it('Africa’s Talking: the token of one account does not match messages of an account without a token', async () => {
    const { id, sid } = await sent('+254700123457');
    const report = { id: sid, status: 'Success', phoneNumber: '+254700123457' };
    expect((await post('africastalking?token=t0ken', report)).status).toBe(200);
    expect((await details(id)).status).toBe('delivered');
  });

  it('unverified callbacks count on the budget of their address, verified ones on none (R11, R211)', async () => {
    const route = (query: string) => ({
      SMS_ROUTES: `*=africastalking://acme:key@${api.host}${query}`,
      RATE_LIMIT_PER_MINUTE: '5',
    });
    const times = async (url: string, count: number) => {
      const statuses: number[] = [];
      for (let n = 0; n < count; n++) {
        const body = new URLSearchParams({ id: `unknown-${n}`, status: 'Success' });
        statuses.push((await fetch(url, { method: 'POST', body })).status);
      }
      return statuses;
    };
    await using open = await startTestGateway(route(''));
    expect(await times(`${open.url}/callbacks/sms/africastalking`, 7)).toEqual([
      200, 200, 200, 200, 200, 429, 429,
    ]);
    await using sql = await openSql(open.database);
    // The gateway stores no report on an unknown id if nothing proves who sent the report. It could be applied to a
    // later message with that id.
    expect(await sql.query('SELECT FROM unmatched_reports')).toEqual([]);
    // A carrier without a callback token may send reports on many messages at once. The gateway accepts those on known
    // messages.
    const { key } = await open.createAccount();
    const message = { to: '+256700123456,+256700123457', message: 'Hello' };
    expect((await open.call('POST', '/developers/sms', { key, body: message })).status).toBe(200);
    const known = await eventually(async () => {
      const rows = await sql.query('SELECT sid FROM recipients WHERE sid IS NOT NULL');
      return rows.length === 2 && rows.map(({ sid }) => String(sid));
    });
    // A report that is sent again changes nothing, and is not stored.
    for (const id of [...known, ...known]) {
      const body = new URLSearchParams({ id, status: 'Success' });
      const answer = await fetch(`${open.url}/callbacks/sms/africastalking`, { method: 'POST', body });
      expect(answer.status).toBe(200);
    }
    const states = await sql.query('SELECT status FROM recipients');
    expect(states.map(({ status }) => status)).toEqual(['delivered', 'delivered']);
    expect(await sql.query('SELECT FROM unmatched_reports')).toEqual([]);
    expect(await sql.query('SELECT FROM timeline_notes')).toEqual([]);
    await using closed = await startTestGateway(route('?callbackToken=t0ken'));
    const address = `${closed.url}/callbacks/sms/africastalking`;
    expect(new Set(await times(`${address}?token=t0ken`, 12))).toEqual(new Set([200]));
    await using own = await openSql(closed.database);
    expect(await own.query('SELECT count(*)::int AS kept FROM unmatched_reports')).toEqual([{ kept: 12 }]);
    expect(await times(`${address}?token=guess`, 7)).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(new Set(await times(`${address}?token=t0ken`, 2))).toEqual(new Set([200]));
  });

  it('Twilio: a signed callback for the right account means delivered', async () => {
    const { id, sid } = await sent('+447911123456');
    const fields = {
      MessageSid: sid,
      MessageStatus: 'delivered',
      To: '+447911123456',
      From: 'SERVICE',
      AccountSid: 'AC1',
    };
    expect((await post('twilio', fields)).status).toBe(401);
    expect((await post('twilio', fields, signed('wrong', fields))).status).toBe(401);
    expect((await post('twilio', fields, signed('one', { ...fields, MessageStatus: 'failed' }))).status).toBe(
      401,
    );
    expect((await post('twilio', fields, signed('one', fields, 'other'))).status).toBe(401);
    expect((await post('twilio', fields, signed('two', fields))).status).toBe(200);
    expect((await details(id)).status).toBe('sent');
    const sending = { ...fields, MessageStatus: 'sending' };
    expect((await post('twilio', sending, signed('one', sending))).status).toBe(200);
    expect((await details(id)).status).toBe('sent');
    expect((await post('twilio', fields, signed('one', fields))).status).toBe(200);
    expect((await details(id)).status).toBe('delivered');
  });

  it('Twilio: an undelivered message fails with the error’s code', async () => {
    const { id, sid } = await sent('+12025550123');
    const fields = { MessageSid: sid, MessageStatus: 'undelivered', ErrorCode: '30003', To: '+12025550123' };
    expect((await post('twilio', fields, signed('two', fields))).status).toBe(200);
    expect((await details(id)).recipients[0]).toMatchObject({ status: 'failed', error: { code: '30003' } });
  });

  it('an unverified report does not apply to a message that is sent later', async () => {
    const later = `ATXid_${sids + 1}`;
    expect((await post('africastalking', { id: later, status: 'Success' })).status).toBe(200);
    expect(await sent('+256700123458')).toMatchObject({ sid: later });
    const proven = `ATXid_${sids + 1}`;
    expect((await post('africastalking?token=t0ken', { id: proven, status: 'Success' })).status).toBe(200);
    const body = { to: '+254700123458', message: 'Hello' };
    const { id } = (await gateway.call('POST', '/developers/sms', { key: account.key, body })).body;
    const found = await eventually(async () => {
      const { sid, status } = await details(id);
      return status === 'delivered' && sid;
    });
    expect(found).toBe(proven);
  });

  it.each([
    ['an empty body', ''],
    ['bytes that are no text', '%00%ff=%00&id=%00&status=Success'],
    ['a NUL in the id', 'id=a%00b&status=Failed&failureReason=%00%ED%A0%80'],
    ['no form', '{"id": 1}'],
    ['long fields', `id=${'x'.repeat(50_000)}&status=Success`],
  ])('%s causes no error', async (_what, body) => {
    const response = await fetch(`${gateway.url}/callbacks/sms/africastalking`, { method: 'POST', body });
    expect(response.status).toBe(200);
  });

  it('a large body gets 413, and a carrier that is not configured 404', async () => {
    const large = await fetch(`${gateway.url}/callbacks/sms/africastalking`, {
      method: 'POST',
      body: 'x'.repeat(70_000),
    });
    expect(large.status).toBe(413);
    expect((await post('nobody', {})).status).toBe(404);
    expect((await fetch(`${gateway.url}/callbacks/sms/twilio`)).status).toBe(404);
  });

  it('an endpoint that answers 429 is retried when it asked', async () => {
    let asked = 0;
    const busy = await startSmsApi(({ form }) => {
      asked += 1;
      return asked === 1
        ? { status: 429, body: {}, headers: { 'retry-after': '1' } }
        : twilioAnswer(form, 'SMbusy');
    });
    try {
      await using other = await startTestGateway({ SMS_ROUTES: `*=twilio://AC1:one@${busy.host}` });
      const owner = await other.createAccount();
      const body = { to: '+256700123456', message: 'Hello' };
      const { id } = (await other.call('POST', '/developers/sms', { key: owner.key, body })).body;
      await eventually(async () => {
        const found = await other.call('GET', `/developers/messages/${id}`, { key: owner.key });
        return found.body.sid === 'SMbusy';
      });
      expect(asked).toBe(2);
    } finally {
      await busy.stop();
    }
  });
});
