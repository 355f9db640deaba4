/** Tests the names under which accounts send, under the policy `approved`. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dkimFault, tagsOf } from '../support/dkim.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { fenceAccount } from '../support/fenced-account.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { openSql } from '../support/sql.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'der' },
});
const DKIM_RECORD = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`;
const TO = '+256700123456';
let domains = 0;
const newDomain = () => {
  domains += 1;
  return `company${domains}.example`;
};

describe('senders', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let names: DnsServer;
  let mails: MailServer;
  let account: TestAccount;
  let stranger: TestAccount;
  let operator: string;
  beforeAll(async () => {
    [names, mails] = [await startDnsServer(), await startMailServer()];
    const settings = {
      SENDER_POLICY: 'approved',
      DNS_SERVERS: names.address,
      EMAIL_URL: mails.url,
      EMAIL_FROM: 'Gateway <no-reply@gateway.example>',
      DKIM_DOMAIN: 'gateway.example',
      DKIM_SELECTOR: 'mail2026',
      DKIM_KEY: privateKey,
    };
    gateway = await startTestGateway(settings);
    other = await startTestGateway({ ...settings, ROLES: 'api' }, gateway.database);
    [account, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
    operator = await signInOperator(gateway);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
    await mails?.stop();
    await names?.[Symbol.asyncDispose]();
  });

  const call = (method: string, path: string, body?: object, key = account.key, at = gateway) =>
    at.call(method, path, { key, ...(body ? { body } : {}) });
  const asked = (senderId: string) => ({
    channel: 'sms',
    senderId,
    purposes: ['transactional'],
    useCase: 'Receipts',
    company: 'Mangoes Ltd',
  });
  const ask = (body: object, key = account.key) => call('POST', '/developers/senders', body, key);
  const review = (id: string, status: string, note?: string, token = operator) =>
    graphql(
      gateway,
      'mutation ($id: ID!, $note: String) { reviewSender(id: $id, status: STATUS, note: $note) { status note reviewedAt } }'.replace(
        'STATUS',
        status,
      ),
      { token, variables: { id, note } },
    );
  const approved = async (senderId: string, key = account.key, more: object = {}): Promise<string> => {
    const { body } = await ask({ ...asked(senderId), ...more }, key);
    expect(codesOf(await review(body.sender.id, 'APPROVED'))).toEqual([]);
    return body.sender.id;
  };
  const sms = (from?: string, more: object = {}, key = account.key, at = gateway) =>
    call('POST', '/developers/sms', { to: TO, message: 'Hello', from, ...more }, key, at);
  const email = (from?: string, key = account.key) =>
    call('POST', '/developers/email', { to: 'ann@example.com', subject: 's', text: 't', from }, key);
  const faultOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, body.error?.code];
  const fieldsOf = ({ body }: Awaited<ReturnType<typeof call>>) =>
    body.error.details.fields.map(({ path }: { path: string }) => path);
  const verify = (id: string, key = account.key) =>
    call('POST', `/developers/senders/${id}/verify`, undefined, key);
  /** Publishes the record that proves a domain. */
  const publish = (
    sender: { records: { kind: string; name: string; expected: string }[] },
    ...kinds: string[]
  ) => {
    for (const { kind, name, expected } of sender.records) {
      if (kinds.includes(kind)) names.records.set(name, [expected]);
    }
  };

  it('are asked for, shown, listed, reviewed and given up, and each change is audited (R430, R431)', async () => {
    const { status, body } = await ask({ ...asked('KIOSK1'), purposes: ['marketing', 'transactional'] });
    expect(status).toBe(201);
    expect(body.sender).toEqual({
      id: expect.any(String),
      environment: 'production',
      channel: 'sms',
      senderId: 'KIOSK1',
      domain: null,
      number: null,
      phoneNumberId: null,
      status: 'pending',
      purposes: ['transactional', 'marketing'],
      useCase: 'Receipts',
      company: 'Mangoes Ltd',
      note: null,
      registrations: [],
      records: [],
      createdAt: expect.any(String),
      reviewedAt: null,
      verifiedAt: null,
      checkedAt: null,
    });
    const { id } = body.sender;
    const registered = await graphql(
      gateway,
      `mutation { setSenderRegistrations(id: "${id}", registrations: [{ network: "MTN UG", status: PENDING, reference: "M-1" }, { network: "Airtel UG", status: APPROVED }]) { id } }`,
      { token: operator },
    );
    expect(codesOf(registered)).toEqual([]);
    const rejected = await review(id, 'REJECTED', 'Send us the certificate');
    expect(rejected.body.data.reviewSender).toMatchObject({
      status: 'REJECTED',
      note: 'Send us the certificate',
    });
    const shown = await call('GET', `/developers/senders/${id}`);
    expect(shown.body.sender).toMatchObject({
      status: 'rejected',
      note: 'Send us the certificate',
      reviewedAt: expect.any(String),
      registrations: [
        { network: 'MTN UG', status: 'pending', reference: 'M-1' },
        { network: 'Airtel UG', status: 'approved', reference: null },
      ],
    });
    expect((await call('GET', '/developers/senders?channel=sms')).body.data).toEqual([shown.body.sender]);
    expect((await call('GET', '/developers/senders?channel=email')).body.data).toEqual([]);
    const gone = await call('DELETE', `/developers/senders/${id}`);
    expect([gone.status, gone.body]).toEqual([200, { id, deleted: true }]);
    expect((await call('GET', `/developers/senders/${id}`)).status).toBe(404);
    const token = await signIn(gateway, account);
    const log = '{ auditLog(first: 20) { nodes { action actor { __typename } } } }';
    const { nodes } = (await graphql(gateway, log, { token })).body.data.auditLog;
    const actions = nodes.map(({ action }: { action: string }) => action);
    expect(actions.filter((action: string) => action.startsWith('sender.'))).toEqual([
      'sender.remove',
      'sender.review',
      'sender.setRegistrations',
      'sender.request',
    ]);
  });

  it('are the same in GraphQL, where operators see those of all accounts (R430, R431)', async () => {
    const token = await signIn(gateway, stranger);
    const made = await graphql(
      gateway,
      'mutation ($input: RequestSenderInput!) { requestSender(input: $input) { id status senderId purposes } }',
      {
        token,
        variables: {
          input: { channel: 'SMS', senderId: 'OTPHUB', purposes: ['OTP'], useCase: 'Codes', company: 'Hub' },
        },
      },
    );
    expect(made.body.data.requestSender).toMatchObject({
      status: 'PENDING',
      senderId: 'OTPHUB',
      purposes: ['OTP'],
    });
    const { id } = made.body.data.requestSender;
    await ask({ channel: 'email', domain: newDomain() });
    const list = '{ senders(status: PENDING) { nodes { id accountId channel } totalCount } }';
    const all = (await graphql(gateway, list, { token: operator })).body.data.senders.nodes;
    expect(new Set(all.map(({ accountId }: { accountId: string }) => accountId))).toEqual(
      new Set([account.accountId, stranger.accountId]),
    );
    const own = (await graphql(gateway, list, { token })).body.data.senders;
    expect(own).toEqual({ nodes: [{ id, accountId: stranger.accountId, channel: 'SMS' }], totalCount: 1 });
    expect(codesOf(await review(id, 'APPROVED', undefined, token))).toEqual(['FORBIDDEN']);
    expect(codesOf(await review(id, 'PENDING'))).toEqual(['BAD_USER_INPUT']);
    const removed = await graphql(gateway, `mutation { removeSender(id: "${id}") }`, { token });
    expect(removed.body.data).toEqual({ removeSender: true });
  });

  it('need MANAGE_SENDERS, and a request that says everything (R430)', async () => {
    const { key } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    const { key: manager } = await gateway.createKey(account.accountId, { scopes: ['MANAGE_SENDERS'] });
    expect((await ask(asked('KEYLESS'), key)).status).toBe(403);
    expect((await call('GET', '/developers/senders', undefined, key)).status).toBe(403);
    expect((await call('GET', '/developers/senders', undefined, manager)).status).toBe(200);
    const bare = await ask({ channel: 'sms', senderId: 'A B' });
    expect(fieldsOf(bare)).toEqual(['senderId', 'purposes', 'useCase', 'company']);
    // А, С and Е are Cyrillic.
    expect(fieldsOf(await ask(asked('АСМЕ')))).toEqual(['senderId']);
    expect(fieldsOf(await ask({ ...asked('LONG'), useCase: 'x'.repeat(501) }))).toEqual(['useCase']);
    for (const domain of ['example', 'a@b.example', 'http://b.example', '-.example', '10.0.0.1']) {
      expect(fieldsOf(await ask({ channel: 'email', domain }))).toEqual(['domain']);
    }
    expect(fieldsOf(await ask({ channel: 'email', senderId: 'MANGOES' }))).toEqual(['senderId']);
    expect((await call('GET', '/developers/senders', undefined, stranger.key)).body.data).toEqual([]);
  });

  it('an SMS needs an approved name, and is refused before any charge with how to ask (R432)', async () => {
    expect((await sms()).body.from).toBe('SERVICE');
    expect((await sms('SERVICE')).status).toBe(200);
    const { balance } = (await call('GET', '/account')).body;
    const refused = await sms('MANGOES');
    expect(faultOf(refused)).toEqual([400, 'sender_not_approved']);
    expect(refused.body.error.message).toContain('POST /developers/senders');
    expect(refused.body.error.details).toEqual({
      field: 'from',
      value: 'MANGOES',
      status: 'unknown',
      approved: [],
    });
    const quote = await call('POST', '/developers/sms/quote', { to: TO, message: 'Hello', from: 'MANGOES' });
    expect(faultOf(quote)).toEqual([400, 'sender_not_approved']);
    const token = await signIn(gateway, account);
    const send =
      'mutation { sendSms(input: { to: "+256700123456", message: "Hi", from: "MANGOES" }) { id } }';
    expect(codesOf(await graphql(gateway, send, { token }))).toEqual(['SENDER_NOT_APPROVED']);
    const { id } = (await ask(asked('MANGOES'))).body.sender;
    expect((await sms('MANGOES')).body.error.details).toMatchObject({ status: 'pending' });
    await review(id, 'REJECTED', 'Unknown company');
    expect((await sms('MANGOES')).body.error.message).toContain('Unknown company');
    expect((await call('GET', '/account')).body.balance).toBe(balance);
    await review(id, 'APPROVED');
    expect((await sms('MANGOES')).body.from).toBe('MANGOES');
    expect((await sms('Mangoes')).body.error.details).toMatchObject({ approved: ['MANGOES'] });
    const offer = await sms('MANGOES', { purpose: 'marketing' });
    expect(faultOf(offer)).toEqual([400, 'sender_not_approved']);
    expect(offer.body.error.message).toContain('approved for transactional, not for marketing');
    expect(faultOf(await sms('MANGOES', {}, stranger.key))).toEqual([400, 'sender_not_approved']);
  });

  it('an answer counts for the next send in every process, and a repeat of a send gets its answer (R432)', async () => {
    const fresh = await gateway.createAccount();
    const id = await approved('NEXTSEND', fresh.key);
    await eventually(async () => (await sms('NEXTSEND', {}, fresh.key, other)).status === 200);
    const first = await sms('NEXTSEND', { idempotencyKey: 'once' }, fresh.key);
    expect((await call('DELETE', `/developers/senders/${id}`, undefined, fresh.key)).status).toBe(200);
    expect(faultOf(await sms('NEXTSEND', {}, fresh.key))).toEqual([400, 'sender_not_approved']);
    await eventually(async () => (await sms('NEXTSEND', {}, fresh.key, other)).status === 400);
    expect((await sms('NEXTSEND', { idempotencyKey: 'once' }, fresh.key)).body.id).toBe(first.body.id);
  });

  it('of one account are refused to others, and so are look-alikes (R433)', async () => {
    await approved('OILCO1');
    for (const like of ['OILCO1', 'oilco1', '0ILC0I', 'OLLCOl', 'o1lcoL']) {
      expect(fieldsOf(await ask(asked(like), stranger.key))).toEqual(['senderId']);
    }
    expect((await ask(asked('OILCO2'), stranger.key)).status).toBe(201);
    expect(fieldsOf(await ask(asked('0ILCO1')))).toEqual(['senderId']);
    for (const like of ['SERVICE', 'service', 'SERV1CE'])
      expect(fieldsOf(await ask(asked(like)))).toEqual(['senderId']);
    // Two accounts may ask for a name. The first approval decides.
    const [mine, theirs] = [await ask(asked('RACE')), await ask(asked('rAcE'), stranger.key)];
    const answers = await Promise.all([mine, theirs].map(({ body }) => review(body.sender.id, 'APPROVED')));
    expect(answers.flatMap(codesOf)).toEqual(['BAD_USER_INPUT']);
  });

  it('in the sandbox are approved at once, and belong to the sandbox (R430)', async () => {
    expect(faultOf(await sms('PLAYPEN', {}, account.sandboxKey))).toEqual([400, 'sender_not_approved']);
    const { body } = await ask(asked('PLAYPEN'), account.sandboxKey);
    expect(body.sender).toMatchObject({ environment: 'sandbox', status: 'approved' });
    expect((await sms('PLAYPEN', {}, account.sandboxKey)).status).toBe(200);
    expect(faultOf(await sms('PLAYPEN'))).toEqual([400, 'sender_not_approved']);
    const domain = await ask({ channel: 'email', domain: 'play.example' }, account.sandboxKey);
    expect((await verify(domain.body.sender.id, account.sandboxKey)).body.sender.status).toBe('approved');
    expect((await email('me@play.example', account.sandboxKey)).status).toBe(200);
  });

  it('are at most 100 in an environment (R430)', async () => {
    const fresh = await gateway.createAccount();
    for (let count = 0; count < 100; count += 1) {
      expect((await ask({ channel: 'email', domain: `d${count}.example` }, fresh.key)).status).toBe(201);
    }
    expect(fieldsOf(await ask({ channel: 'email', domain: 'more.example' }, fresh.key))).toEqual(['domain']);
  });

  it('an email needs EMAIL_FROM or a domain that a DNS record proves (R432, R434)', async () => {
    const domain = newDomain();
    for (const from of [undefined, 'no-reply@gateway.example', 'Gateway <no-reply@gateway.example>']) {
      expect((await email(from)).status).toBe(200);
    }
    expect(faultOf(await email('Bank <no-reply@gateway.example>'))).toEqual([400, 'sender_not_approved']);
    expect(faultOf(await email(`shop@${domain}`))).toEqual([400, 'sender_not_approved']);
    const { sender } = (await ask({ channel: 'email', domain: domain.toUpperCase() })).body;
    expect(sender).toMatchObject({ domain, senderId: null, status: 'pending' });
    expect(sender.records).toMatchObject([
      { kind: 'verification', name: `_gateway-verify.${domain}`, found: [], isRight: false },
      { kind: 'dkim', name: `mail2026._domainkey.${domain}`, expected: DKIM_RECORD, isRight: false },
      { kind: 'spf', name: domain, expected: 'v=spf1 include:gateway.example ~all', isRight: false },
    ]);
    expect((await verify(sender.id)).body.sender).toMatchObject({
      status: 'pending',
      checkedAt: expect.any(String),
    });
    expect((await email(`shop@${domain}`)).body.error.details.status).toBe('pending');
    names.records.set(`_gateway-verify.${domain}`, ['something else']);
    expect((await verify(sender.id)).body.sender).toMatchObject({
      status: 'pending',
      records: [{ found: ['something else'], isRight: false }, {}, {}],
    });
    expect(codesOf(await review(sender.id, 'APPROVED'))).toEqual(['BAD_USER_INPUT']);
    publish(sender, 'verification');
    expect((await verify(sender.id)).body.sender).toMatchObject({
      status: 'approved',
      verifiedAt: expect.any(String),
    });
    expect((await email(`Shop <shop@${domain}>`)).status).toBe(200);
    expect(faultOf(await email(`shop@mail.${domain}`))).toEqual([400, 'sender_not_approved']);
    expect(faultOf(await email(`shop@${domain}`, stranger.key))).toEqual([400, 'sender_not_approved']);
  });

  it('of email are checked while another account moves to another cell (R534, R503)', async () => {
    const [staying, moving] = [newDomain(), newDomain()];
    const ids: string[] = [];
    for (const [domain, key] of [
      [staying, account.key],
      [moving, stranger.key],
    ] as const) {
      const { sender } = (await ask({ channel: 'email', domain }, key)).body;
      publish(sender, 'verification');
      expect((await verify(sender.id, key)).body.sender.status).toBe('approved');
      ids.push(sender.id);
    }
    await using sql = await openSql(gateway.database);
    await sql.query("UPDATE senders SET check_at = '2020-01-01' WHERE id = ANY($1)", [ids]);
    const due = async () => {
      const rows = await sql.query('SELECT id FROM senders WHERE id = ANY($1) AND check_at < now()', [ids]);
      return rows.map(({ id }) => id);
    };
    {
      await using _fence = await fenceAccount(gateway.database, stranger.accountId);
      await gateway.parts.checkSenderDomains();
      expect(await due()).toEqual([ids[1]]);
    }
    await gateway.parts.checkSenderDomains();
    expect(await due()).toEqual([]);
  });

  it('of email are checked again, and lost when the record is gone for 72 hours (R534)', async () => {
    const domain = newDomain();
    const { sender } = (await ask({ channel: 'email', domain })).body;
    const record = `_gateway-verify.${domain}`;
    publish(sender, 'verification');
    expect((await verify(sender.id)).body.sender.status).toBe('approved');
    await using sql = await openSql(gateway.database);
    const check = async () => {
      await sql.query("UPDATE senders SET check_at = '2020-01-01' WHERE id = $1", [sender.id]);
      await gateway.parts.checkSenderDomains();
      const [row] = await sql.query(
        `SELECT round(extract(epoch FROM check_at - now()) / 3600)::int AS hours,
           missing_since IS NOT NULL AS missing FROM senders WHERE id = $1`,
        [sender.id],
      );
      return row;
    };
    const state = async () => (await call('GET', `/developers/senders/${sender.id}`)).body.sender;
    const gone = () =>
      sql.query("UPDATE senders SET missing_since = now() - interval '73 hours' WHERE id = $1", [sender.id]);
    expect(await check()).toEqual({ hours: 24, missing: false });
    names.failing.add(record);
    expect(await check()).toEqual({ hours: 1, missing: false });
    names.failing.delete(record);
    names.records.set(record, ['something else']);
    expect(await check()).toEqual({ hours: 1, missing: true });
    expect(await check()).toEqual({ hours: 1, missing: true });
    expect((await state()).status).toBe('approved');
    publish(sender, 'verification');
    await gone();
    expect(await check()).toEqual({ hours: 24, missing: false });
    expect((await email(`shop@${domain}`)).status).toBe(200);

    names.records.delete(record);
    await gone();
    await check();
    expect(await state()).toMatchObject({ status: 'pending', verifiedAt: null });
    expect((await email(`shop@${domain}`)).body.error.details.status).toBe('pending');
    const query = `{ auditLog(filter: { action: "sender.loseDomain" }) { nodes { actor { __typename } after } } }`;
    const token = await signIn(gateway, account);
    expect((await graphql(gateway, query, { token })).body.data.auditLog.nodes).toEqual([
      { actor: { __typename: 'System' }, after: { domain } },
    ]);
    const feed = await call('GET', '/developers/events?limit=100');
    const reviewed = feed.body.data.filter(({ event }: { event: string }) => event === 'sender.reviewed');
    expect(reviewed.at(-1).data).toMatchObject({ id: sender.id, domain, status: 'pending' });
    publish(sender, 'verification');
    expect((await verify(sender.id)).body.sender.status).toBe('approved');
    expect((await email(`shop@${domain}`)).status).toBe(200);
  });

  it('show DKIM and SPF as they are, and whether they are right (R434)', async () => {
    const domain = newDomain();
    const { sender } = (await ask({ channel: 'email', domain })).body;
    const states = async () => {
      const { records } = (await verify(sender.id)).body.sender;
      return records.map(({ isRight }: { isRight: boolean }) => isRight);
    };
    names.records.set(domain, ['site=1', 'v=spf1 include:mail.example -all']);
    names.records.set(`mail2026._domainkey.${domain}`, ['v=DKIM1; k=rsa; p=MIIB']);
    expect(await states()).toEqual([false, false, false]);
    const shown = (await call('GET', `/developers/senders/${sender.id}`)).body.sender.records;
    expect(shown[2].found).toEqual(['v=spf1 include:mail.example -all']);
    names.records.set(domain, ['v=spf1 a include:gateway.example -all', 'site=1']);
    names.records.set(`mail2026._domainkey.${domain}`, [DKIM_RECORD.replace('k=rsa; ', 'k=rsa;t=s; ')]);
    expect(await states()).toEqual([false, true, true]);
    names.records.set(domain, ['v=spf1 include:gateway.example -all', 'v=spf1 mx -all']);
    expect(await states()).toEqual([false, true, false]);
  });

  it('a domain of another account, a rejected one and a sender ID are not verified (R431, R434)', async () => {
    const domain = newDomain();
    const { sender } = (await ask({ channel: 'email', domain })).body;
    const twin = (await ask({ channel: 'email', domain }, stranger.key)).body.sender;
    publish(sender, 'verification');
    expect((await verify(sender.id)).body.sender.status).toBe('approved');
    publish(twin, 'verification');
    expect(fieldsOf(await verify(twin.id, stranger.key))).toEqual(['domain']);
    expect(fieldsOf(await ask({ channel: 'email', domain }, (await gateway.createAccount()).key))).toEqual([
      'domain',
    ]);
    await review(sender.id, 'REJECTED', 'Complaints');
    publish(sender, 'verification');
    expect((await verify(sender.id)).body.sender.status).toBe('rejected');
    expect(faultOf(await email(`shop@${domain}`))).toEqual([400, 'sender_not_approved']);
    expect(fieldsOf(await verify((await ask(asked('NODNS'))).body.sender.id))).toEqual(['id']);
    expect((await verify(sender.id, stranger.key)).status).toBe(404);
  });

  it('mails of a verified domain with the DKIM key are signed for it (R435)', async () => {
    const domain = newDomain();
    const { sender } = (await ask({ channel: 'email', domain })).body;
    const signedFor = async () => {
      const sent = await email(`shop@${domain}`);
      const mail = await mails.waitFor(({ raw }) => raw.includes(sent.body.id));
      expect(dkimFault(mail.raw, DKIM_RECORD)).toBeUndefined();
      return tagsOf(mail.header('DKIM-Signature') ?? '').d;
    };
    publish(sender, 'verification');
    await verify(sender.id);
    expect(await signedFor()).toBe('gateway.example');
    publish(sender, 'dkim');
    await verify(sender.id);
    expect(await signedFor()).toBe(domain);
  });
});

