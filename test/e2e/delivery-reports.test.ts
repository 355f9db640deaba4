import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { openSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const PROVIDER_OF = (smsc: Smsc) => `smpp:gateway@127.0.0.1:${smsc.port}`;

describe('delivery reports over SMPP (R13, R15, R16)', () => {
  let smsc: Smsc;
  let gateway: TestGateway;
  let account: TestAccount;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    smsc = await startSmsc();
    receiver = await startWebhookReceiver();
    gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}` });
    account = await gateway.createAccount();
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['sms.sent', 'sms.failed'] },
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
    await smsc?.stop();
  });

  const send = async (to: string, message: string) => {
    const sent = await gateway.call('POST', '/developers/sms', { key: account.key, body: { to, message } });
    expect(sent.status).toBe(200);
    return sent.body.id as string;
  };
  const details = (id: string) => gateway.call('GET', `/developers/messages/${id}`, { key: account.key });
  const becomes = (id: string, status: string): Promise<Answer['body']> =>
    eventually(async () => {
      const { body } = await details(id);
      return body.status === status && body;
    });
  const eventsOf = (id: string) => receiver.received.filter((hook) => hook.body.messageId === id);
  const report = (sid: string, status: 'delivered' | 'failed', to?: string) =>
    gateway.parts.reports.take(PROVIDER_OF(smsc), [
      {
        sid,
        status,
        ...(to === undefined ? {} : { to }),
        ...(status === 'failed' ? { code: 'UNDELIV' } : {}),
      },
    ]);

  it('a report that arrives before the submit_sm_resp is applied after it: sent, then delivered', async () => {
    smsc.behave({ reports: { form: 'tlv', when: 'before' }, answerDelayMs: 30 });
    const id = await send('+256700200001', 'early');
    const message = await becomes(id, 'delivered');
    expect(message.timeline.map((entry: { status: string }) => entry.status)).toEqual([
      'pending',
      'sent',
      'delivered',
    ]);
    await eventually(() => eventsOf(id).length === 1);
    expect(eventsOf(id)[0]?.body.event).toBe('sms.sent');
    smsc.behave({ reports: undefined, answerDelayMs: 0 });
  });

  it('a negative report after acceptance fails the message with stage delivery, without a refund', async () => {
    smsc.behave({ reports: { form: 'text', when: 'after', stat: 'UNDELIV', err: '045' } });
    const before = (await gateway.call('GET', '/account', { key: account.key })).body.balance;
    const id = await send('+256700200002', 'no such phone');
    const message = await becomes(id, 'failed');
    expect(message.recipients[0]).toMatchObject({
      status: 'failed',
      error: { code: expect.stringContaining('UNDELIV') },
    });
    const failed = await receiver.waitFor(
      (hook) => hook.body.messageId === id && hook.body.event === 'sms.failed',
    );
    expect(failed.body.data).toMatchObject({ to: '+256700200002', stage: 'delivery', permanent: true });
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(before - 30);
    smsc.behave({ reports: undefined });
  });

  it('a rejection fails the message with stage submission, and refunds it once', async () => {
    smsc.behave({ answer: 0x0b });
    const before = (await gateway.call('GET', '/account', { key: account.key })).body.balance;
    const id = await send('+256700200003', 'bad address');
    await becomes(id, 'failed');
    const failed = await receiver.waitFor((hook) => hook.body.messageId === id);
    expect(failed.body).toMatchObject({
      event: 'sms.failed',
      data: { stage: 'submission', errorCode: 'ESME_RINVDSTADR' },
    });
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(before);
    smsc.behave({ answer: 'accept' });
  });

  it.each([
    [
      'hexadecimal answer and decimal report',
      'hex' as const,
      (sid: string) => String(Number.parseInt(sid, 16)),
    ],
    ['hexadecimal answer and lower-case report', 'hex' as const, (sid: string) => sid.toLowerCase()],
    ['padded answer and bare report', 'padded' as const, (sid: string) => sid.replace(/^0+/, '')],
    [
      'decimal answer and hexadecimal report',
      'decimal' as const,
      (sid: string) => Number(sid).toString(16).toUpperCase(),
    ],
  ])('matches %s', async (_name, messageIds, spell) => {
    smsc.behave({ messageIds });
    const id = await send('+256700200004', 'ids');
    const { sid } = await becomes(id, 'sent');
    await report(spell(sid), 'delivered', '256700200004');
    await becomes(id, 'delivered');
    smsc.behave({ messageIds: 'decimal' });
  });

  it('a message of several parts is delivered when its last part is, in any order of reports', async () => {
    const id = await send('+256700200005', 'long '.repeat(100));
    await becomes(id, 'sent');
    const parts = smsc.received.filter((submit) => submit.destination.address === '256700200005');
    expect(parts).toHaveLength(4);
    const [first, ...rest] = parts.map((part) => part.sid).reverse();
    await report(first ?? '', 'delivered');
    for (const sid of rest) {
      expect((await details(id)).body.status).toBe('sent');
      await report(sid, 'delivered');
    }
    await becomes(id, 'delivered');
  });

  it('two parts reported at the same moment both count', async () => {
    for (let round = 0; round < 10; round++) {
      const to = `25670020${1000 + round}`;
      const id = await send(`+${to}`, 'x'.repeat(200));
      await becomes(id, 'sent');
      const parts = smsc.received.filter((submit) => submit.destination.address === to);
      const other = await startTestGateway({ ROLES: 'api' }, gateway.database);
      await Promise.all([
        report(parts[0]?.sid ?? '', 'delivered'),
        other.parts.reports.take(PROVIDER_OF(smsc), [{ sid: parts[1]?.sid ?? '', status: 'delivered' }]),
      ]);
      await becomes(id, 'delivered');
      await other.stop();
    }
  });

  it('a late or repeated report changes nothing and is kept in the timeline', async () => {
    const id = await send('+256700200006', 'again');
    const { sid } = await becomes(id, 'sent');
    await report(sid, 'delivered');
    await report(sid, 'failed');
    await report(sid, 'delivered');
    const message = await becomes(id, 'delivered');
    expect(
      message.timeline.filter((entry: { detail?: string }) => entry.detail?.includes('changed nothing')),
    ).toHaveLength(2);
    const feed = await gateway.call('GET', '/developers/events?limit=100', { key: account.key });
    const told = feed.body.data.filter((event: { messageId: string }) => event.messageId === id);
    expect(told.map(({ event }: { event: string }) => event)).toEqual(['sms.sent']);
  });

  it('a carrier that repeats its report for days does not fill the timeline', async () => {
    const id = await send('+256700200016', 'over and over');
    const { sid } = await becomes(id, 'sent');
    await report(sid, 'delivered');
    for (let n = 0; n < 12; n++) await report(sid, 'delivered');
    await report(sid, 'failed');
    const { timeline } = await becomes(id, 'delivered');
    const late = timeline.filter((entry: { detail?: string }) => entry.detail?.includes('changed nothing'));
    expect(late.map((entry: { status: string }) => entry.status)).toEqual([
      ...Array.from({ length: 8 }, () => 'delivered'),
      'failed',
    ]);
  });

  it('a report for an unknown sid is stored without a message', async () => {
    await report('does-not-exist', 'delivered');
    expect(await gateway.parts.reports.matchKept()).toBe(0);
  });

  it('kept reports are applied in pages of 500, also if they arrived at the same moment', async () => {
    const id = await send('+256700200018', 'many reports');
    const { sid } = await becomes(id, 'sent');
    await using sql = await openSql(gateway.database);
    const insert = `INSERT INTO unmatched_reports (id, provider, sid, sid_keys, report, received_at)
      SELECT gen_random_uuid(), s.provider, s.sid_key, ARRAY[s.sid_key], $1, now()
      FROM provider_sids s, generate_series(1, 1100) WHERE s.message_id = $2`;
    // Count how many reports each statement deletes.
    await sql.query('CREATE TABLE removed_reports (count int)');
    await sql.query(`CREATE FUNCTION count_removed() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO removed_reports SELECT count(*) FROM gone; RETURN NULL; END $$`);
    await sql.query(`CREATE TRIGGER count_removed AFTER DELETE ON unmatched_reports
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_removed()`);
    await sql.query(insert, [JSON.stringify({ sid, status: 'delivered', to: '256700200018' }), id]);
    // A worker of the gateway may apply some of the reports at the same time.
    await gateway.parts.reports.matchKept();
    const removed = await eventually(async () => {
      const rows = await sql.query('SELECT count FROM removed_reports WHERE count > 0');
      const counts = rows.map((row) => Number(row.count));
      return counts.reduce((sum, count) => sum + count, 0) === 1_100 && counts;
    });
    await sql.query('DROP TRIGGER count_removed ON unmatched_reports');
    expect(Math.max(...removed)).toBe(500);
    await becomes(id, 'delivered');
  });

  /** Makes stored reports for a phone number older by `interval`. */
  const age = async (to: string, interval: string) => {
    await using sql = await openSql(gateway.database);
    return await eventually(async () => {
      const [row] = await sql.query(
        `UPDATE unmatched_reports SET received_at = received_at - $2::interval
         WHERE report->>'to' = $1 RETURNING received_at`,
        [to, interval],
      );
      return row;
    });
  };

  it('a report for another number does not match a similar id (R220)', async () => {
    smsc.behave({ messageIds: 'decimal' });
    const id = await send('+256700200007', 'mine');
    const { sid } = await becomes(id, 'sent');
    await report(Number(sid).toString(16), 'failed', '256799999999');
    expect((await details(id)).body.status).toBe('sent');
    // The report is stored like any report without a message, and deleted after the same time.
    const kept = await age('256799999999', '6 minutes');
    await gateway.parts.reports.matchKept();
    expect(await age('256799999999', '0')).toEqual(kept);
    await age('256799999999', '10 minutes');
    expect(await gateway.parts.reports.matchKept()).toBe(0);
    expect((await details(id)).body.status).toBe('sent');
  });

  it('a report waits for the message to its number when a restarted carrier reuses the id of an older message', async () => {
    const [older, younger] = ['256700200021', '256700200022'];
    smsc.behave({ messageIds: 'decimal' });
    const first = await send(`+${older}`, 'older');
    const { sid } = await becomes(first, 'sent');
    // The carrier uses the first message's id again for the second message. The report on the second message arrives
    // before the carrier's answer to its submission.
    await report(sid, 'failed', younger);
    await gateway.parts.reports.matchKept();
    expect((await details(first)).body.status).toBe('sent');
    const second = await send(`+${younger}`, 'younger');
    await becomes(second, 'sent');
    await using sql = await openSql(gateway.database);
    await sql.query(
      'UPDATE provider_sids SET sid_key = (SELECT sid_key FROM provider_sids WHERE message_id = $1) WHERE message_id = $2',
      [first, second],
    );
    await eventually(async () => (await details(second)).body.status === 'failed');
    expect((await details(first)).body.status).toBe('sent');
  });

  it('when a carrier rewrites numbers, the only message with the id gets the report after five minutes (R220)', async () => {
    const id = await send('+256700200023', 'rewritten');
    const { sid } = await becomes(id, 'sent');
    await report(sid, 'delivered', '256711111111');
    await gateway.parts.reports.matchKept();
    expect((await details(id)).body.status).toBe('sent');
    await age('256711111111', '5 minutes');
    await becomes(id, 'delivered');
  });

  it.each(['2567******24', 'SERVICE', '8008'])(
    'a report to %s names no number and is applied by its id',
    async (to) => {
      const id = await send('+256700200024', 'masked');
      const { sid } = await becomes(id, 'sent');
      await report(sid, 'delivered', to);
      await becomes(id, 'delivered');
    },
  );

  it('a stored report that cannot be applied does not stop the others', async () => {
    const ids = [await send('+256700200025', 'odd'), await send('+256700200026', 'fine')];
    const sids = await Promise.all(ids.map(async (id) => (await becomes(id, 'sent')).sid));
    await using sql = await openSql(gateway.database);
    await sql.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'not this one'; END $$`);
    await sql.query(`CREATE TRIGGER refuse BEFORE UPDATE ON recipients FOR EACH ROW
      WHEN (NEW.address = '+256700200025' AND NEW.status = 'delivered') EXECUTE FUNCTION refuse()`);
    try {
      const { provider } = (await sql.query('SELECT provider FROM provider_sids LIMIT 1'))[0] as {
        provider: string;
      };
      for (const sid of sids)
        await sql.query(
          `INSERT INTO unmatched_reports (id, provider, sid, sid_keys, report, received_at)
           VALUES (gen_random_uuid(), $1, $2, ARRAY[lower($2)], $3, now())`,
          [provider, sid, JSON.stringify({ sid, status: 'delivered' })],
        );
      await becomes(ids[1] ?? '', 'delivered');
      expect((await details(ids[0] ?? '')).body.status).toBe('sent');
      await expect(gateway.parts.reports.matchKept()).rejects.toThrow('not this one');
    } finally {
      await sql.query('DROP TRIGGER refuse ON recipients');
      await sql.query('DROP FUNCTION refuse');
    }
    await becomes(ids[0] ?? '', 'delivered');
  });
});
