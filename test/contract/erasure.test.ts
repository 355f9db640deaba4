import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { openSql } from '../support/sql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** Every text and number of this person in the tests. Nothing of it may stay in the database. */
const ANN = '+256700000901';
const MAIL = 'ann.nabirye@example.com';
const BEN = '+256700000902';

describe('erasure of a person', () => {
  let smsc: Smsc;
  let mails: MailServer;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  let stranger: TestAccount;
  let token: string;
  beforeAll(async () => {
    smsc = await startSmsc();
    mails = await startMailServer();
    receiver = await startWebhookReceiver();
    const settings = { SMS_ROUTES: `*=${smsc.url}`, EMAIL_URL: mails.url };
    gateway = await startTestGateway(settings);
    other = await startTestGateway({ ...settings, ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
    stranger = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
    await receiver?.stop();
    await mails?.stop();
    await smsc?.stop();
  });

  const call = (method: string, path: string, body?: object, key = account.key, at = gateway) =>
    at.call(method, path, { key, ...(body ? { body } : {}) });
  const at = (address: string, query = '') => `/developers/recipients/${encodeURIComponent(address)}${query}`;
  const erase = (address: string, key = account.key, more = '') =>
    call('DELETE', at(address, `?reason=Asked%20by%20letter${more}`), undefined, key);
  const done = async (id: string, key = account.key) => {
    let erasure = (await call('GET', `/developers/erasures/${id}`, undefined, key)).body.erasure;
    await eventually(async () => {
      erasure = (await call('GET', `/developers/erasures/${id}`, undefined, key)).body.erasure;
      return erasure.doneAt !== null;
    });
    return erasure;
  };
  const send = async (path: string, body: object, key = account.key) => {
    const sent = await call('POST', path, body, key);
    expect(sent.status).toBe(200);
    await eventually(
      async () =>
        (await call('GET', `/developers/messages/${sent.body.id}`, undefined, key)).body.status !== 'pending',
    );
    return sent.body.id as string;
  };
  const sms = (to: string, message: string, more: object = {}, key = account.key) =>
    send('/developers/sms', { to, message, ...more }, key);
  const message = async (id: string) => (await call('GET', `/developers/messages/${id}`)).body;

  /** Writes an SMS to the gateway. Resolves with the status that the carrier gets. */
  const sayFrom = (number: string, text: string) => {
    const answered = Promise.withResolvers<number>();
    const fields = { source_addr_ton: 1, source_addr: number.slice(1), destination_addr: 'SERVICE' };
    smsc.send('deliver_sm', { ...fields, short_message: Buffer.from(text) }, ({ command_status: status }) =>
      answered.resolve(status),
    );
    return answered.promise;
  };

  /** Returns the tables of the whole database that contain a text, the audit log and all others. */
  const tablesWith = async (text: string) => {
    await using sql = await openSql(gateway.database);
    const tables = await sql.query(
      `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
       WHERE table_schema IN ('public', 'pgboss') AND table_type = 'BASE TABLE'`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const [row] = await sql.query(
        `SELECT count(*)::int AS count FROM ${name} t WHERE strpos(lower(t::text), lower($1)) > 0`,
        [text],
      );
      if (row.count > 0) found.push(name);
    }
    return found.sort();
  };

  it('leaves nothing of the person in any table, and money, counts and the audit chain right (R490, R491)', async () => {
    const secret = 'Dear Ann Nabirye, code 7431';
    await call('POST', '/developers/contacts', {
      phone: ANN,
      email: MAIL,
      name: 'Ann Nabirye',
      externalId: 'ann-1',
    });
    await call('POST', '/developers/push/devices', {
      token: 'tok-of-ann',
      platform: 'android',
      userId: 'ann-1',
    });
    const hook = { url: receiver.url, events: ['sms.sent', 'email.sent'] };
    expect((await call('POST', '/developers/webhooks', hook)).status).toBe(201);
    const alone = await sms(ANN, secret, { idempotencyKey: 'first' });
    const shared = await sms(`${ANN},${BEN}`, 'To all members');
    const mail = await send('/developers/email', { to: MAIL.toUpperCase(), subject: secret, text: secret });
    const copied = await send('/developers/email', {
      to: 'ben@example.com',
      cc: [MAIL],
      subject: 'To both',
      text: 'To both of you',
    });
    await call('POST', '/developers/suppressions', {
      channel: 'email',
      address: MAIL,
      scope: 'all',
      reason: secret,
    });
    const csv = `phone,email,name\n0700000901,not an address,Ann Nabirye\n0700000901x,${MAIL},Ann Nabirye\n`;
    const importing = 'mutation ($csv: String!) { importContacts(csv: $csv) { id } }';
    expect((await graphql(gateway, importing, { token, variables: { csv } })).body.errors).toBeUndefined();
    await eventually(async () => receiver.received.length >= 5);
    const before = (await call('GET', '/account')).body;
    const history = (await call('GET', '/developers/sms/history')).body.pagination.total;

    const begun = await erase(ANN);
    expect(begun.status).toBe(202);
    expect(begun.body.erasure).toMatchObject({
      environment: null,
      kind: 'phone',
      reason: 'Asked by letter',
      doneAt: null,
      doneAuditSequence: null,
    });
    const receipt = await done(begun.body.erasure.id);
    expect(receipt.erased).toMatchObject({
      messages: 4,
      texts: 2,
      recipients: 3,
      contacts: 1,
      devices: 1,
      suppressions: 1,
    });
    expect(receipt.erased.answers).toBe(1);

    for (const text of [ANN, ANN.slice(1), MAIL, secret, 'Nabirye', 'tok-of-ann', 'ann-1']) {
      expect([text, await tablesWith(text)]).toEqual([text, []]);
    }
    expect(await message(alone)).toMatchObject({ to: ['erased'], content: '', sid: null, cost: 30 });
    expect(await message(shared)).toMatchObject({ to: ['erased', BEN], content: 'To all members', cost: 60 });
    expect(await message(mail)).toMatchObject({ to: ['erased'], subject: '', content: '' });
    expect(await message(copied)).toMatchObject({ to: ['ben@example.com'], subject: 'To both' });
    expect((await call('GET', '/account')).body).toEqual(before);
    expect((await call('GET', '/developers/sms/history')).body.pagination.total).toBe(history);
    const again = await call('POST', '/developers/sms', { to: BEN, message: 'x', idempotencyKey: 'first' });
    expect(again.body).toMatchObject({ id: alone, to: ['erased'], content: '' });
    const feed = JSON.stringify((await call('GET', '/developers/events')).body);
    expect(feed).not.toContain(ANN);
    expect(feed).toContain(BEN);
    await using sql = await openSql(gateway.database);
    const kept = await sql.query('SELECT address, reason FROM suppressions WHERE account_id = $1', [
      account.accountId,
    ]);
    expect(kept).toEqual([{ address: expect.stringMatching(/^erased:[\w-]{22}$/), reason: null }]);
    expect(await gateway.parts.checkLedgers()).toBe(0);
  });

  it('answers a receipt with the position of both audit entries, which have no address (R490)', async () => {
    const [erasure] = (await call('GET', '/developers/erasures')).body.data;
    const query = `{ erasures(first: 5) { nodes { id kind reason doneAt auditSequence doneAuditSequence
        erased { messages texts } } totalCount }
      auditLog(first: 20) { nodes { action target { id } before after } } }`;
    const { data } = (await graphql(gateway, query, { token })).body;
    expect(data.erasures).toMatchObject({
      totalCount: 1,
      nodes: [
        {
          id: erasure.id,
          kind: 'PHONE',
          auditSequence: erasure.auditSequence,
          erased: { messages: 4, texts: 2 },
        },
      ],
    });
    expect(erasure.doneAuditSequence).toBeGreaterThan(erasure.auditSequence);
    const entries = data.auditLog.nodes.filter(
      ({ target }: { target: { id: string } }) => target.id === erasure.id,
    );
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'recipient.erased',
      'recipient.erase',
    ]);
    expect(JSON.stringify(entries)).not.toContain('700000901');
    const chained = await gateway.parts.stores.audit.chainedAfter(erasure.auditSequence - 1, 1);
    expect(chained[0]?.entry).toMatchObject({ action: 'recipient.erase', target: erasure.id });
  });

  it('keeps a suppression as a hash that holds in every process, and START takes it back (R492)', async () => {
    const mail = { to: MAIL, subject: 'Hello', text: 'Hello' };
    for (const at of [gateway, other]) {
      const refused = await call('POST', '/developers/email', mail, account.key, at);
      expect([refused.status, refused.body.error?.code]).toEqual([400, 'all_recipients_suppressed']);
    }
    const listed = await call('GET', `/developers/suppressions?address=${MAIL}`);
    expect(listed.body.data).toHaveLength(1);
    const csv = await gateway.call('GET', '/developers/suppressions/export', { key: account.key });
    expect(csv.text).not.toContain('erased');
    expect((await call('DELETE', `/developers/suppressions/${listed.body.data[0].id}`)).status).toBe(200);
    expect((await call('POST', '/developers/email', mail)).status).toBe(200);
  });

  it('is refused while a message to the person has not left, naming how many (R490)', async () => {
    const number = '+256700000903';
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const body = { to: number, message: 'Later', scheduledFor: later };
    const { id } = (await call('POST', '/developers/sms', body)).body;
    const refused = await erase(number);
    expect([refused.status, refused.body.error]).toMatchObject([
      409,
      { code: 'recipient_has_pending_messages', details: { pending: 1 } },
    ]);
    const mutation = `mutation { eraseRecipient(address: "${number}", reason: "x") { id } }`;
    expect(codesOf(await graphql(gateway, mutation, { token }))).toEqual(['RECIPIENT_HAS_PENDING_MESSAGES']);
    expect((await call('DELETE', `/developers/messages/${id}`)).status).toBe(200);
    expect((await done((await erase(number)).body.erasure.id)).erased).toMatchObject({
      messages: 1,
      recipients: 1,
    });
  });

  it('binds no other account, and is asked for once while it is under way (R490)', async () => {
    const number = '+256700000904';
    const theirs = await sms(number, 'From a stranger', {}, stranger.key);
    await sms(number, 'From us');
    const [one, two] = await Promise.all([erase(number), erase('0700 000 904')]);
    expect([one.status, two.status]).toEqual([202, 202]);
    await done(one.body.erasure.id);
    await done(two.body.erasure.id);
    const kept = await call('GET', `/developers/messages/${theirs}`, undefined, stranger.key);
    expect(kept.body).toMatchObject({ to: [number], content: 'From a stranger' });
    expect(
      (await call('GET', `/developers/erasures/${one.body.erasure.id}`, undefined, stranger.key)).status,
    ).toBe(404);
    // The same address has another hash in another account.
    const other = await erase(number, stranger.key);
    expect(other.body.erasure.addressHash).not.toBe(one.body.erasure.addressHash);
    await done(other.body.erasure.id, stranger.key);
  });

  it('leaves the other environment alone for a sandbox key (R490)', async () => {
    const number = '+256700000905';
    const production = await sms(number, 'Real');
    const sandbox = await sms(number, 'Trial', {}, account.sandboxKey);
    const begun = await erase(number, account.sandboxKey);
    expect(begun.body.erasure.environment).toBe('sandbox');
    await done(begun.body.erasure.id, account.sandboxKey);
    expect(await message(production)).toMatchObject({ to: [number], content: 'Real' });
    expect(await message(sandbox)).toMatchObject({ to: ['erased'], content: '' });
  });

  it('erases a user of push by id, with the devices (R490)', async () => {
    const device = { token: 'tok-of-carol', platform: 'android', userId: 'carol' };
    expect((await call('POST', '/developers/push/devices', device, account.sandboxKey)).status).toBe(201);
    const push = { to: 'carol', title: 'For Carol', body: 'Dear Carol' };
    const id = await send('/developers/push', push, account.sandboxKey);
    const begun = await erase('carol', account.sandboxKey, '&kind=user');
    const { erased } = await done(begun.body.erasure.id, account.sandboxKey);
    expect(erased).toMatchObject({ messages: 1, texts: 1, devices: 1 });
    const { body } = await call('GET', `/developers/messages/${id}`, undefined, account.sandboxKey);
    expect(body).toMatchObject({ to: ['erased'], title: '', content: '' });
    expect(await tablesWith('carol')).toEqual([]);
  });

  it('takes an email address from contacts that share it, and deletes only the person (R490)', async () => {
    const email = 'family@example.com';
    const create = async (fields: object) =>
      (await call('POST', '/developers/contacts', fields)).body.id as string;
    const one = await create({ phone: '+256700000906', email, name: 'One' });
    const two = await create({ phone: '+256700000907', email: 'Family@example.com', name: 'Two' });
    await done((await erase('0700000906')).body.erasure.id);
    expect((await call('GET', `/developers/contacts/${one}`)).status).toBe(404);
    expect((await call('GET', `/developers/contacts/${two}`)).body).toMatchObject({
      email: 'Family@example.com',
    });
    const three = await create({ phone: '+256700000908', email });
    await done((await erase(email)).body.erasure.id);
    for (const id of [two, three]) {
      expect((await call('GET', `/developers/contacts/${id}`)).body).toMatchObject({ email: null });
    }
  });

  it('exports everything of the person and nobody else, in parts (R493)', async () => {
    const number = '+256700000909';
    await call('POST', '/developers/contacts', { phone: number, name: 'Dora', email: 'dora@example.com' });
    await call('POST', '/developers/suppressions', {
      channel: 'whatsapp',
      address: number,
      scope: 'marketing',
    });
    await sms(`${number},${BEN}`, 'To both');
    await send('/developers/email', {
      to: ['Dora@example.com', 'ben@example.com'],
      subject: 'Hi',
      text: 'Text',
    });
    const parts: { recipient: Record<string, unknown[]>; nextAfter: string | null }[] = [];
    let after: string | null = '';
    while (after !== null) {
      const { status, body } = await call('GET', at(number, after && `?after=${after}`));
      expect(status).toBe(200);
      parts.push(body);
      after = body.nextAfter;
    }
    const [first] = parts;
    expect(first?.recipient).toMatchObject({
      kind: 'phone',
      address: number,
      contacts: [{ name: 'Dora', phone: number }],
      suppressions: [{ channel: 'whatsapp', scope: 'marketing' }],
      devices: [],
      inboundMessages: [],
    });
    const messages = parts.flatMap(({ recipient }) => recipient.messages);
    expect(messages).toMatchObject([
      { channel: 'sms', to: [number], content: 'To both', recipients: [{ to: number, status: 'sent' }] },
      { channel: 'email', to: ['Dora@example.com'], subject: 'Hi', body: { text: 'Text' } },
    ]);
    expect(JSON.stringify(parts)).not.toContain(BEN);
    expect(JSON.stringify(parts)).not.toContain('ben@example.com');
    const mutation = `mutation { exportRecipient(address: "${number}") { recipient nextAfter } }`;
    const { data } = (await graphql(gateway, mutation, { token })).body;
    expect(data.exportRecipient.recipient).toMatchObject({ address: number, contacts: [{ name: 'Dora' }] });
    const log = '{ auditLog(first: 3) { nodes { action before after } } }';
    const entries = (await graphql(gateway, log, { token })).body.data.auditLog.nodes;
    expect(entries[0]).toMatchObject({ action: 'recipient.export', after: { kind: 'phone' } });
    expect(JSON.stringify(entries)).not.toContain(number);
  });

  it('names the messages that have not left, so that they can be canceled (R490)', async () => {
    const number = '+256700000910';
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const ids: string[] = [];
    for (const to of [number, `${number},${BEN}`]) {
      const body = { to, message: 'Later', scheduledFor: later };
      ids.push((await call('POST', '/developers/sms', body)).body.id);
    }
    const refused = await erase(number);
    expect(refused.body.error.details).toEqual({ pending: 2, messageIds: ids });
    for (const id of refused.body.error.details.messageIds)
      expect((await call('DELETE', `/developers/messages/${id}`)).status).toBe(200);
    const receipt = await done((await erase(number)).body.erasure.id);
    expect(receipt.erased).toMatchObject({ messages: 2, texts: 1, recipients: 2 });
  });

  it('takes START of an erased person to the account that has the STOP, and STOP to those that erased the number (R496)', async () => {
    const number = '+256700000911';
    const say = (text: string) => sayFrom(number, text);
    const outcome = async (key = account.key) => {
      const { status, body } = await call('POST', '/developers/sms', { to: number, message: 'Hello' }, key);
      return status === 200 ? 'sent' : body.error.code;
    };
    const eraseInBoth = async () => {
      for (const key of [account.key, stranger.key]) {
        await eventually(async () => (await erase(number, key)).status === 202);
        await eventually(async () => {
          const { data } = (await call('GET', '/developers/erasures', undefined, key)).body;
          return data.every(({ doneAt }: { doneAt: string | null }) => doneAt !== null);
        });
      }
    };
    await sms(number, 'From a stranger', {}, stranger.key);
    await sms(number, 'From us');
    expect(await say('STOP')).toBe(0);
    await eventually(async () => (await outcome()) === 'all_recipients_suppressed');
    await eraseInBoth();
    expect(await tablesWith(number.slice(1))).toEqual([]);
    expect(await outcome()).toBe('all_recipients_suppressed');
    expect(await say('START')).toBe(0);
    // A STOP that comes now names no account, because both were erased: it is for both.
    await using sql = await openSql(gateway.database);
    const suppressed = () =>
      sql.query('SELECT account_id FROM suppressions WHERE address IN ($1, $2)', [number, BEN]);
    expect(await suppressed()).toEqual([]);
    expect(await say('STOP')).toBe(0);
    expect((await suppressed()).map((row) => row.account_id).toSorted()).toEqual(
      [account.accountId, stranger.accountId].toSorted(),
    );
    for (const key of [account.key, stranger.key])
      expect(await outcome(key)).toBe('all_recipients_suppressed');
    // Nobody knows which of several hashes a START means, so it takes back none.
    await eraseInBoth();
    expect(await suppressed()).toEqual([]);
    expect(await say('START')).toBe(0);
    for (const key of [account.key, stranger.key])
      expect(await outcome(key)).toBe('all_recipients_suppressed');
  });

  it('takes STOP of an erased person although the key of another account cannot be opened, and reads the erasures once (R496)', async () => {
    const number = '+256700000921';
    const [right, broken] = [await gateway.createAccount(), await gateway.createAccount()];
    await sms(number, 'Hello', {}, broken.key);
    await done((await erase(number, broken.key)).body.erasure.id, broken.key);
    await using sql = await openSql(gateway.database);
    await sql.query('INSERT INTO account_hash_keys (account_id, sealed) VALUES ($1, $2)', [
      broken.accountId,
      'v1.lost.text',
    ]);
    // This announces that there are other erasures.
    await sms(number, 'Hello', {}, right.key);
    await done((await erase(number, right.key)).body.erasure.id, right.key);
    const original = pg.Query.prototype.submit;
    let reads = 0;
    pg.Query.prototype.submit = function (this: { readonly name?: string }, ...given) {
      if (this.name === 'erasure-erasing') reads += 1;
      return original.apply(this as unknown as pg.Query, given);
    };
    try {
      expect(await sayFrom(number, 'STOP')).toBe(0);
      for (let at = 0; at < 5; at += 1) expect(await sayFrom(`+25670000093${at}`, 'STOP')).toBe(0);
    } finally {
      pg.Query.prototype.submit = original;
      await sql.query('DELETE FROM account_hash_keys WHERE account_id = $1', [broken.accountId]);
    }
    expect(reads).toBe(1);
    const stopped = await sql.query('SELECT account_id FROM suppressions WHERE address = $1', [number]);
    expect(stopped.map((row) => row.account_id)).toEqual([right.accountId]);
  });

  it('erases what an import brings that is running when the person is erased (R491)', async () => {
    const number = '+256700000912';
    const rows = Array.from({ length: 3_000 }, (_, at) => `+25671${String(1_000_000 + at)},,Nobody ${at}`);
    const csv = ['phone,email,name', ...rows, '0700000912,,Eve Nakato', '0700000912,bad,Eve Nakato'].join(
      '\n',
    );
    const importing = 'mutation ($csv: String!) { importContacts(csv: $csv) { id } }';
    const started = await graphql(gateway, importing, { token, variables: { csv } });
    expect(started.body.errors).toBeUndefined();
    const receipt = await done((await erase(number)).body.erasure.id);
    expect(receipt.erased.contacts).toBe(1);
    for (const text of [number.slice(1), '0700000912', 'Nakato']) {
      expect([text, await tablesWith(text)]).toEqual([text, []]);
    }
    const contacts = (await call('GET', '/developers/contacts?limit=1')).body.pagination.total;
    expect(contacts).toBeGreaterThanOrEqual(3_000);
  });

  it('waits for a webhook delivery that is retried, and a later copy of it names nobody (R491)', async () => {
    let isUp = false;
    const flaky = await startWebhookReceiver(() => (isUp ? 200 : 503));
    try {
      const number = '+256700000913';
      const hook = await call('POST', '/developers/webhooks', { url: flaky.url, events: ['sms.sent'] });
      await sms(number, 'To Fay Achieng');
      await eventually(() => flaky.received.length > 0);
      const begun = await erase(number);
      expect(begun.status).toBe(202);
      // The delivery is open, so the event must stay as it is.
      await using sql = await openSql(gateway.database);
      await eventually(async () => {
        const [row] = await sql.query('SELECT retry_at > created_at AS waits FROM erasures WHERE id = $1', [
          begun.body.erasure.id,
        ]);
        return row.waits;
      });
      isUp = true;
      await done(begun.body.erasure.id);
      const last = flaky.received.at(-1);
      expect(last?.body.data.to).toBe(number);
      const list = await call('GET', `/developers/webhooks/${hook.body.webhook.id}/deliveries`);
      const [delivery] = list.body.data;
      expect(delivery).toMatchObject({ status: 'success', responseBody: null });
      const path = `/developers/webhooks/${hook.body.webhook.id}/deliveries/${delivery.id}/retry`;
      const before = flaky.received.length;
      expect((await call('POST', path)).status).toBe(200);
      await eventually(() => flaky.received.length > before);
      expect(flaky.received.at(-1)?.body.data).toMatchObject({ to: 'erased', message: '' });
      expect(await tablesWith('Achieng')).toEqual([]);
      // Otherwise deliveries of later tests would be open, because nobody answers at this endpoint.
      expect((await call('DELETE', `/developers/webhooks/${hook.body.webhook.id}`)).status).toBe(200);
    } finally {
      await flaky.stop();
    }
  });

  it('does not bring the message back when a delivery report comes after the erasure (R491)', async () => {
    const number = '+256700000914';
    const id = await sms(number, 'To Gil');
    const { sid } = await message(id);
    await done((await erase(number)).body.erasure.id);
    const eventsOf = async () => (await call('GET', '/developers/events?limit=100')).body.data;
    const events = await eventsOf();
    await using sql = await openSql(gateway.database);
    expect(await sql.query('SELECT 1 FROM provider_sids WHERE message_id = $1', [id])).toEqual([]);
    smsc.report(sid, number.slice(1), 'SERVICE', { form: 'text' });
    await eventually(
      async () => (await sql.query('SELECT 1 FROM unmatched_reports WHERE sid = $1', [sid])).length > 0,
    );
    expect(await message(id)).toMatchObject({ to: ['erased'], status: 'sent', sid: null });
    expect(await eventsOf()).toEqual(events);
  });

  it('needs FULL_ACCESS, or an owner or administrator who stepped up (R494)', async () => {
    const { key } = await gateway.createKey(account.accountId, {
      scopes: ['MANAGE_CONTACTS', 'READ_MESSAGES'],
    });
    expect((await erase(ANN, key)).status).toBe(403);
    expect((await call('GET', at(ANN), undefined, key)).status).toBe(403);
    expect((await call('GET', '/developers/erasures', undefined, key)).status).toBe(403);
    const developer = await inviteMember(gateway, token, 'DEVELOPER');
    const theirs = await signIn(gateway, developer);
    const mutations = [
      'mutation { eraseRecipient(address: "0700000901", reason: "x") { id } }',
      'mutation { exportRecipient(address: "0700000901") { nextAfter } }',
    ];
    for (const mutation of mutations) {
      expect(codesOf(await graphql(gateway, mutation, { token: theirs }))).toEqual(['FORBIDDEN']);
    }
    await using sql = await openSql(gateway.database);
    await sql.query("UPDATE sessions SET verified_at = now() - interval '11 minutes'");
    await sql.query(`SELECT pg_notify('gateway_changes', 'session *')`);
    await eventually(async () =>
      codesOf(await graphql(gateway, mutations[0] ?? '', { token })).includes('STEP_UP_REQUIRED'),
    );
    for (const mutation of mutations) {
      expect(codesOf(await graphql(gateway, mutation, { token }))).toEqual(['STEP_UP_REQUIRED']);
    }
  });

  it('names what is wrong with an address or a reason (R490)', async () => {
    const faultsOf = async (path: string) => (await call('DELETE', path)).body.error.details.fields;
    expect(await faultsOf(at('carol', '?reason=x'))).toMatchObject([{ path: 'address' }]);
    expect(await faultsOf(at('carol@', '?reason=x&kind=email'))).toMatchObject([{ path: 'address' }]);
    expect(await faultsOf(at(ANN, '?reason=%20'))).toMatchObject([{ path: 'reason' }]);
    expect((await call('DELETE', at(ANN))).status).toBe(400);
  });
});

