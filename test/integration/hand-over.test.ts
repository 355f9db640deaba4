import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const READS_PENDING = /FROM recipients WHERE .* AND status = 'pending'/s;
const READS_DUE = /FROM webhook_deliveries d\s+JOIN events e .* d\.attempts = /s;

describe('a job that the process that created it runs', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let account: TestAccount;
  const opened: { stop(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    opened.push(gateway);
    sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });

  it('needs no query: it sends exactly what was just written', async () => {
    const { key } = account;
    const receiver = await startWebhookReceiver();
    opened.push(receiver);
    const hook = { url: receiver.url, events: ['sms.sent', 'sms.failed'] };
    await gateway.call('POST', '/developers/webhooks', { key, body: hook });
    using statements = countStatements();
    const body = { to: '0700123456,0700000001', message: 'Hello "you"' };
    const sent = await gateway.call('POST', '/developers/sms', { key, body });
    await eventually(async () => {
      const rows = await sql.query(`SELECT FROM webhook_deliveries WHERE status = 'success'`);
      return rows.length === 2;
    });
    const texts = statements.texts();
    expect(texts.filter((text) => READS_PENDING.test(text) || READS_DUE.test(text))).toEqual([]);
    // `statements` must also contain statements that were sent together with others. Otherwise the check above proves
    // nothing.
    for (const written of ['INSERT INTO messages', 'INSERT INTO events']) {
      expect(texts.filter((text) => text.includes(written))).not.toEqual([]);
    }
    const feed = await gateway.call('GET', '/developers/events', { key });
    const byEvent = (left: { event: string }, right: { event: string }) =>
      left.event.localeCompare(right.event);
    expect(receiver.received.map((received) => received.body).sort(byEvent)).toEqual(
      [...feed.body.data].sort(byEvent),
    );
    expect(feed.body.data.map((event: { messageId: string }) => event.messageId)).toEqual([
      sent.body.id,
      sent.body.id,
    ]);
    // Each job was deleted in the transaction that recorded its result.
    await eventually(async () => (await sql.query('SELECT FROM job_leases')).length === 0);
    expect(await sql.query('SELECT FROM pgboss.job')).toEqual([]);
  });
});