describe('SENDER_POLICY', () => {
  it('is approved in production, and open elsewhere (R432)', async () => {
    const send = async (gateway: TestGateway) => {
      const { key } = await gateway.createAccount();
      return (
        await gateway.call('POST', '/developers/sms', {
          key,
          body: { to: TO, message: 'Hi', from: 'ANYBODY' },
        })
      ).status;
    };
    await using open = await startTestGateway();
    expect(await send(open)).toBe(200);
    const production = {
      NODE_ENV: 'production',
      SMS_ROUTES: '*=simulator:',
      METRICS_TOKEN: 'token-of-metrics',
    };
    await using strict = await startTestGateway(production, open.database);
    expect(await send(strict)).toBe(400);
    await using told = await startTestGateway({ ...production, SENDER_POLICY: 'open' }, open.database);
    expect(await send(told)).toBe(200);
  });

  it('open refuses names that are approved for others, and look-alikes, in every process (R432)', async () => {
    await using gateway = await startTestGateway();
    await using other = await startTestGateway({ ROLES: 'api' }, gateway.database);
    const [owner, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
    const send = async (key: string, from: string, at = gateway) =>
      (await at.call('POST', '/developers/sms', { key, body: { to: TO, message: 'Hi', from } })).body;
    expect((await send(stranger.key, 'MANGO1', other)).status).toBe('pending');
    const name = {
      channel: 'sms',
      senderId: 'MANGO1',
      purposes: ['transactional'],
      useCase: 'Receipts',
      company: 'Mangoes Ltd',
    };
    const asked = await gateway.call('POST', '/developers/senders', { key: owner.key, body: name });
    expect((await send(stranger.key, 'MANGO1')).status).toBe('pending');
    const approve = `mutation { reviewSender(id: "${asked.body.sender.id}", status: APPROVED) { status } }`;
    const reviewed = await graphql(gateway, approve, { token: await signInOperator(gateway) });
    expect(codesOf(reviewed)).toEqual([]);
    for (const from of ['MANGO1', 'mangol', 'MANG01']) {
      expect((await send(stranger.key, from)).error).toMatchObject({
        code: 'sender_not_approved',
        details: { field: 'from', value: from, status: 'taken' },
      });
    }
    await eventually(async () => (await send(stranger.key, 'MANGO1', other)).error !== undefined);
    const quote = { to: TO, message: 'Hi', from: 'MANGO1' };
    const quoted = await gateway.call('POST', '/developers/sms/quote', { key: stranger.key, body: quote });
    expect(quoted.body.error.code).toBe('sender_not_approved');
    expect((await send(owner.key, 'MANGO1')).status).toBe('pending');
    expect((await send(stranger.key, 'MANGO2')).status).toBe('pending');
    await gateway.call('DELETE', `/developers/senders/${asked.body.sender.id}`, { key: owner.key });
    expect((await send(stranger.key, 'MANGO1')).status).toBe('pending');
  });
});
