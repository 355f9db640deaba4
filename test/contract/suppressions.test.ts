import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Retention } from '../../src/workers/retention/retention.ts';
import {
  CLOUD_API,
  type CloudApiRequest,
  callBack,
  inboundCallback,
  startCloudApi,
  taken,
} from '../support/cloud-api.ts';
import { eventually } from '../support/eventually.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { openSql } from '../support/sql.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

const MARY = '+256700000101';
const JOHN = '+256700000102';

describe('suppressions', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  let stranger: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    other = await startTestGateway({ ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
    stranger = await gateway.createAccount();
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
  });

  const call = (method: string, path: string, body?: object, key = account.key) =>
    gateway.call(method, path, { key, ...(body ? { body } : {}) });
  const suppress = async (channel: string, address: string, scope: string, key = account.key) => {
    const { status, body } = await call('POST', '/developers/suppressions', { channel, address, scope }, key);
    expect(status).toBe(201);
    return body.suppression;
  };
  const sms = (to: string, more: object = {}, key = account.key, at = gateway) =>
    at.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...more } });

  it('are added, listed, changed and removed, and audited without the address (R377)', async () => {
    const asked = { channel: 'sms', address: '0700 000 103', scope: 'marketing', reason: 'By phone' };
    const added = await call('POST', '/developers/suppressions', asked);
    expect(added.status).toBe(201);
    expect(added.body.suppression).toEqual({
      id: expect.any(String),
      environment: 'production',
      channel: 'sms',
      address: '+256700000103',
      scope: 'marketing',
      source: 'api',
      reason: 'By phone',
      at: expect.any(String),
    });
    const changed = await suppress('sms', '+256700000103', 'all');
    expect(changed).toMatchObject({ id: added.body.suppression.id, scope: 'all', reason: null });
    await suppress('email', 'Ann@Example.com', 'all');
    const list = (query: string) => call('GET', `/developers/suppressions${query}`);
    expect((await list('')).body.pagination.total).toBe(2);
    expect((await list('?channel=email')).body.data).toMatchObject([{ address: 'ann@example.com' }]);
    expect((await list('?address=0700000103')).body.data).toEqual([changed]);
    const token = await signIn(gateway, account);
    const query = '{ suppressions { nodes { channel address scope source } totalCount } }';
    expect((await graphql(gateway, query, { token })).body.data.suppressions).toMatchObject({
      nodes: [{ channel: 'EMAIL' }, { channel: 'SMS', scope: 'ALL', source: 'API' }],
      totalCount: 2,
    });
    const removed = await call('DELETE', `/developers/suppressions/${changed.id}`);
    expect([removed.status, removed.body]).toEqual([200, { id: changed.id, deleted: true }]);
    expect((await call('DELETE', `/developers/suppressions/${changed.id}`)).status).toBe(404);
    const log = '{ auditLog(first: 10) { nodes { action before after } } }';
    const entries = (await graphql(gateway, log, { token })).body.data.auditLog.nodes;
    const actions = entries.map(({ action }: { action: string }) => action);
    expect(actions.filter((action: string) => action.startsWith('suppression.'))).toEqual([
      'suppression.remove',
      'suppression.add',
      'suppression.add',
      'suppression.add',
    ]);
    expect(JSON.stringify(entries)).not.toContain('700000103');
  });

  it('refuse addresses of another channel, and keys without the scope (R377)', async () => {
    for (const body of [
      { channel: 'sms', address: 'ann@example.com', scope: 'all' },
      { channel: 'email', address: MARY, scope: 'all' },
      { channel: 'push', address: MARY, scope: 'all' },
      { channel: 'sms', address: MARY, scope: 'some' },
    ]) {
      const { status, body: answer } = await call('POST', '/developers/suppressions', body);
      expect([status, answer.error.code]).toEqual([400, 'validation_error']);
    }
    const { key } = await gateway.createKey(account.accountId, { scopes: ['READ_CONTACTS'] });
    expect((await call('GET', '/developers/suppressions', undefined, key)).status).toBe(200);
    const refused = await call(
      'POST',
      '/developers/suppressions',
      { channel: 'sms', address: MARY, scope: 'all' },
      key,
    );
    expect(refused.status).toBe(403);
    const token = await signIn(gateway, stranger);
    const [{ id }] = (await call('GET', '/developers/suppressions')).body.data;
    const foreign = await graphql(gateway, `mutation { removeSuppression(id: "${id}") }`, { token });
    expect(codesOf(foreign)).toEqual(['NOT_FOUND']);
  });

  it('leave recipients out, count them and charge nothing for them (R376, R378)', async () => {
    await suppress('sms', MARY, 'all');
    await suppress('sms', JOHN, 'marketing');
    const some = await sms(`${MARY},${JOHN},+256700000104`);
    expect(some.body).toMatchObject({
      to: [JOHN, '+256700000104'],
      cost: 60,
      metadata: { suppressedSkipped: 1 },
    });
    expect(some.body).not.toHaveProperty('purpose');
    const offer = await sms(`${MARY},${JOHN},+256700000104`, { purpose: 'marketing' });
    expect(offer.body).toMatchObject({
      to: ['+256700000104'],
      cost: 30,
      purpose: 'marketing',
      metadata: { suppressedSkipped: 2, recipientsProcessed: 1 },
    });
    const found = await call('GET', `/developers/messages/${offer.body.id}`);
    expect(found.body).toMatchObject({ purpose: 'marketing', metadata: { suppressedSkipped: 2 } });
    const token = await signIn(gateway, account);
    const query = `{ message(id: "${offer.body.id}") { purpose metadata { suppressedSkipped } } }`;
    expect((await graphql(gateway, query, { token })).body.data.message).toEqual({
      purpose: 'MARKETING',
      metadata: { suppressedSkipped: 2 },
    });
    const plain = await sms('+256700000104');
    expect(plain.body.metadata).not.toHaveProperty('suppressedSkipped');
    const quoted = { to: `${MARY},+256700000104`, message: 'Hello' };
    const quote = await call('POST', '/developers/sms/quote', quoted);
    expect(quote.body).toMatchObject({ recipientsProcessed: 1, suppressedSkipped: 1, cost: 30 });
  });

  it('refuse a send without a recipient that is left, before any charge (R378)', async () => {
    const before = (await call('GET', '/account')).body.balance;
    for (const refused of [await sms(MARY), await sms(`${MARY},${JOHN}`, { purpose: 'marketing' })]) {
      expect([refused.status, refused.body.error.code]).toEqual([400, 'all_recipients_suppressed']);
    }
    expect((await sms(JOHN, { purpose: 'otp' })).status).toBe(200);
    expect((await sms(MARY, { purpose: 'gossip' })).body.error.code).toBe('validation_error');
    expect((await call('GET', '/account')).body.balance).toBe(before - 30);
  });

  it('leave copies of an email out too (R378)', async () => {
    await suppress('email', 'boss@example.com', 'all');
    const email = {
      to: 'team@example.com',
      cc: 'BOSS@example.com,ann2@example.com',
      subject: 's',
      text: 't',
    };
    const sent = await call('POST', '/developers/email', email);
    expect(sent.status).toBe(200);
    const token = await signIn(gateway, account);
    const found = await graphql(gateway, `{ message(id: "${sent.body.id}") { payload } }`, { token });
    expect(found.body.data.message.payload.cc).toEqual(['ann2@example.com']);
    const only = await call('POST', '/developers/email', { ...email, to: 'boss@example.com' });
    expect(only.body.error.code).toBe('all_recipients_suppressed');
  });

  it('bind one account and one environment, in every process (R377)', async () => {
    expect((await sms(MARY, {}, stranger.key)).status).toBe(200);
    expect((await sms(MARY, {}, account.sandboxKey)).status).toBe(200);
    expect((await call('GET', '/developers/suppressions', undefined, account.sandboxKey)).body.data).toEqual(
      [],
    );
    const fresh = await gateway.createAccount();
    expect((await sms(MARY, {}, fresh.key, other)).status).toBe(200);
    await suppress('sms', MARY, 'all', fresh.key);
    await eventually(async () => (await sms(MARY, {}, fresh.key, other)).status === 400);
  });
});

