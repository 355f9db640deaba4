/** Tests replies such as STOP by SMS, over the wire of each carrier that hands over inbound SMS. */
import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Retention } from '../../src/workers/retention/retention.ts';
import { eventually } from '../support/eventually.ts';
import { fenceAccount } from '../support/fenced-account.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { africasTalkingAnswer, type SmsApi, startSmsApi, twilioAnswer } from '../support/sms-api.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { openSql } from '../support/sql.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

/** Writes an SMS to a number of the gateway, as the carrier hands it over. `id` is the carrier's id. */
type Say = (from: string, to: string, text: string, id?: string) => Promise<void>;

describe('STOP, START and HELP by SMS', () => {
  let api: SmsApi;
  let smsc: Smsc;
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  let stranger: TestAccount;
  let publicUrl: string;
  let sids = 0;
  beforeAll(async () => {
    const port = await freePort();
    publicUrl = `http://127.0.0.1:${port}`;
    smsc = await startSmsc();
    api = await startSmsApi(({ path, form }) => {
      sids += 1;
      return path.startsWith('/version1')
        ? africasTalkingAnswer(form.get('to') ?? '', 101, 'Success', `ATXid_${sids}`)
        : twilioAnswer(form, `SM${sids}`);
    });
    const settings = {
      SMS_ROUTES: [
        `25670=africastalking://acme:key@${api.host}?callbackToken=t0ken`,
        `25675=twilio://AC1:one@${api.host}`,
        `*=${smsc.url}`,
      ].join(),
    };
    gateway = await startTestGateway({ ...settings, PORT: String(port), PUBLIC_URL: publicUrl });
    other = await startTestGateway({ ...settings, ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
    stranger = await gateway.createAccount();
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
    await api?.stop();
    await smsc?.stop();
  });

  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${gateway.url}/callbacks/sms/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(form).toString(),
    });
    expect(answer.status).toBe(200);
    return answer;
  };
  const africasTalking: Say = async (from, to, text, id = randomUUID()) => {
    const form = { date: '2026-11-26 10:00:00', from, to, text, id, linkId: '1', networkCode: '64110' };
    const answer = await post('africastalking?token=t0ken', form);
    expect(await answer.text()).toBe('{}');
  };
  const twilio: Say = async (from, to, text, id = randomUUID()) => {
    const form = { From: from, To: `+${to}`, Body: text, MessageSid: id, SmsStatus: 'received' };
    const signed = Object.entries(form)
      .sort(([one], [two]) => (one < two ? -1 : 1))
      .reduce((so, [name, value]) => so + name + value, `${publicUrl}/callbacks/sms/twilio`);
    const answer = await post('twilio', form, {
      'x-twilio-signature': createHmac('sha1', 'one').update(signed).digest('base64'),
    });
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual([
      'text/xml; charset=utf-8',
      '<Response/>',
    ]);
  };
  const smpp: Say = async (from, to, text) => {
    const answered = Promise.withResolvers<number>();
    const fields = { source_addr_ton: 1, source_addr: from.slice(1), destination_addr: to };
    smsc.send('deliver_sm', { ...fields, short_message: Buffer.from(text) }, ({ command_status }) =>
      answered.resolve(command_status),
    );
    expect(await answered.promise).toBe(0);
  };

  const sms = (to: string, more: object = {}, key = account.key) =>
    gateway.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...more } });
  /** Sends an SMS that must be accepted, and waits until the carrier has it. */
  const write = async (to: string, more: object = {}, key = account.key) => {
    const sent = await sms(to, more, key);
    expect(sent.status).toBe(200);
    await eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key });
      return body.status === 'sent';
    });
  };
  const suppressions = async (address: string, key = account.key) => {
    const query = `?address=${encodeURIComponent(address)}`;
    return (await gateway.call('GET', `/developers/suppressions${query}`, { key })).body.data;
  };
  /** The texts that a number got from a sender, over HTTP and SMPP. */
  const textsTo = (to: string, from: string) => [
    ...api.requests
      .map(({ form }) => ({
        to: form.get('to') ?? form.get('To'),
        from: (form.get('from') ?? form.get('From'))?.replace('+', ''),
        text: form.get('message') ?? form.get('Body') ?? '',
      }))
      .filter((each) => each.to === to && each.from === from)
      .map(({ text }) => text),
    ...smsc
      .messages()
      .filter((each) => each.to === to.slice(1) && each.from === from)
      .map(({ text }) => text),
  ];
  const chargesOf = async (accountId: string) => {
    await using sql = await openSql(gateway.database);
    const count = 'SELECT count(*)::int AS count FROM ledger_entries WHERE account_id = $1';
    return (await sql.query(count, [accountId]))[0].count;
  };

  it.each([
    ["Africa's Talking", africasTalking, '+256700000301', '8008', 'Stop!', 'START'],
    ['Twilio', twilio, '+256750000301', '12025550100', ' yimiriza ', 'Tandika'],
    ['SMPP', smpp, '+256390000301', '6789', 'ACHA', 'anza'],
  ])(
    '%s: a reply suppresses, is taken back, and is confirmed (R379, R380, R381)',
    async (_, say, number, code, stop, start) => {
      await write(number, { from: code });
      const ledger = await chargesOf(account.accountId);
      await say(number, code, stop, `in-${number}`);
      await say(number, code, stop, `in-${number}`);
      expect(await suppressions(number)).toMatchObject([
        { channel: 'sms', environment: 'production', scope: 'all', source: 'stop', reason: null },
      ]);
      const refused = await sms(number);
      expect([refused.status, refused.body.error.code]).toEqual([400, 'all_recipients_suppressed']);
      const some = await sms(`${number},+256390000399`);
      expect(some.body).toMatchObject({ to: ['+256390000399'], metadata: { suppressedSkipped: 1 } });
      const quote = { key: account.key, body: { to: number, message: 'Hello' } };
      await eventually(async () => (await other.call('POST', '/developers/sms/quote', quote)).status === 400);
      expect((await sms(number, {}, stranger.key)).status).toBe(200);
      await say(number, code, 'stop it please, it is enough');
      await say(number, code, 'Help');
      await say(number, code, start);
      await eventually(() => textsTo(number, code).length === 4);
      expect(await suppressions(number)).toEqual([]);
      // One charge for the SMS to the other number.
      expect(await chargesOf(account.accountId)).toBe(ledger + 1);
      await write(number);
      await say(number, code, stop);
      await say(number, code, 'HELP');
      expect(await suppressions(number)).toHaveLength(1);
      await say(number, code, start);
      await write(number, { from: code, message: 'The last one' });
      expect(textsTo(number, code)).toEqual([
        'Hello',
        expect.stringContaining('no more messages'),
        expect.stringContaining('Reply STOP'),
        expect.stringContaining('messages again'),
        'The last one',
      ]);
      const answers = await gateway.call('GET', '/developers/sms/history?limit=100', { key: account.key });
      const confirmed = answers.body.data.filter(
        ({ to, content }: { to: string[]; content: string }) =>
          to[0] === number && /STOP|START/.test(content),
      );
      expect(confirmed.map(({ cost }: { cost: number }) => cost)).toEqual([0, 0, 0]);
    },
  );

  it('a reply belongs to the account that wrote last from the number it is sent to (R380)', async () => {
    const number = '+256390000302';
    await write(number, { from: '6001' });
    await write(number, { from: '6002' }, stranger.key);
    await smpp(number, '6001', 'STOP');
    expect(await suppressions(number)).toHaveLength(1);
    expect(await suppressions(number, stranger.key)).toEqual([]);
    await smpp(number, '6003', 'STOP');
    expect(await suppressions(number, stranger.key)).toHaveLength(1);
  });

  it('finds the account after its retention deleted the SMS, but a newer one counts before (R533)', async () => {
    const number = '+256700000399';
    const keeping = await gateway.createAccount();
    await write(number, { from: '6001' }, keeping.key);
    await using sql = await openSql(gateway.database);
    await sql.query('UPDATE accounts SET message_days = 1 WHERE id = $1', [keeping.accountId]);
    await foldAnalytics(gateway, sql);
    const inThreeDays = new Date(Date.now() + 3 * 24 * 3_600_000);
    await withUnitOfWork(gateway, (uow, stores) =>
      new Retention(uow, stores, { now: () => inThreeDays }).run(),
    );
    expect(await sql.query('SELECT id FROM messages WHERE account_id = $1', [keeping.accountId])).toEqual([]);
    const notes = await sql.query('SELECT w::text AS row FROM sms_writers w WHERE account_id = $1', [
      keeping.accountId,
    ]);
    expect(notes).toHaveLength(1);
    expect(notes[0]?.row).not.toContain('700000399');
    await smpp(number, '6001', 'STOP');
    expect(await suppressions(number, keeping.key)).toMatchObject([{ scope: 'all', source: 'stop' }]);
    await write(number, { from: '6001' });
    await smpp(number, '6001', 'ACHA');
    expect(await suppressions(number)).toMatchObject([{ scope: 'all', source: 'stop' }]);
  });

  it('old writers are forgotten while another account moves to another cell (R503)', async () => {
    await using sql = await openSql(gateway.database);
    const [moving, staying] = [await gateway.createAccount(), await gateway.createAccount()];
    const owners = [moving.accountId, staying.accountId];
    await sql.query(
      `INSERT INTO sms_writers (account_id, wrote_at, number_hash, sender)
       SELECT id, '2020-01-01', convert_to(id::text, 'UTF8'), '6002' FROM unnest($1::uuid[]) AS n (id)`,
      [owners],
    );
    const left = async () => {
      const rows = await sql.query('SELECT account_id FROM sms_writers WHERE account_id = ANY($1)', [owners]);
      return rows.map((row) => row.account_id);
    };
    const forget = () =>
      withUnitOfWork(gateway, (_uow, stores) =>
        stores.retention.forgetSmsWriters(new Date('2020-01-02'), 100),
      );
    {
      await using _fence = await fenceAccount(gateway.database, moving.accountId);
      expect(await forget()).toBe(1);
      expect(await left()).toEqual([moving.accountId]);
    }
    expect(await forget()).toBe(1);
    expect(await left()).toEqual([]);
  });

  it('a reply is answered through the carrier that it came from (R381)', async () => {
    const number = '+256700000303';
    await write(number, { from: '8010' });
    await smpp(number, '8010', 'HELP');
    await eventually(() => smsc.messages().some(({ to }) => to === number.slice(1)));
    expect(textsTo(number, '8010')).toEqual(['Hello', expect.stringContaining('Reply STOP')]);
  });

  it('keeps no other texts, and none of people to whom nobody wrote (R380)', async () => {
    const number = '+256390000304';
    await smpp(number, '6001', 'STOP');
    await write(number);
    await smpp(number, '6001', 'What does it cost?');
    await using sql = await openSql(gateway.database);
    expect(await sql.query('SELECT id FROM inbound_messages WHERE sender = $1', [number])).toEqual([]);
    expect(await suppressions(number)).toEqual([]);
  });

  it('START takes back only the STOP (R379)', async () => {
    const number = '+256390000305';
    await write(number, { from: '6001' });
    const body = { channel: 'sms', address: number, scope: 'marketing', reason: 'By phone' };
    const added = await gateway.call('POST', '/developers/suppressions', { key: account.key, body });
    await smpp(number, '6001', 'STOP');
    expect(await suppressions(number)).toMatchObject([{ scope: 'all', source: 'stop' }]);
    await smpp(number, '6001', 'START');
    expect(await suppressions(number)).toEqual([added.body.suppression]);
    await gateway.call('POST', '/developers/suppressions', {
      key: account.key,
      body: { ...body, scope: 'all' },
    });
    await smpp(number, '6001', 'STOP');
    await smpp(number, '6001', 'START');
    expect(await suppressions(number)).toMatchObject([{ scope: 'all', source: 'api', reason: 'By phone' }]);
  });

  it('START does not take back a use of the link while STOP held (R379)', async () => {
    const number = '+256390000306';
    const message = 'Mangoes {{optOut}}';
    await write(number, { from: '6001', message, purpose: 'marketing' });
    await smpp(number, '6001', 'STOP');
    const [text = ''] = textsTo(number, '6001');
    const path = text.slice(text.indexOf('/o/'));
    expect((await fetch(gateway.url + path, { method: 'POST' })).status).toBe(200);
    expect(await suppressions(number)).toMatchObject([{ scope: 'all', source: 'stop' }]);
    await smpp(number, '6001', 'START');
    expect(await suppressions(number)).toMatchObject([{ scope: 'marketing', source: 'link' }]);
  });

  it('a STOP that the carrier repeats after START changes nothing (R379)', async () => {
    const number = '+256700000307';
    await write(number, { from: '8008' });
    await africasTalking(number, '8008', 'STOP', 'in-307');
    await africasTalking(number, '8008', 'START');
    await africasTalking(number, '8008', 'STOP', 'in-307');
    expect(await suppressions(number)).toEqual([]);
  });

  it('a START that overtakes a later STOP does not lift it (R379)', async () => {
    const number = '+256700000308';
    await write(number, { from: '8008' });
    await africasTalking(number, '8008', 'STOP');
    await using holder = await openSql(gateway.database);
    await using sql = await openSql(gateway.database);
    await holder.query('BEGIN');
    const replies = `${account.accountId} production sms ${number}`;
    await holder.query('SELECT pg_advisory_xact_lock(7350180, hashtext($1))', [replies]);
    const start = africasTalking(number, '8008', 'START');
    const waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 7350180 AND NOT granted";
    await eventually(async () => (await sql.query(waits)).length === 1);
    // Another process has stored a later STOP, and waits for its turn.
    await sql.query(
      `INSERT INTO inbound_messages (id, account_id, sent_at, received_at, channel, provider, sid, sender, type, content)
       SELECT gen_random_uuid(), account_id, sent_at + interval '1 millisecond', received_at, channel, provider, 'later',
         sender, type, 'Stop' FROM inbound_messages WHERE sender = $1 AND content = 'START'`,
      [number],
    );
    await holder.query('COMMIT');
    await start;
    expect(await suppressions(number)).toMatchObject([{ scope: 'all', source: 'stop' }]);
  });

  it('a key of the account does not stand in for the confirmation (R381)', async () => {
    const number = '+256700000309';
    await write(number, { from: '8011' });
    for (const idempotencyKey of [`reply stop ${number}`, `stop ${number}`]) {
      await write('+256700000310', { idempotencyKey });
    }
    await africasTalking(number, '8011', 'STOP');
    await eventually(() => textsTo(number, '8011').length === 2);
    expect(textsTo(number, '8011')[1]).toContain('no more messages');
  });
});
