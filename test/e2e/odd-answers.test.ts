import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type ApiReply, africasTalkingAnswer, type SmsApi, startSmsApi } from '../support/sms-api.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const BUSY = { status: 429, body: {}, headers: { 'retry-after': '3600' } };

describe("a carrier's answer that cannot be stored as it is", () => {
  let api: SmsApi;
  let gateway: TestGateway;
  let account: TestAccount;
  let sql: TestSql;
  const answers = new Map<string, ApiReply>();
  beforeAll(async () => {
    api = await startSmsApi(({ form }) => {
      const to = form.get('to') ?? '';
      return answers.get(to) ?? africasTalkingAnswer(to, 101, 'Success', `ATXid_${to}`);
    });
    gateway = await startTestGateway({ SMS_ROUTES: `*=africastalking://acme:key@${api.host}` });
    sql = await openSql(gateway.database);
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
    await api?.stop();
  });

  const send = async (...to: string[]) => {
    const body = { to: to.join(), message: 'Hello' };
    const sent = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    expect(sent.status).toBe(200);
    return sent.body.id as string;
  };
  const recipients = async (id: string) =>
    (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body.recipients;
  const statuses = async (id: string) =>
    (await recipients(id)).map(({ status }: { status: string }) => status).join();
  const handOvers = (to: string) => api.requests.filter(({ form }) => form.get('to') === to).length;

  it.each([
    ['with U+0000', '+256700300001', 'ATX\0id'],
    ['of 12,000 characters', '+256700300002', randomBytes(9_000).toString('base64')],
  ])('an id %s: one hand-over, and reports with the same id match', async (_what, to, sid) => {
    answers.set(to, africasTalkingAnswer(to, 101, 'Success', sid));
    const id = await send(to, '+256700300003');
    await eventually(async () => (await statuses(id)) === 'sent,sent');
    const report = new URLSearchParams({ id: sid, status: 'Success', phoneNumber: to });
    const told = await fetch(`${gateway.url}/callbacks/sms/africastalking`, { method: 'POST', body: report });
    expect(told.status).toBe(200);
    await eventually(async () => (await statuses(id)) === 'delivered,sent');
    expect(handOvers(to)).toBe(1);
    // All jobs of the message have ended.
    await eventually(async () => (await sql.query('SELECT FROM job_leases')).length === 0);
    expect(await sql.query('SELECT FROM pgboss.job')).toEqual([]);
  });

  it('an id that an older message also has: the report is applied to the newer one', async () => {
    const to = '+256700300010';
    answers.set(to, africasTalkingAnswer(to, 101, 'Success', 'ATXid_again'));
    const [older, younger] = [await send(to), await send(to)];
    for (const id of [older, younger]) await eventually(async () => (await statuses(id)) === 'sent');
    const report = new URLSearchParams({ id: 'ATXid_again', status: 'Success', phoneNumber: to });
    const told = await fetch(`${gateway.url}/callbacks/sms/africastalking`, { method: 'POST', body: report });
    expect(told.status).toBe(200);
    expect([await statuses(older), await statuses(younger)]).toEqual(['sent', 'delivered']);
  });

  it('an id that had a report days ago: the report belongs to another message', async () => {
    const to = '+256700300011';
    const keep = (sid: string, age: string) =>
      sql.query(
        `INSERT INTO unmatched_reports (id, provider, sid, sid_keys, report, received_at)
         VALUES (gen_random_uuid(), $1, $2, ARRAY[lower($2)], $3, now() - $4::interval)`,
        [`africastalking:acme@${api.host}`, sid, JSON.stringify({ sid, status: 'delivered', to }), age],
      );
    await keep('ATXid_stale', '2 days');
    await keep('ATXid_early', '20 hours');
    for (const [sid, status] of [
      ['ATXid_stale', 'sent'],
      ['ATXid_early', 'delivered'],
    ] as const) {
      answers.set(to, africasTalkingAnswer(to, 101, 'Success', sid));
      const id = await send(to);
      await eventually(async () => (await statuses(id)) !== 'pending');
      expect(await statuses(id)).toBe(status);
    }
  });

  it('a reason with U+0000: the message fails with it, after one hand-over', async () => {
    const to = '+256700300004';
    answers.set(to, africasTalkingAnswer(to, 403, 'no \0 such user'));
    const id = await send(to);
    await eventually(async () => (await statuses(id)) === 'failed');
    expect((await recipients(id))[0].error.message).toContain('no \uFFFD such user');
    expect(handOvers(to)).toBe(1);
  });

  it('an unforeseen answer: only this message is handed over again, at growing delays, until its answer can be stored', async () => {
    const [odd, fine, busy] = ['+256700300005', '+256700300006', '+256700300007'] as const;
    answers.set(busy, BUSY);
    await sql.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'not this one'; END $$`);
    await sql.query(`CREATE TRIGGER refuse BEFORE UPDATE ON recipients FOR EACH ROW
      WHEN (NEW.address = '${odd}' AND NEW.status = 'sent') EXECUTE FUNCTION refuse()`);
    const id = await send(odd, fine, busy);
    await eventually(() => handOvers(odd) >= 3);
    expect(await statuses(id)).toBe('pending,sent,pending');
    expect([handOvers(fine), handOvers(busy)]).toEqual([1, 1]);
    const waiting = () =>
      sql.query(
        `SELECT (data->>'attempt')::int AS attempt FROM pgboss.job WHERE state < 'active' ORDER BY 1`,
      );
    // The list does not contain running jobs. So query until both jobs wait.
    await eventually(async () => {
      expect(await waiting()).toEqual([{ attempt: 1 }, { attempt: handOvers(odd) }]);
      return true;
    });
    await sql.query('DROP TRIGGER refuse ON recipients');
    await eventually(async () => (await statuses(id)) === 'sent,sent,pending');
    expect([handOvers(fine), handOvers(busy)]).toEqual([1, 1]);
  });

  it('a job that comes back leaves recipients to the later job that they wait for', async () => {
    const [first, second] = ['+256700300008', '+256700300009'] as const;
    for (const to of [first, second]) answers.set(to, BUSY);
    const id = await send(first, second);
    await eventually(() => handOvers(first) + handOvers(second) === 2);
    const put = () => sql.query(`SELECT FROM recipients WHERE message_id = $1 AND attempts = 1`, [id]);
    await eventually(async () => (await put()).length === 2);
    // Insert a job again that has already recorded its result. This happens if a process dies just before it deletes
    // the job.
    const job = { group: { id: 'sms:*' }, data: { messageIds: [id], attempt: 0, wasHandedOver: true } };
    await sql.query(
      `INSERT INTO job_leases (id, due_at, queue, job) VALUES (gen_random_uuid(), now(), 'submit', $1)`,
      [JSON.stringify(job)],
    );
    await eventually(async () => (await sql.query('SELECT FROM job_leases')).length === 0);
    await eventually(
      async () => (await sql.query(`SELECT FROM pgboss.job WHERE data->>'attempt' = '0'`)).length === 0,
    );
    expect([handOvers(first), handOvers(second)]).toEqual([1, 1]);
  });
});
