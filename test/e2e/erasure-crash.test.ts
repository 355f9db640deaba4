import { afterAll, describe, expect, it } from '@jest/globals';
import { crashAWorker, killWorkers } from '../support/crashing-workers.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { checkLedger, openSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ANN = '+256700000941';
const MESSAGES = 1_000;
/** Number of messages that one transaction of the worker erases. */
const BATCH = 200;
const closers: (() => Promise<unknown>)[] = [];

describe('kill -9 during the erasure of a person', () => {
  afterAll(async () => {
    killWorkers();
    for (const close of closers) await close();
  });

  it('loses nothing and counts nothing twice: another process continues after the last committed batch (R490)', async () => {
    const database = await createTestDatabase();
    closers.unshift(() => database.drop());
    const receiver = await startWebhookReceiver();
    closers.unshift(() => receiver.stop());
    const sql = await openSql(database);
    closers.unshift(() => sql.close());
    // Erases at first, so that the messages settle before the worker that is killed starts.
    const first = await startTestGateway({}, database);
    const account = await first.createAccount(1_000_000);
    const { key } = account;
    const body = { url: receiver.url, events: ['sms.sent'] };
    expect((await first.call('POST', '/developers/webhooks', { key, body })).status).toBe(201);
    for (let sent = 0; sent < MESSAGES; sent += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          first.call('POST', '/developers/sms', {
            key,
            body: { to: ANN, message: `Ann ${sent + index}`, idempotencyKey: `ann-${sent + index}` },
          }),
        ),
      );
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    }
    await eventually(async () => {
      const [row] = await sql.query(
        `SELECT (SELECT count(*) FROM recipients WHERE status IN ('pending', 'sent'))
           + (SELECT count(*) FROM webhook_deliveries WHERE status <> 'success') AS open,
           (SELECT count(*) FROM webhook_deliveries) AS deliveries`,
      );
      return Number(row.open) === 0 && Number(row.deliveries) >= MESSAGES;
    }, 120_000);
    const [before] = await sql.query(
      `SELECT count(*)::int AS events, (SELECT balance_minor::int FROM accounts WHERE id = $1) AS balance FROM events`,
      [account.accountId],
    );
    await first.stop();

    const api = await startTestGateway({ ROLES: 'api' }, database);
    closers.unshift(() => api.stop());
    const path = `/developers/recipients/${encodeURIComponent(ANN)}?reason=letter`;
    const begun = await api.call('DELETE', path, { key });
    expect(begun.status).toBe(202);
    const erasure = async () =>
      (await api.call('GET', `/developers/erasures/${begun.body.erasure.id}`, { key })).body.erasure;
    await crashAWorker('third batch of messages erased, not committed', database);
    expect(await erasure()).toMatchObject({
      doneAt: null,
      erased: { messages: 2 * BATCH, texts: 2 * BATCH, recipients: 2 * BATCH },
    });

    const worker = await startTestGateway({ ROLES: 'worker' }, database);
    closers.unshift(() => worker.stop());
    const receipt = await eventually(async () => {
      const now = await erasure();
      return now.doneAt !== null && now;
    });
    expect(receipt.erased).toMatchObject({
      messages: MESSAGES,
      texts: MESSAGES,
      recipients: MESSAGES,
      events: before.events,
      answers: MESSAGES,
    });
    const [left] = await sql.query(
      `SELECT (SELECT count(*)::int FROM recipients WHERE address = 'erased') AS erased,
         (SELECT count(*)::int FROM messages WHERE content <> '') AS texts,
         (SELECT count(*)::int FROM events WHERE strpos(body, '700000941') > 0 OR strpos(body, 'Ann ') > 0) AS events,
         (SELECT count(*)::int FROM idempotency_records WHERE strpos(body, '700000941') > 0) AS answers,
         (SELECT count(*)::int FROM erasure_messages) AS listed,
         (SELECT balance_minor::int FROM accounts WHERE id = $1) AS balance`,
      [account.accountId],
    );
    expect(left).toEqual({
      erased: MESSAGES,
      texts: 0,
      events: 0,
      answers: 0,
      listed: 0,
      balance: before.balance,
    });
    await checkLedger(sql, account.accountId);
    const done = await sql.query("SELECT 1 FROM audit_entries WHERE action = 'recipient.erased'");
    expect(done).toHaveLength(1);
  }, 300_000);
});