describe('erasure and the pumping watch', () => {
  it('erases a held message after its review, and the number is not counted again (R394, R396, R491)', async () => {
    await using gateway = await startTestGateway({ PUMPING_WATCH: 'on' });
    await using sql = await openSql(gateway.database);
    const account = await gateway.createAccount();
    const { key } = account;
    const token = await signIn(gateway, account);
    const numbers = Array.from({ length: 16 }, (_, at) => `+256771234${String(100 + at)}`);
    const sent = [];
    for (const to of numbers)
      sent.push(await gateway.call('POST', '/developers/sms', { key, body: { to, message: 'Hello' } }));
    const held = sent.at(-1)?.body;
    expect(held).toMatchObject({ status: 'pending', statusReason: 'held_for_review' });
    const [number] = held.to;
    const path = `/developers/recipients/${encodeURIComponent(number)}?reason=letter`;
    const refused = await gateway.call('DELETE', path, { key });
    expect(refused.body.error).toMatchObject({ details: { pending: 1, messageIds: [held.id] } });
    const review = 'mutation { reviewHeld(block: "+256771234", decision: REJECT) { messages } }';
    expect((await graphql(gateway, review, { token })).body.errors).toBeUndefined();
    const begun = await gateway.call('DELETE', path, { key });
    expect(begun.status).toBe(202);
    const { id } = begun.body.erasure;
    const erasure = async () =>
      (await gateway.call('GET', `/developers/erasures/${id}`, { key })).body.erasure;
    await eventually(async () => (await erasure()).erased.messages === 1);
    expect(await sql.query('SELECT block FROM held_reviews WHERE message_id = $1', [held.id])).toEqual([
      { block: '' },
    ]);
    await eventually(async () => (await erasure()).doneAt !== null);
    // The process remembers the number, and asks the database about its block again (R396).
    await gateway.call('POST', '/developers/sms', { key, body: { to: '+256771234999', message: 'Hello' } });
    const counted = await sql.query("SELECT ending FROM pumping_numbers WHERE block = '+256771234'");
    expect(counted.map(({ ending }) => ending)).not.toContain(number.slice(-3));
    expect(counted.length).toBeGreaterThan(0);
  });
});

