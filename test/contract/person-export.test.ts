import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IMPERSONAL_TABLES, PERSONAL_TABLES } from '../../src/storage/stores/personal-tables.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn, signInOperator } from '../support/graphql.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ANN = '+256700000931';
const MAIL = 'ann.okello@example.com';
const BEN = '+256700000932';
/** Words that only this person's data has. */
const MARKS = [ANN.slice(4), MAIL, 'Okello', 'ann-okello', 'tok-okello'];
/** Above each number of rows that one transaction or one part has. */
const MANY = 1_200;

interface Part {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the export holds
  readonly recipient: any;
  readonly nextAfter: string | null;
}

describe('the export of a person', () => {
  let smsc: Smsc;
  let mails: MailServer;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let sql: TestSql;
  /** Every part of the export, before the erasure. */
  let parts: Part[];
  let alone: string;
  let shared: string;
  beforeAll(async () => {
    smsc = await startSmsc();
    mails = await startMailServer();
    // The endpoint fails once, so that a delivery has two attempts.
    receiver = await startWebhookReceiver((_, count) => (count === 1 ? 503 : 200));
    gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}`, EMAIL_URL: mails.url });
    account = await gateway.createAccount(10_000_000);
    token = await signIn(gateway, account);
    sql = await openSql(gateway.database);
    await fill();
    parts = await exported(ANN);
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
    await receiver?.stop();
    await mails?.stop();
    await smsc?.stop();
  });

  const call = (method: string, path: string, body?: object, key = account.key) =>
    gateway.call(method, path, { key, ...(body ? { body } : {}) });
  const made = async (path: string, body: object) => {
    const { status, body: answer } = await call('POST', path, body);
    expect({ path, status, isMade: status === 200 || status === 201 }).toMatchObject({ isMade: true });
    return answer;
  };
  const at = (address: string, query = '') => `/developers/recipients/${encodeURIComponent(address)}${query}`;
  async function exported(address: string): Promise<Part[]> {
    const all: Part[] = [];
    for (let after: string | null = ''; after !== null; after = all.at(-1)?.nextAfter ?? null) {
      const { status, body } = await call('GET', at(address, after && `?after=${after}`));
      expect(status).toBe(200);
      all.push(body);
    }
    return all;
  }
  const messageIn = (all: readonly Part[], id: string) =>
    all.flatMap(({ recipient }) => recipient.messages).find((message) => message.id === id);
  const settled = (id: string) =>
    eventually(async () => (await call('GET', `/developers/messages/${id}`)).body.status !== 'pending');

  /** Puts the person into every place that has one. */
  async function fill(): Promise<void> {
    const { accountId } = account;
    const limit =
      'mutation ($a: ID!, $i: AccountLimitsInput!) { setAccountLimits(accountId: $a, input: $i) { keyId } }';
    const limited = await graphql(gateway, limit, {
      token: await signInOperator(gateway),
      variables: { a: accountId, i: { perNumberPerHour: 100_000 } },
    });
    expect(limited.body.errors).toBeUndefined();
    await made('/developers/contacts', {
      phone: ANN,
      email: MAIL,
      name: 'Ann Okello',
      externalId: 'ann-okello',
    });
    for (const [userId, name] of [
      ['ann-okello', 'tok-okello'],
      ['ben', 'tok-ben'],
    ])
      await made('/developers/push/devices', { token: name, platform: 'android', userId });
    const events = ['sms.sent', 'email.sent', 'push.sent', 'push.failed', 'push.partial'];
    await made('/developers/webhooks', { url: receiver.url, events, maxRetries: 5 });
    alone = (await made('/developers/sms', { to: ANN, message: 'Dear Ann Okello', idempotencyKey: 'k1' })).id;
    shared = (await made('/developers/sms', { to: `${ANN},${BEN}`, message: 'To both' })).id;
    const mail = await made('/developers/email', {
      to: [MAIL, 'ben@example.com'],
      subject: 'Hi',
      text: 'Hello both',
    });
    const push = await made('/developers/push', { to: ['ann-okello', 'ben'], title: 'Hi', body: 'Hello' });
    await made('/developers/suppressions', {
      channel: 'whatsapp',
      address: ANN,
      scope: 'all',
      reason: 'Okello',
    });
    const csv = `phone,email,name\n0700000931x,not an address,Ann Okello\n`;
    const importing = 'mutation ($csv: String!) { importContacts(csv: $csv) { id } }';
    await graphql(gateway, importing, { token, variables: { csv } });
    // What only a carrier's callbacks, a review or a second process would make.
    await sql.query(
      `INSERT INTO inbound_messages (id, sent_at, received_at, channel, provider, sid, sender, type, content, account_id)
       SELECT gen_random_uuid(), now(), now(), 'whatsapp', 'p', 's' || n, $1, 'text', 'From Okello ' || n, $2
       FROM generate_series(1, ${MANY}) n`,
      [ANN, accountId],
    );
    await sql.query(
      `INSERT INTO devices (id, account_id, created_at, updated_at, platform, user_id, token, environment)
       SELECT gen_random_uuid(), $1, now(), now(), 'ios', 'ann-okello', 'tok-okello-' || n, 'sandbox'
       FROM generate_series(1, ${MANY}) n`,
      [accountId],
    );
    for (const id of [alone, shared, mail.id, push.id]) await settled(id);
    await eventually(() => receiver.received.length >= 6);
    await eventually(async () => {
      const [row] = await sql.query(
        "SELECT count(*)::int AS open FROM webhook_deliveries WHERE status IN ('pending', 'retrying')",
      );
      return row.open === 0;
    });
    await eventually(async () => (await sql.query('SELECT 1 FROM contact_import_faults')).length > 0);
    await eventually(
      async () => (await sql.query('SELECT 1 FROM api_requests WHERE message_id = $1', [alone])).length > 0,
    );
    const [sid] = await sql.query('SELECT provider, sid_key FROM provider_sids WHERE message_id = $1', [
      alone,
    ]);
    await sql.query(
      `INSERT INTO unmatched_reports (id, provider, sid, sid_keys, report, received_at)
       VALUES ($1, $2, 'x', ARRAY[$3::text], $4, now() - interval '2 days')`,
      [randomUUID(), sid.provider, sid.sid_key, { to: ANN, status: 'delivered' }],
    );
    await sql.query(
      `INSERT INTO held_reviews (message_id, account_id, held_at, decided_at, cost_minor, block, decision, costs, routes)
       VALUES ($1, $2, now(), now(), 30, $3, 'released', '{30}', '{*}')`,
      [alone, accountId, ANN.slice(0, -3)],
    );
    await sql.query(
      'INSERT INTO pumping_numbers (account_id, seen_at, block, ending) VALUES ($1, now(), $2, $3)',
      [accountId, ANN.slice(0, -3), ANN.slice(-3)],
    );
    await sql.query(
      `INSERT INTO sms_writers (account_id, wrote_at, number_hash, sender)
       VALUES ($1, now() - interval '1 year', sha256(convert_to($2, 'UTF8')), 'SHOP')`,
      [accountId, ANN],
    );
    await sql.query(
      `INSERT INTO past_whatsapp_writers (account_id, wrote_at, number_hash)
       VALUES ($1, now() - interval '1 year', sha256(convert_to($2, 'UTF8')))`,
      [accountId, ANN],
    );
    await sql.query(
      'INSERT INTO whatsapp_writers (number, account_id, message_id, wrote_at) VALUES ($1, $2, $3, now())',
      [ANN, accountId, alone],
    );
  }

  /** Returns the tables of the whole database that contain one of the person's words. */
  async function tablesOfPerson(): Promise<string[]> {
    const tables = await sql.query(
      `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
       WHERE table_schema IN ('public', 'pgboss') AND table_type = 'BASE TABLE'`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const [row] = await sql.query(
        `SELECT EXISTS (SELECT FROM ${name} t, unnest($1::text[]) AS m WHERE strpos(lower(t::text), lower(m)) > 0) AS has`,
        [MARKS],
      );
      if (row.has) found.push(name.replace('public.', ''));
    }
    return found.sort();
  }

  it('has each message with what belongs to it: recipients, events, deliveries and attempts, reports, review, request (R493)', () => {
    const messages = parts.flatMap(({ recipient }) => recipient.messages);
    expect(messages.map(({ channel }) => channel).sort()).toEqual(['email', 'push', 'sms', 'sms']);
    const one = messages.find(({ id }) => id === alone);
    expect(one).toMatchObject({
      to: [ANN],
      content: 'Dear Ann Okello',
      recipients: [{ to: ANN, status: 'sent', sid: expect.any(String) }],
      review: { block: ANN.slice(0, -3), decision: 'released' },
      lateReports: [{ report: { to: ANN, status: 'delivered' } }],
      events: [{ event: 'sms.sent', data: { to: ANN } }],
      webhookDeliveries: [{ event: 'sms.sent', status: 'success', responseBody: 'ok' }],
      request: { method: 'POST', path: '/api/v1/developers/sms', idempotencyKey: 'k1' },
    });
    const attempts = messages.flatMap(({ webhookDeliveries }) =>
      webhookDeliveries.map((delivery: { attempts: { httpStatus: number }[] }) =>
        delivery.attempts.map(({ httpStatus }) => httpStatus),
      ),
    );
    // Which delivery was the first at the endpoint is not certain.
    expect(attempts.flat().filter((status) => status === 503).length).toBeLessThanOrEqual(1);
    expect(attempts.every((statuses) => statuses.at(-1) === 200)).toBe(true);
  });

  it('has a push message with its event, which names no other user (R493)', () => {
    const push = parts
      .flatMap(({ recipient }) => recipient.messages)
      .find(({ channel }) => channel === 'push');
    expect(push).toMatchObject({
      to: ['ann-okello'],
      recipients: [{ to: expect.stringMatching(/^android:/) }],
      events: [{ data: { to: ['ann-okello', 'other recipient'] } }],
    });
    expect(push.webhookDeliveries[0]).not.toHaveProperty('responseBody');
  });

  it('has contacts, suppressions, numbers, cells of imports, and all devices and inbound messages in parts (R493)', () => {
    const [first] = parts;
    expect(first?.recipient).toMatchObject({
      contacts: [{ name: 'Ann Okello', externalId: 'ann-okello' }],
      suppressions: [{ channel: 'whatsapp', address: ANN, reason: 'Okello', isHashed: false }],
      numbers: [
        {
          address: ANN,
          countedAt: expect.any(String),
          whatsAppAt: expect.any(String),
          smsBefore: [{ sender: 'SHOP', wroteAt: expect.any(String) }],
        },
      ],
      importFaults: expect.arrayContaining([
        expect.objectContaining({ column: 'email', value: 'not an address' }),
      ]),
      erasures: [],
    });
    expect(first?.recipient.numbers[0].limited).toEqual([{ hour: expect.any(String), messages: 2 }]);
    const all = (name: string) => parts.flatMap(({ recipient }) => recipient[name] ?? []);
    expect(new Set(all('inboundMessages').map(({ content }) => content)).size).toBe(MANY);
    expect(new Set(all('devices').map(({ token: each }) => each)).size).toBe(MANY + 1);
    expect(all('devices')).toContainEqual(
      expect.objectContaining({ token: 'tok-okello', platform: 'android', keys: null }),
    );
    expect(all('inboundMessages')).toHaveLength(MANY);
  });

  it('names nobody else (R493)', () => {
    const text = JSON.stringify(parts);
    for (const other of [BEN, BEN.slice(1), 'ben@example.com', '"ben"', 'tok-ben'])
      expect(text).not.toContain(other);
  });

  it('reads only what is about the person, so that what others got leaves nothing of it out (R493)', async () => {
    const before = messageIn(parts, shared).webhookDeliveries;
    expect(before).toHaveLength(1);
    // What 10,000 other recipients of the message got at ten endpoints.
    const far = 1_000_000_000;
    await sql.query(
      `INSERT INTO events (account_id, seq, message_id, recorded_at, position, type, body)
       SELECT $1, ${far} + n, $2, now(), 10 + n, 'sms.sent', '{}' FROM generate_series(1, 10000) n`,
      [account.accountId, shared],
    );
    await sql.query(
      `INSERT INTO webhook_deliveries (id, account_id, event_seq, webhook_id, event, status, attempts, created_at)
       SELECT ('00000000-0000-7000-8000-' || lpad((n * 10 + w)::text, 12, '0'))::uuid, $1, ${far} + n,
         ('00000000-0000-7000-9000-' || lpad(w::text, 12, '0'))::uuid, 'sms.sent', 'success', 1, now()
       FROM generate_series(1, 10000) n, generate_series(0, 9) w`,
      [account.accountId],
    );
    expect(messageIn(await exported(ANN), shared).webhookDeliveries).toEqual(before);
    await sql.query(`DELETE FROM events WHERE seq > ${far}`);
  });

  it('refuses a place that no part named (R493)', async () => {
    for (const after of ['x:1', 'd:1', 'i:0190c3e2-5b1f-7c44-9d0e', 'e:x']) {
      expect((await call('GET', at(ANN, `?after=${after}`))).status).toBe(400);
    }
  });

  it('every table is one that erasure and export know, or is named with the reason why it has no recipient (R495)', async () => {
    const rows = await sql.query(
      "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    );
    const named = [...Object.keys(PERSONAL_TABLES), ...Object.keys(IMPERSONAL_TABLES)];
    expect(named.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  });

  it('each table that has the person is known as such, and none has after the erasure, however many rows (R491, R495)', async () => {
    const before = await tablesOfPerson();
    expect(before.filter((name) => !(name in PERSONAL_TABLES))).toEqual([]);
    expect(before).toEqual(
      expect.arrayContaining(['contact_import_faults', 'devices', 'inbound_messages', 'send_limit_numbers']),
    );
    const begun = await call('DELETE', at(ANN, '?reason=letter'));
    expect(begun.status).toBe(202);
    const { id } = begun.body.erasure;
    // Counts of a limit stay until the hour is over.
    await sql.query("UPDATE send_limit_numbers SET hour = hour - interval '1 hour'");
    const erasure = await eventually(async () => {
      await sql.query('UPDATE erasures SET retry_at = now() WHERE done_at IS NULL');
      const { body } = await call('GET', `/developers/erasures/${id}`);
      return body.erasure.doneAt !== null && body.erasure;
    });
    expect(erasure.erased).toMatchObject({
      inboundMessages: MANY,
      devices: MANY + 1,
      numberCounts: 1,
      reports: 1,
    });
    expect(await tablesOfPerson()).toEqual([]);
    const [review] = await sql.query('SELECT block FROM held_reviews WHERE message_id = $1', [alone]);
    expect(review).toEqual({ block: '' });
  });

  it('shows an erased person that a suppression is left, and the receipts (R492, R493)', async () => {
    const [part, ...more] = await exported(ANN);
    expect(more).toEqual([]);
    expect(part?.recipient).toMatchObject({
      messages: [],
      contacts: [],
      devices: [],
      inboundMessages: [],
      importFaults: [],
      numbers: [{ address: ANN, limited: [], countedAt: null, whatsAppAt: null, smsBefore: [] }],
      suppressions: [{ channel: 'whatsapp', address: ANN, scope: 'all', reason: null, isHashed: true }],
      erasures: [{ kind: 'phone', reason: 'letter' }],
    });
  });
});
