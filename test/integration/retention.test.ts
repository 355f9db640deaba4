import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { SystemCaller } from '../../src/domain/caller.ts';
import { Retention } from '../../src/workers/retention/retention.ts';
import { eventually } from '../support/eventually.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const DAY_MS = 24 * 3_600_000;
const OPERATOR: SystemCaller = { kind: 'system', name: 'test' };
const SECRET = 'the parcel of Mrs Okello';

/** Starts an HTTP server that answers with the body of the request. */
async function startEcho() {
  const server = createServer((request, response) => void request.pipe(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, stop };
}

describe('retention', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let account: TestAccount;
  const opened: { stop(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    opened.push(gateway);
    sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
  });
  afterAll(async () => {
    for (const each of opened.reverse()) await each.stop();
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    await sql.query('DELETE FROM sweep_marks');
  });

  const keep = (contentDays: number | null, messageDays: number | null, accountId = account.accountId) =>
    gateway.parts.operations.accounts.setRetention.run(OPERATOR, { accountId, contentDays, messageDays });
  /**
   * Runs one round of retention as if it were `days` days later. The analytics contain every message before. Otherwise a
   * round at the moment of the gateway's own fold would leave the newest messages to the next round.
   */
  const roundAfter = async (days: number) => {
    await foldAnalytics(gateway, sql);
    return withUnitOfWork(gateway, (uow, stores) => {
      const now = new Date(Date.now() + days * DAY_MS);
      return new Retention(uow, stores, { now: () => now }).run();
    });
  };
  const send = async (rest: object = {}, key = account.key) => {
    const body = { to: '0700123456', message: SECRET, ...rest };
    const answer = await gateway.call('POST', '/developers/sms', { key, body });
    expect(answer.status).toBe(200);
    return answer.body.id as string;
  };
  const get = (id: string) => gateway.call('GET', `/developers/messages/${id}`, { key: account.key });
  const history = async (query = '') =>
    (await gateway.call('GET', `/developers/sms/history?${query}`, { key: account.key })).body;
  const settled = (id: string, status: string) =>
    eventually(async () => (await get(id)).body.status === status);
  /** Returns the tables of the gateway and of its queue that contain `text`. */
  const tablesWith = async (text: string) => {
    const tables = await sql.query(
      `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
       WHERE table_schema IN ('public', 'pgboss') AND table_type = 'BASE TABLE'`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await sql.query(`SELECT FROM ${name} AS t WHERE t::text LIKE $1 LIMIT 1`, [`%${text}%`]);
      if (rows.length > 0) found.push(name);
    }
    return found;
  };

  it('keeps everything without a setting', async () => {
    const id = await send();
    await settled(id, 'delivered');
    await roundAfter(10_000);
    expect((await get(id)).body.content).toBe(SECRET);
    expect((await history()).pagination.total).toBe(1);
  });

  it('deletes the text in time: of the message, notes, events, and stored answers of endpoints and requests', async () => {
    // The receiver's answer contains the text, and the answer is stored with the attempt.
    const receiver = await startEcho();
    opened.push(receiver);
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['sms.sent', 'sms.failed'] },
    });
    const own = `${SECRET} ${account.accountId}`;
    const id = await send({ to: '0700123456,0700000001', message: own, idempotencyKey: 'parcel-1' });
    await sql.query(
      `INSERT INTO timeline_notes (id, account_id, message_id, position, at, status, detail)
       VALUES (gen_random_uuid(), $1, $2, 0, now(), 'pending', $3)`,
      [account.accountId, id, `the carrier did not like "${own}"`],
    );
    await eventually(async () => {
      const rows = await sql.query(
        `SELECT status FROM webhook_deliveries d JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq
         WHERE message_id = $1`,
        [id],
      );
      return rows.length === 2 && rows.every(({ status }) => status === 'success');
    });
    await sql.query('UPDATE recipients SET error_message = $2 WHERE message_id = $1 AND position = 1', [
      id,
      own,
    ]);
    await sql.query(
      `UPDATE events SET body = replace(body, '"error":"', '"error":"' || $2) WHERE message_id = $1 AND type = 'sms.failed'`,
      [id, own],
    );
    expect(await tablesWith(own)).toEqual(
      expect.arrayContaining([
        'public.messages',
        'public.recipients',
        'public.timeline_notes',
        'public.events',
        'public.webhook_deliveries',
        'public.idempotency_records',
      ]),
    );
    // The delivery report may still be on its way.
    await settled(id, 'delivered');
    const before = (await get(id)).body;
    const feed = async () =>
      (await gateway.call('GET', '/developers/events', { key: account.key })).body.data as {
        event: string;
        data: object;
      }[];
    const told = await feed();

    await keep(2, null);
    await roundAfter(1.9);
    expect((await get(id)).body).toEqual(before);
    // Idempotency records expire by PostgreSQL's clock, and not by the time of the round. Make them older.
    await sql.query(`UPDATE idempotency_records SET expires_at = expires_at - interval '2 days'`);
    await roundAfter(2.1);
    expect(await tablesWith(own)).toEqual([]);

    const after = (await get(id)).body;
    expect(after).toMatchObject({ id, content: '', to: before.to, cost: before.cost, status: before.status });
    expect((await history()).pagination.total).toBe(1);
    // The events stay in the feed, without the text. Their JSON members keep their order.
    const stillTold = await feed();
    expect(stillTold).toHaveLength(told.length);
    stillTold.forEach((event, index) => {
      expect(event).toMatchObject({ event: told[index]?.event, data: { message: '' } });
      expect(Object.keys(event.data)).toEqual(Object.keys(told[index]?.data ?? {}));
    });
    expect(stillTold[0]?.data).toMatchObject({
      to: expect.stringMatching(/^\+256700/),
      from: expect.any(String),
    });
  });

  it('skips messages in progress, and returns to them', async () => {
    const dead = await startWebhookReceiver(() => 500);
    opened.push(dead);
    const { body } = await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: dead.url, events: ['sms.sent'], maxRetries: 5 },
    });
    const first = await send();
    await eventually(() => dead.received.length > 0);
    const scheduled = await send({ scheduledFor: new Date(Date.now() + 20 * DAY_MS).toISOString() });
    const last = await send({ to: '0700000001' });
    await settled(last, 'failed');
    await keep(3, 4);
    await roundAfter(5);
    // The first message is still being delivered to the endpoint, and the second has not been sent. So both keep their
    // text. The last message is done, so it loses its text.
    expect((await get(first)).body.content).toBe(SECRET);
    expect((await get(scheduled)).body.content).toBe(SECRET);
    expect((await get(last)).body.content).toBe('');
    expect((await history()).pagination.total).toBe(3);

    await gateway.call('DELETE', `/developers/webhooks/${body.webhook.id}`, { key: account.key });
    await eventually(async () => {
      const open = await sql.query(
        `SELECT 1 FROM webhook_deliveries WHERE account_id = $1 AND status IN ('pending', 'retrying')`,
        [account.accountId],
      );
      return open.length === 0;
    });
    await roundAfter(5);
    expect((await get(first)).status).toBe(404);
    expect((await get(scheduled)).body.content).toBe(SECRET);
    expect((await history()).pagination.total).toBe(2);

    await gateway.call('DELETE', `/developers/messages/${scheduled}`, { key: account.key });
    await roundAfter(5);
    expect((await history()).pagination.total).toBe(0);
    await checkLedger(sql, account.accountId);
  });

  it('deletes the oldest messages; histories and lists show the rest; the ledger stays', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 7; index++) {
      ids.push(await send({ message: `number ${index}` }, index % 2 ? account.sandboxKey : account.key));
    }
    for (const [index, id] of ids.entries()) await settled(id, index % 2 ? 'sent' : 'delivered');
    const entries = await sql.query('SELECT * FROM ledger_entries WHERE account_id = $1', [
      account.accountId,
    ]);
    const usage = 'query { usage { totals { messages } } }';
    const used = async () => (await graphql(gateway, usage, { token: await signIn(gateway, account) })).text;
    const usedBefore = await used();
    // Make the first four messages ten days older than the others.
    await sql.query(
      `UPDATE messages SET created_at = created_at - interval '10 days' WHERE account_id = $1 AND seq <= 4`,
      [account.accountId],
    );
    await keep(null, 5);
    await roundAfter(0);

    const left = ids.slice(4).reverse();
    expect((await get(ids[3] ?? '')).status).toBe(404);
    const page = async (query: string) => {
      const { data, pagination } = await history(query);
      return { ids: data.map(({ id }: { id: string }) => id), total: pagination.total };
    };
    expect(await page('limit=2')).toEqual({ ids: left.slice(0, 2), total: 3 });
    expect(await page('limit=2&page=2')).toEqual({ ids: left.slice(2), total: 3 });
    expect(await page('limit=2&page=3')).toEqual({ ids: [], total: 3 });
    expect((await page('environment=production')).total).toBe(2);
    const from = new Date(Date.now() - 20 * DAY_MS).toISOString();
    const until = new Date(Date.now() - DAY_MS).toISOString();
    expect(await page(`from=${from}`)).toEqual({ ids: left, total: 3 });
    expect(await page(`until=${until}`)).toEqual({ ids: [], total: 0 });
    const list = await graphql(
      gateway,
      'query { messages(first: 2) { totalCount nodes { id } pageInfo { hasNextPage } } }',
      { token: await signIn(gateway, account) },
    );
    expect(list.body.data.messages).toEqual({
      totalCount: 3,
      nodes: left.slice(0, 2).map((id) => ({ id })),
      pageInfo: { hasNextPage: true },
    });
    const speaking = await sql.query('SELECT 1 FROM events WHERE message_id = ANY($1::uuid[])', [
      ids.slice(0, 4),
    ]);
    expect(speaking).toEqual([]);
    expect(
      await sql.query('SELECT * FROM ledger_entries WHERE account_id = $1', [account.accountId]),
    ).toEqual(entries);
    await checkLedger(sql, account.accountId);
    expect(await used()).toBe(usedBefore);

    // The numbers of later messages continue where the deleted ones ended.
    const next = await send();
    expect((await page('limit=1')).ids).toEqual([next]);
    // Wait until the message has ended. Otherwise the round would skip it.
    await settled(next, 'delivered');
    await roundAfter(6);
    expect((await page('')).ids).toEqual([]);
  });

  it('never waits for a row that a send or a report locks, and delays no send', async () => {
    const ids = [await send(), await send(), await send()];
    for (const id of ids) await settled(id, 'delivered');
    await keep(1, 1);
    await using holder = await openSql(gateway.database);
    await holder.query('BEGIN');
    await holder.query('SELECT FROM messages WHERE id = $1 FOR NO KEY UPDATE', [ids[1]]);
    await holder.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [account.accountId]);
    await roundAfter(2);
    expect((await history()).pagination.total).toBe(2);
    await holder.query('ROLLBACK');
    await roundAfter(2);
    expect((await history()).pagination.total).toBe(0);
  });

  it('in two processes at once deletes each of many messages once, while sends continue', async () => {
    await Promise.all(Array.from({ length: 450 }, () => send({}, account.sandboxKey)));
    await keep(1, 1);
    const during = send();
    await Promise.all([roundAfter(2), roundAfter(2), roundAfter(2)]);
    // The round treats this message as old, too. It is deleted as soon as it is delivered.
    const sent = await during;
    await eventually(async () => {
      const { status, body } = await get(sent);
      return status === 404 || body.status === 'delivered';
    });
    // A round skips messages in progress, and the next round deletes them.
    await eventually(async () => {
      await roundAfter(2);
      return (await history()).pagination.total === 0;
    });
    const [row] = await sql.query('SELECT count(*)::int AS count FROM messages WHERE account_id = $1', [
      account.accountId,
    ]);
    expect(row.count).toBe(0);
    await checkLedger(sql, account.accountId);
  });

  it('deletes sids and reports that can no longer match', async () => {
    const id = await send();
    await settled(id, 'delivered');
    const scheduled = await send({ scheduledFor: new Date(Date.now() + 20 * DAY_MS).toISOString() });
    await sql.query(
      `INSERT INTO provider_sids (provider, sid_key, message_id, position) VALUES ('x', 'later', $1, 0)`,
      [scheduled],
    );
    await gateway.parts.reports.take('x', [{ sid: 'nobody-knows', status: 'delivered' }]);
    const counts = async () => {
      const [sids] = await sql.query(
        'SELECT count(*)::int AS n FROM provider_sids WHERE message_id = ANY($1::uuid[])',
        [[id, scheduled]],
      );
      const [reports] = await sql.query(
        `SELECT count(*)::int AS n FROM unmatched_reports WHERE sid = 'nobody-knows'`,
      );
      return [sids.n, reports.n];
    };
    await roundAfter(6.9);
    expect(await counts()).toEqual([2, 1]);
    await roundAfter(7.1);
    expect(await counts()).toEqual([1, 0]);
    await roundAfter(26.9);
    expect(await counts()).toEqual([1, 0]);
    await roundAfter(27.1);
    expect(await counts()).toEqual([0, 0]);
  });

  it('deletes the record that a message was the last one to a WhatsApp number', async () => {
    const to = '+256700777123';
    const body = { to, type: 'template', template: { name: 'hello', language: 'en' } };
    const sent = await gateway.call('POST', '/developers/whatsapp', { key: account.key, body });
    const writers = () => sql.query('SELECT account_id FROM whatsapp_writers WHERE number = $1', [to]);
    await settled(sent.body.id, 'delivered');
    expect(await writers()).toEqual([{ account_id: account.accountId }]);
    await keep(null, 1);
    await roundAfter(2);
    expect(await writers()).toEqual([]);
  });

  it('erases and deletes inbound messages in the same time, and those of no account after 7 days (R257)', async () => {
    const other = await gateway.createAccount();
    const inbound = (sender: string, accountId: string | null, ageDays: number) => ({
      id: randomUUID(),
      accountId,
      channel: 'whatsapp' as const,
      provider: 'whatsapp:1',
      sid: `wamid.${sender}.${ageDays}`,
      sender,
      type: 'text',
      content: `${SECRET} from ${sender}`,
      sentAt: new Date(Date.now() - ageDays * DAY_MS),
      receivedAt: new Date(),
    });
    const [own, others, nobodys] = ['+256700900001', '+256700900002', '+256700900003'];
    await gateway.parts.stores.inbound.add([
      ...[0.5, 3, 6].map((age) => inbound(own, account.accountId, age)),
      inbound(others, other.accountId, 400),
      ...[6.9, 7.1].map((age) => inbound(nobodys, null, age)),
    ]);
    const left = async (sender: string) =>
      (
        await sql.query(
          'SELECT content IS NULL AS erased FROM inbound_messages WHERE sender = $1 ORDER BY sent_at',
          [sender],
        )
      ).map(({ erased }) => (erased ? 'erased' : 'whole'));
    await roundAfter(0);
    expect(await left(own)).toEqual(['whole', 'whole', 'whole']);
    expect(await left(nobodys)).toEqual(['whole']);
    await keep(2, 5);
    await roundAfter(0);
    expect(await left(own)).toEqual(['erased', 'whole']);
    await roundAfter(3);
    expect(await left(own)).toEqual(['erased']);
    await keep(null, 5);
    await roundAfter(5);
    expect(await left(own)).toEqual([]);
    expect(await left(others)).toEqual(['whole']);
    expect(await tablesWith(`${SECRET} from ${own}`)).toEqual([]);
  });

  it('is set by owners and operators, validated, and audited with the old value', async () => {
    const set = gateway.parts.operations.accounts.setRetention;
    const { accountId } = account;
    await keep(30, 90);
    const owner = {
      kind: 'member',
      accountId,
      userId: '01900000-0000-7000-8000-000000000001',
      role: 'OWNER',
    } as const;
    await set.run(owner, { contentDays: 7, messageDays: null });
    const audited = await sql.query(
      `SELECT actor, before, after FROM audit_entries WHERE account_id = $1 AND action = 'account.setRetention' ORDER BY id`,
      [accountId],
    );
    expect(audited).toEqual([
      {
        actor: 'system:test',
        before: { contentDays: null, messageDays: null },
        after: { contentDays: 30, messageDays: 90 },
      },
      {
        actor: `user:${owner.userId}`,
        before: { contentDays: 30, messageDays: 90 },
        after: { contentDays: 7, messageDays: null },
      },
    ]);
    const mutation = 'mutation { setRetention(contentDays: 9) { contentDays messageDays } }';
    const answer = await graphql(gateway, mutation, { token: await signIn(gateway, account) });
    expect(answer.body).toEqual({ data: { setRetention: { contentDays: 9, messageDays: null } } });
    const other = await gateway.createAccount();
    const refused = (input: Parameters<typeof set.run>[1], caller: Parameters<typeof set.run>[0] = owner) =>
      set.run(caller, input).catch((error) => error.code);
    expect(await refused({ accountId: other.accountId, contentDays: 1, messageDays: 1 })).toBe('not_found');
    expect(await refused({ contentDays: 1, messageDays: 1 }, { ...owner, role: 'ADMIN' })).toBe('forbidden');
    expect(await refused({ contentDays: 1, messageDays: 1 }, OPERATOR)).toBe('validation_error');
    for (const [contentDays, messageDays] of [
      [2, 1],
      [0, null],
      [1.5, 3],
      [null, 36_501],
    ] as const) {
      expect(await refused({ contentDays, messageDays })).toBe('validation_error');
    }
  });
});