describe('hashed suppressions and the master key', () => {
  const [OLD, NEW] = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
  const number = '+256700000951';

  it('hold after a rotation, also without the former key, and end with a key that is declared lost (R492)', async () => {
    await using first = await startTestGateway({ MASTER_KEY: OLD });
    const { key } = await first.createAccount();
    const suppression = { channel: 'sms', address: number, scope: 'all' };
    expect((await first.call('POST', '/developers/suppressions', { key, body: suppression })).status).toBe(
      201,
    );
    const path = `/developers/recipients/${encodeURIComponent(number)}?reason=letter`;
    const { body } = await first.call('DELETE', path, { key });
    const receipt = () => first.call('GET', `/developers/erasures/${body.erasure.id}`, { key });
    await eventually(async () => (await receipt()).body.erasure.doneAt !== null);
    const outcome = async (at: TestGateway) => {
      const message = { to: number, message: 'Hello' };
      const sent = await at.call('POST', '/developers/sms', { key, body: message });
      return sent.status === 200 ? 'sent' : sent.body.error.code;
    };
    const started = (variables: Record<string, string>) => startTestGateway(variables, first.database);
    {
      await using rotated = await started({ MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: OLD });
      expect(await outcome(rotated)).toBe('all_recipients_suppressed');
    }
    {
      await using later = await started({ MASTER_KEY: NEW });
      expect(await outcome(later)).toBe('all_recipients_suppressed');
      // The hash of an address stays the same.
      const again = await later.call('DELETE', path, { key });
      expect(again.body.erasure.addressHash).toBe(body.erasure.addressHash);
    }
    const lost = createHash('sha256')
      .update('master-key-id')
      .update(Buffer.from(NEW, 'base64'))
      .digest('hex');
    await using after = await started({
      MASTER_KEY: Buffer.alloc(32, 9).toString('base64'),
      MASTER_KEY_LOST: lost.slice(0, 8),
    });
    expect(await outcome(after)).toBe('sent');
  });
});