describe('STOP, START and HELP on WhatsApp', () => {
  let gateway: TestGateway;
  let platform: Awaited<ReturnType<typeof startCloudApi>>;
  let account: TestAccount;
  const sent: CloudApiRequest[] = [];
  beforeAll(async () => {
    platform = await startCloudApi((request) => {
      sent.push(request);
      return taken(request.body.to, `wamid.${sent.length}`);
    });
    gateway = await startTestGateway({
      WHATSAPP_URL: platform.url,
      WHATSAPP_PHONE_NUMBER_ID: CLOUD_API.phoneNumberId,
      WHATSAPP_TOKEN: CLOUD_API.token,
      WHATSAPP_APP_SECRET: CLOUD_API.secret,
      WHATSAPP_VERIFY_TOKEN: 'verify-me',
    });
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await gateway?.stop();
    await platform?.stop();
  });

  const template = { type: 'template', template: { name: 'order_shipped', language: 'en_US' } };
  const write = (to: string) =>
    gateway.call('POST', '/developers/whatsapp', { key: account.key, body: { to, ...template } });
  const say = async (from: string, id: string, text: string, at = new Date()) => {
    const callback = inboundCallback(from.slice(1), id, at, { text: { body: text } });
    expect((await callBack(gateway.url, callback)).status).toBe(200);
  };
  const answersTo = (to: string) =>
    sent.filter(({ body }) => body.type === 'text' && body.to.endsWith(to.slice(1)));

  it.each([
    ['+256700000201', 'Stop.', 'START'],
    ['+256700000202', 'yimiriza', 'tandika'],
    ['+256700000203', 'ACHA', 'anza'],
    ['+256700000204', 'Arrêt', 'reprendre'],
  ])('%s says %s and later %s (R379)', async (number, stop, start) => {
    const first = await write(number);
    expect(first.status).toBe(200);
    await eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${first.body.id}`, {
        key: account.key,
      });
      return body.status === 'sent';
    });
    const balance = (await gateway.call('GET', '/account', { key: account.key })).body.balance;
    await say(number, `in-${number}-1`, stop);
    await say(number, `in-${number}-1`, stop);
    await eventually(() => answersTo(number).length === 1);
    const refused = await write(number);
    expect([refused.status, refused.body.error.code]).toEqual([400, 'all_recipients_suppressed']);
    await say(number, `in-${number}-2`, 'please stop sending me pictures');
    await say(number, `in-${number}-3`, 'HELP');
    await eventually(() => answersTo(number).length === 2);
    await say(number, `in-${number}-4`, start);
    await eventually(() => answersTo(number).length === 3);
    expect((await write(number)).status).toBe(200);
    expect((await gateway.call('GET', '/account', { key: account.key })).body.balance).toBe(balance);
    const listed = await gateway.call('GET', '/developers/suppressions', { key: account.key });
    expect(listed.body.data.filter(({ address }: { address: string }) => address === number)).toEqual([]);
  });

  it('finds the account after its retention deleted the message, but a newer one counts before (R559)', async () => {
    const number = '+256700000299';
    const keeping = await gateway.createAccount();
    const writeFrom = async ({ key }: TestAccount) => {
      const { body } = await gateway.call('POST', '/developers/whatsapp', {
        key,
        body: { to: number, ...template },
      });
      const path = `/developers/messages/${body.id}`;
      await eventually(async () => (await gateway.call('GET', path, { key })).body.status === 'sent');
    };
    const stopsOf = async ({ key }: TestAccount) => {
      const { data } = (await gateway.call('GET', '/developers/suppressions', { key })).body;
      return data.filter(({ address }: { address: string }) => address === number);
    };
    await writeFrom(keeping);
    await using sql = await openSql(gateway.database);
    await sql.query('UPDATE accounts SET message_days = 1 WHERE id = $1', [keeping.accountId]);
    await foldAnalytics(gateway, sql);
    const runRetentionIn = (days: number) =>
      withUnitOfWork(gateway, (uow, stores) => {
        const at = new Date(Date.now() + days * 24 * 3_600_000);
        return new Retention(uow, stores, { now: () => at }).run();
      });
    await runRetentionIn(3);
    expect(await sql.query('SELECT id FROM messages WHERE account_id = $1', [keeping.accountId])).toEqual([]);
    const notes = async () =>
      sql.query('SELECT w::text AS row FROM past_whatsapp_writers w WHERE account_id = $1', [
        keeping.accountId,
      ]);
    const [note, ...others] = await notes();
    expect(others).toEqual([]);
    expect(note?.row).not.toContain('700000299');
    await say(number, 'in-299-1', 'STOP');
    expect(await stopsOf(keeping)).toMatchObject([{ scope: 'all', source: 'stop' }]);
    const token = await signIn(gateway, keeping);
    const query = '{ suppressions(first: 10) { nodes { channel source scope } } }';
    const { body: shown } = await graphql(gateway, query, { token });
    expect(shown.data.suppressions.nodes).toEqual([{ channel: 'WHATSAPP', source: 'STOP', scope: 'ALL' }]);
    await writeFrom(account);
    await say(number, 'in-299-2', 'STOP');
    expect(await stopsOf(account)).toHaveLength(1);
    await runRetentionIn(729);
    expect(await notes()).toHaveLength(1);
    await runRetentionIn(731);
    expect(await notes()).toEqual([]);
  });

  it('a STOP that arrives again after START changes nothing (R379)', async () => {
    const number = '+256700000206';
    const first = await write(number);
    await eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${first.body.id}`, {
        key: account.key,
      });
      return body.status === 'sent';
    });
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
    const stopped = ago(60);
    await say(number, 'in-206-1', 'STOP', stopped);
    expect((await write(number)).status).toBe(400);
    await say(number, 'in-206-2', 'START', ago(30));
    expect((await write(number)).status).toBe(200);
    await say(number, 'in-206-1', 'STOP', stopped);
    expect((await write(number)).status).toBe(200);
    await say(number, 'in-206-3', 'STOP', ago(10));
    expect((await write(number)).status).toBe(400);
  });

  it('START does not lift what the account suppressed itself (R379)', async () => {
    const number = '+256700000205';
    const first = await write(number);
    await eventually(async () => {
      const { body } = await gateway.call('GET', `/developers/messages/${first.body.id}`, {
        key: account.key,
      });
      return body.status === 'sent';
    });
    const body = { channel: 'whatsapp', address: number, scope: 'all' };
    await gateway.call('POST', '/developers/suppressions', { key: account.key, body });
    await say(number, 'in-205', 'START');
    expect((await write(number)).body.error.code).toBe('all_recipients_suppressed');
  });
});
