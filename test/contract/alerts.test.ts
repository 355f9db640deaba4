/** Tests alerts: each kind over the wire, with a real webhook receiver and a real mail server. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import type { Finding } from '../../src/domain/alerts/alert.ts';
import { changeAlerts } from '../../src/domain/alerts/change-alerts.ts';
import type { OpenedAlert } from '../../src/domain/ports/alert-store.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { stopLimitClock } from '../support/limit-clock.ts';
import { subscribe } from '../support/live.ts';
import { type MailServer, startMailServer, textOfMail } from '../support/mail-server.ts';
import { machineIds } from '../support/system.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const TO = '+256700123456';
const ALERTS = `query ($filter: AlertFilter) { alerts(filter: $filter) {
  totalCount nodes { id accountId kind state summary detail openedAt resolvedAt } } }`;
const SET_RULE = `mutation ($input: AlertRuleInput!) { setAlertRule(input: $input) {
  kind isEnabled threshold thresholdUnit defaultThreshold mailTo } }`;

/** Returns the processes of PostgreSQL that wait for a lock of a row. */
async function waiting(knex: Knex): Promise<readonly number[]> {
  const { rows } = await knex.raw(
    "SELECT pid FROM pg_locks WHERE locktype IN ('transactionid', 'tuple') AND NOT granted",
  );
  return rows.map(({ pid }: { pid: number }) => pid);
}

const WAITING_MAILS = `SELECT FROM pgboss.job WHERE state < 'completed' AND name = 'person-mail'
  UNION ALL SELECT FROM job_leases WHERE queue = 'person-mail'`;

describe('alerts', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let mails: MailServer;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let operator: string;
  beforeAll(async () => {
    [mails, receiver] = [await startMailServer(), await startWebhookReceiver()];
    const settings = {
      EMAIL_URL: mails.url,
      SMS_ROUTES: '256=simulator:,*=smpp://shop:pa55word@127.0.0.1:1',
      PRODUCT_NAME: 'Gateway',
    };
    gateway = await startTestGateway(settings);
    other = await startTestGateway(settings, gateway.database);
    operator = await signInOperator(gateway);
    await stopLimitClock(gateway);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
    await mails?.stop();
    await receiver?.stop();
  });
  afterEach(() => {
    receiver.received.length = 0;
    mails.received.length = 0;
  });

  const call = (account: TestAccount, method: string, path: string, body?: object) =>
    gateway.call(method, `/developers${path}`, { key: account.key, ...(body ? { body } : {}) });
  const sql = (work: (knex: Knex) => PromiseLike<unknown>) =>
    withKnex(gateway.database.connection, async (knex) => void (await work(knex)));
  /** Waits until all mails to people have left. */
  const mailsLeft = () =>
    eventually(() =>
      withKnex(
        gateway.database.connection,
        async (knex) => (await knex.raw(WAITING_MAILS)).rows.length === 0,
      ),
    );
  /** Looks at all carriers and accounts, from the first to the last. Waits while the other gateway does. */
  const round = async () => {
    await eventually(() => gateway.parts.alerts.watchCarriers(0));
    await eventually(() => gateway.parts.alerts.watchAccounts(0));
  };
  const look = <T>(holds: () => Promise<T | undefined | false>): Promise<T> =>
    eventually(async () => {
      await round();
      return holds();
    });
  const list = async (account: TestAccount, query = '') =>
    (await call(account, 'GET', `/alerts${query}`)).body.data;
  const opened = (account: TestAccount, kind: string) =>
    look(async () => (await list(account, `?state=open&kind=${kind}`))[0]);
  const ended = (account: TestAccount, id: string) =>
    look(async () =>
      (await list(account, '?state=resolved')).find((alert: { id: string }) => alert.id === id),
    );
  const hook = async (account: TestAccount, events: string[], url = receiver.url, more: object = {}) =>
    (await call(account, 'POST', '/webhooks', { url, events, ...more })).body.webhook;
  const told = (type: string, state: string) =>
    receiver.waitFor(({ body }) => body.event === type && body.data.state === state);
  const mailTo = (email: string, subject: string) =>
    mails.waitFor(({ to, header }) => to.includes(email) && header('Subject')?.startsWith(subject) === true);
  const sms = (account: TestAccount) =>
    gateway.call('POST', '/developers/sms', { key: account.key, body: { to: TO, message: 'Hello' } });
  const setRule = (token: string, input: object) =>
    graphql(gateway, SET_RULE, { token, variables: { input } });

  const review = (id: string, status: string) =>
    graphql(
      gateway,
      `mutation ($id: ID!) { reviewSender(id: $id, status: ${status}, note: "No letter") { id } }`,
      { token: operator, variables: { id } },
    );

  it('warn when the balance lasts less than three days, once, and say when it is enough (R480, R481, R482, R483)', async () => {
    const account = await gateway.createAccount(100);
    await hook(account, ['account.balance_low']);
    await sms(account);
    await sms(account);
    await eventually(async () => {
      await gateway.parts.stores.usage.fold();
      return look(async () => (await list(account)).length > 0);
    });
    const alert = await opened(account, 'balance_low');
    expect(alert).toEqual({
      id: expect.any(String),
      kind: 'balance_low',
      state: 'open',
      summary: 'The balance of 40 UGX lasts 16 hours at the current rate of 60 UGX a day.',
      detail: { balance: 40, currency: 'UGX', spendPerDay: 60, daysLeft: 0.67 },
      openedAt: expect.any(String),
      resolvedAt: null,
    });
    const { body, headers } = await told('account.balance_low', 'open');
    expect(body).toEqual({
      event: 'account.balance_low',
      channel: 'system',
      timestamp: expect.any(String),
      data: { ...alert.detail, alertId: alert.id, state: 'open', openedAt: alert.openedAt, resolvedAt: null },
    });
    expect(headers['x-service-signature']).toEqual(expect.any(String));
    const mail = await mailTo(account.email, 'The balance is low');
    expect(textOfMail(mail)).toContain(alert.summary);

    await round();
    await gateway.parts.operations.accounts.topUp.run(SYSTEM, {
      accountId: account.accountId,
      amount: 5_000,
    });
    const resolved = await ended(account, alert.id);
    expect(resolved).toMatchObject({ state: 'resolved', detail: alert.detail });
    expect((await told('account.balance_low', 'resolved')).body.data).toMatchObject({
      alertId: alert.id,
      resolvedAt: resolved.resolvedAt,
    });
    await mailTo(account.email, 'Resolved: The balance is low');
    expect(await list(account)).toHaveLength(1);
    expect(receiver.received).toHaveLength(2);
  });

  it('warn when 80 % of a send limit is used, until it is raised (R480, R483)', async () => {
    const account = await gateway.createAccount();
    await hook(account, ['account.limit_near']);
    const { keyId } = await gateway.createKey(account.accountId, {});
    const own = account.key.split('_')[1]!;
    await gateway.parts.operations.sendLimits.setOfKey.run(SYSTEM, { keyId: own, spendPerDay: 70 });
    await gateway.parts.operations.sendLimits.setOfKey.run(SYSTEM, { keyId, spendPerDay: 1 });
    await sms(account);
    await round();
    expect(await list(account, '?kind=limit_near')).toEqual([]);
    await sms(account);
    const alert = await opened(account, 'limit_near');
    expect(alert.detail).toEqual({
      limit: 'spendPerDay',
      of: 'key',
      keyId: own,
      maximum: 70,
      used: 60,
      percent: 85,
      currency: 'UGX',
      resetsAt: expect.any(String),
    });
    expect((await told('account.limit_near', 'open')).body.data).toMatchObject(alert.detail);
    await gateway.parts.operations.sendLimits.setOfKey.run(SYSTEM, { keyId: own, spendPerDay: 700 });
    await ended(account, alert.id);
    await told('account.limit_near', 'resolved');
  });

  it('tell of a failing webhook to others, never to itself, until it works (R480, R483)', async () => {
    const account = await gateway.createAccount();
    let status = 500;
    const failing = await startWebhookReceiver(() => status);
    try {
      await hook(account, ['webhook.failing']);
      const broken = await hook(account, ['sms.sent', 'webhook.failing'], `${failing.url}?token=secret`, {
        maxRetries: 0,
      });
      await call(account, 'PUT', '/alert-rules', { kind: 'webhook_failing', threshold: 0 });
      await sms(account);
      await failing.waitFor(({ body }) => body.event === 'sms.sent');
      const alert = await opened(account, 'webhook_failing');
      expect(alert.detail).toEqual({
        reason: 'failing',
        webhookId: broken.id,
        url: `${failing.url}?token=***`,
        failingSince: expect.any(String),
        disabledReason: null,
      });
      expect((await told('webhook.failing', 'open')).body.data).toMatchObject(alert.detail);
      status = 200;
      await call(account, 'POST', `/webhooks/${broken.id}/test`);
      await ended(account, alert.id);
      await told('webhook.failing', 'resolved');
      expect(failing.received.map(({ body }) => body.event)).toEqual(['sms.sent', 'webhook.test']);
      const recovered = await call(account, 'POST', `/webhooks/${broken.id}/recover`, {
        since: new Date(Date.now() - 3_600_000).toISOString(),
      });
      expect(recovered.status).toBe(200);
      const deliveries = await call(
        account,
        'GET',
        `/webhooks/${broken.id}/deliveries?event=webhook.failing`,
      );
      expect(deliveries.body.data).toEqual([]);
    } finally {
      await failing.stop();
    }
  });

  it('tell of a webhook that the gateway has switched off, until it is activated (R480, R481)', async () => {
    const account = await gateway.createAccount();
    await hook(account, ['webhook.failing']);
    const { id } = await hook(account, ['sms.sent']);
    const off = await hook(account, ['sms.sent']);
    await call(account, 'PUT', `/webhooks/${off.id}`, { isActive: false });
    await sql((knex) =>
      knex('webhooks').where({ id }).update({ is_active: false, disabled_reason: 'It failed.' }),
    );
    const alert = await opened(account, 'webhook_failing');
    expect(alert).toMatchObject({
      detail: { reason: 'switched_off', webhookId: id, disabledReason: 'It failed.' },
    });
    expect(alert.summary).toMatch(/is switched off\. It failed\.$/);
    await told('webhook.failing', 'open');
    await call(account, 'PUT', `/webhooks/${id}`, { isActive: true });
    await ended(account, alert.id);
    expect(await list(account)).toHaveLength(1);
  });

  it('warn when the delivery rate of an hour is far below the usual one (R480, R481)', async () => {
    const account = await gateway.createAccount();
    const { accountId } = account;
    const quarter = 900_000;
    const end = Math.floor(Date.now() / quarter) * quarter - quarter;
    const day = Math.floor((end - 4 * quarter) / 86_400_000) * 86_400_000 - 86_400_000;
    const slot = (at: number, minutes: number, status: string, recipients: number) => ({
      ...{
        slot: new Date(at),
        minutes,
        account_id: accountId,
        channel: 'sms',
        environment: 'production',
        status,
      },
      ...{ api_key_id: '', sender: '', prefix: '', provider: '', error_code: '', messages: 0, recipients },
      ...{ cost_minor: 0, refund_minor: 0 },
    });
    const canceling = await gateway.createAccount();
    await sql((knex) =>
      knex('analytics_slots').insert([
        slot(day, 1_440, 'delivered', 950),
        slot(day, 1_440, 'failed', 50),
        // The alert must not depend on the minute at which the test runs, so the hours around are the same.
        ...[-6, -5, -4, -3, -2, -1, 0, 1].flatMap((number) => [
          slot(end + number * quarter, 15, 'delivered', 18),
          slot(end + number * quarter, 15, 'failed', 12),
        ]),
        // Another account cancels a campaign: its recipients fail with `canceled`.
        ...[
          slot(day, 1_440, 'delivered', 950),
          ...[-6, -5, -4, -3, -2, -1, 0, 1].flatMap((number) => [
            slot(end + number * quarter, 15, 'delivered', 30),
            { ...slot(end + number * quarter, 15, 'failed', 30), error_code: 'canceled' },
          ]),
        ].map((one) => ({ ...one, account_id: canceling.accountId })),
      ]),
    );
    const alert = await opened(account, 'delivery_rate_low');
    expect(alert).toMatchObject({
      summary: '60 % of the recipients of sms were reached in an hour. Usual are 95 %.',
      detail: { channel: 'sms', percent: 60, usualPercent: 95, recipients: 120, failed: 48 },
    });
    expect(await list(canceling)).toEqual([]);
    await sql((knex) =>
      knex('analytics_slots').where({ account_id: accountId, minutes: 15, status: 'failed' }).delete(),
    );
    await round();
    // 72 recipients are too few for a rate.
    expect((await list(account))[0].state).toBe('open');
    await sql((knex) =>
      knex('analytics_slots').where({ account_id: accountId, minutes: 15 }).update({ recipients: 28 }),
    );
    await ended(account, alert.id);
  });

  it('warn before an API key expires, unless it was made for a short time (R480)', async () => {
    const account = await gateway.createAccount();
    const { keyId } = await gateway.createKey(account.accountId, {});
    const short = await gateway.createKey(account.accountId, {});
    const expires = (id: string, age: string) =>
      sql((knex) =>
        knex('api_keys')
          .where({ key_id: id })
          .update({
            created_at: knex.raw(`now() - ?::interval`, [age]),
            expires_at: knex.raw(`now() + interval '3 days'`),
          }),
      );
    await expires(keyId, '300 days');
    await expires(short.keyId, '1 hour');
    const alert = await opened(account, 'key_expiring');
    expect(alert.detail).toMatchObject({ keyId, name: 'test', environment: 'production' });
    expect(await list(account)).toHaveLength(1);
    await mailTo(account.email, 'An API key is about to expire');
    await call(account, 'DELETE', `/keys/${keyId}`);
    await ended(account, alert.id);
  });

  it('tell of a rejected sender, and webhooks of each review (R480, R483)', async () => {
    const account = await gateway.createAccount();
    await hook(account, ['sender.reviewed']);
    const request = {
      channel: 'sms',
      senderId: 'MANGOES',
      purposes: ['otp'],
      useCase: 'Codes',
      company: 'Ltd',
    };
    const { id } = (await call(account, 'POST', '/senders', request)).body.sender;
    await review(id, 'REJECTED');
    const { body } = await receiver.waitFor(({ body }) => body.data.status === 'rejected');
    expect(body).toEqual({
      event: 'sender.reviewed',
      channel: 'system',
      timestamp: expect.any(String),
      data: { id, channel: 'sms', senderId: 'MANGOES', domain: null, status: 'rejected', note: 'No letter' },
    });
    const alert = await opened(account, 'sender_rejected');
    expect(alert.summary).toBe('The sender ID MANGOES was rejected: No letter');
    await mailTo(account.email, 'A sender was rejected');
    await review(id, 'APPROVED');
    await receiver.waitFor(({ body }) => body.data.status === 'approved');
    await ended(account, alert.id);
  });

  it('tell operators, and nobody else, that a carrier is down; reading an account is audited (R290, R480, R482, R485)', async () => {
    const account = await gateway.createAccount();
    expect(codesOf(await setRule(operator, { kind: 'CARRIER_DOWN', threshold: 0 }))).toEqual([]);
    const alert = await look(async () => {
      const { body } = await graphql(gateway, ALERTS, { token: operator });
      return body.data.alerts.nodes[0];
    });
    expect(alert).toMatchObject({
      accountId: null,
      kind: 'CARRIER_DOWN',
      state: 'OPEN',
      detail: { channel: 'sms', name: expect.stringContaining('127.0.0.1:1') },
    });
    expect(JSON.stringify(alert)).not.toContain('pa55word');
    await mailTo('operator@platform.example', 'A carrier is down');
    expect(await list(account)).toEqual([]);
    const ofAccount = { token: operator, variables: { filter: { accountId: account.accountId } } };
    expect((await graphql(gateway, ALERTS, ofAccount)).body.data.alerts).toEqual({
      totalCount: 0,
      nodes: [],
    });
    const rules = 'query ($accountId: ID) { alertRules(accountId: $accountId) { kind } }';
    const rulesOf = (accountId: string | null) =>
      graphql(gateway, rules, { token: operator, variables: { accountId } });
    const kinds = (await rulesOf(account.accountId)).body.data.alertRules.map(
      ({ kind }: { kind: string }) => kind,
    );
    expect(kinds.toSorted()).toEqual([
      'BALANCE_LOW',
      'DELIVERY_RATE_LOW',
      'KEY_EXPIRING',
      'LIMIT_NEAR',
      'MESSAGES_HELD',
      'SENDER_REJECTED',
      'SIGN_IN_NEW_COUNTRY',
      'WEBHOOK_FAILING',
    ]);
    expect((await rulesOf(null)).body.data.alertRules).toEqual([
      { kind: 'SIGN_IN_NEW_COUNTRY' },
      { kind: 'CARRIER_DOWN' },
    ]);
    const owner = await signIn(gateway, account);
    const audit = await graphql(gateway, '{ auditLog(first: 10) { nodes { action } } }', {
      token: owner,
    });
    const readings = audit.body.data.auditLog.nodes.filter(
      ({ action }: { action: string }) => action === 'account.inspect',
    );
    expect(readings).toHaveLength(2);
    expect(codesOf(await setRule(owner, { kind: 'CARRIER_DOWN', threshold: 1 }))).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await setRule(operator, { kind: 'CARRIER_DOWN', isEnabled: false }))).toEqual([]);
    await look(async () => {
      const { body } = await graphql(gateway, ALERTS, { token: operator });
      return body.data.alerts.nodes[0].state === 'RESOLVED';
    });
  });

  describe('rules (R484)', () => {
    const rejected = async (account: TestAccount, senderId: string) => {
      const { id } = (
        await call(account, 'POST', '/senders', {
          ...{ channel: 'sms', senderId, purposes: ['otp'], useCase: 'Codes', company: 'Ltd' },
        })
      ).body.sender;
      await review(id, 'REJECTED');
    };

    it('have defaults, are checked, and are changed by owners and administrators, audited (R484)', async () => {
      const account = await gateway.createAccount();
      const owner = await signIn(gateway, account);
      const { rules } = (await call(account, 'GET', '/alert-rules')).body;
      expect(
        rules.map((rule: { kind: string; threshold: number; thresholdUnit: string }) => [
          rule.kind,
          rule.threshold,
          rule.thresholdUnit,
        ]),
      ).toEqual([
        ['balance_low', 3, 'days'],
        ['limit_near', 80, 'percent'],
        ['webhook_failing', 15, 'minutes'],
        ['delivery_rate_low', 20, 'points'],
        ['key_expiring', 7, 'days'],
        ['sender_rejected', null, null],
        ['messages_held', null, null],
        ['sign_in_new_country', null, null],
      ]);
      const set = await call(account, 'PUT', '/alert-rules', {
        kind: 'balance_low',
        threshold: 5,
        mailTo: [account.email.toUpperCase()],
      });
      expect(set.body.rule).toMatchObject({ threshold: 5, defaultThreshold: 3, mailTo: [account.email] });
      const off = await setRule(owner, { kind: 'BALANCE_LOW', isEnabled: false });
      expect(off.body.data.setAlertRule).toMatchObject({
        isEnabled: false,
        threshold: 5,
        mailTo: [account.email],
      });
      const standard = await setRule(owner, { kind: 'BALANCE_LOW', threshold: null, mailTo: null });
      expect(standard.body.data.setAlertRule).toMatchObject({ isEnabled: false, threshold: 3, mailTo: null });

      const wrong = await call(account, 'PUT', '/alert-rules', {
        kind: 'limit_near',
        threshold: 101,
        mailTo: ['stranger@example.com'],
      });
      expect(wrong.status).toBe(400);
      expect(wrong.text).toContain('must be 1 to 100 percent');
      expect(wrong.text).toContain('mailTo.0');
      const none = await call(account, 'PUT', '/alert-rules', { kind: 'sender_rejected', threshold: 1 });
      expect(none.text).toContain('sender_rejected has no threshold');

      const sandbox = await gateway.call('PUT', '/developers/alert-rules', {
        key: account.sandboxKey,
        body: { kind: 'limit_near', threshold: 90 },
      });
      expect(sandbox.status).toBe(403);
      // Rules have email addresses of people.
      const reader = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
      for (const key of [reader.key, account.sandboxKey]) {
        expect((await gateway.call('GET', '/developers/alert-rules', { key })).status).toBe(403);
      }
      const viewer = await signIn(gateway, await inviteMember(gateway, owner, 'DEVELOPER'));
      expect(codesOf(await setRule(viewer, { kind: 'LIMIT_NEAR', threshold: 90 }))).toEqual(['FORBIDDEN']);
      const audit = await graphql(gateway, '{ auditLog(first: 10) { nodes { action before after } } }', {
        token: owner,
      });
      const own = audit.body.data.auditLog.nodes.filter(
        ({ action }: { action: string }) => action === 'alert.setRule',
      );
      expect(own).toHaveLength(3);
      expect(own[2]).toMatchObject({ before: { threshold: 3 }, after: { threshold: 5 } });
    });

    it('resolve their alerts in silence when they are switched off, and open none (R484)', async () => {
      const account = await gateway.createAccount();
      const token = await signIn(gateway, account);
      await rejected(account, 'PAPAYAS');
      const alert = await opened(account, 'sender_rejected');
      await mailTo(account.email, 'A sender was rejected');
      await setRule(token, { kind: 'SENDER_REJECTED', isEnabled: false });
      await ended(account, alert.id);
      await rejected(account, 'GUAVAS');
      await round();
      expect(await list(account)).toHaveLength(1);
      await mailsLeft();
      await setRule(token, { kind: 'SENDER_REJECTED', isEnabled: true });
      await eventually(async () => {
        await round();
        return (await list(account)).length === 3;
      });
      await eventually(() => mails.received.some((mail) => textOfMail(mail).includes('GUAVAS')));
      expect(mails.received.filter((mail) => mail.header('Subject')?.startsWith('Resolved'))).toEqual([]);
      // About one cause there is one mail in 24 hours. An alert that lasts longer is mailed then.
      const about = () => mails.received.filter((mail) => textOfMail(mail).includes('PAPAYAS'));
      expect(about()).toHaveLength(1);
      await sql((knex) =>
        knex('alerts')
          .where({ id: alert.id })
          .update({ mailed_at: knex.raw(`now() - interval '24 hours'`) }),
      );
      await round();
      await eventually(() => about().length === 2);
    });

    it('name who gets mails: nobody, or people of any role (R482, R484)', async () => {
      const account = await gateway.createAccount();
      const token = await signIn(gateway, account);
      const member = await inviteMember(gateway, token, 'VIEWER');
      await sql((knex) => knex('users').where({ id: member.id }).update({ accepted_at: knex.fn.now() }));
      await setRule(token, { kind: 'SENDER_REJECTED', mailTo: [member.email] });
      await rejected(account, 'AVOCADOS');
      await opened(account, 'sender_rejected');
      const mail = await mailTo(member.email, 'A sender was rejected');
      expect(textOfMail(mail)).toContain('AVOCADOS');
      await setRule(token, { kind: 'SENDER_REJECTED', mailTo: [] });
      await rejected(account, 'LEMONS');
      await eventually(async () => {
        await round();
        return (await list(account)).length === 2;
      });
      await round();
      await mailsLeft();
      expect(mails.received.filter((mail) => textOfMail(mail).includes('LEMONS'))).toEqual([]);
      // Nobody was told of it yet, so the next person whom the rule names is.
      await setRule(token, { kind: 'SENDER_REJECTED', mailTo: [member.email] });
      await round();
      await eventually(() => mails.received.some((mail) => textOfMail(mail).includes('LEMONS')));
      expect(mails.received.filter(({ to }) => to.includes(account.email))).toEqual([]);
    });
  });

  const finding = (account: TestAccount, limit: string): Finding => ({
    accountId: account.accountId,
    kind: 'limit_near',
    cause: `account:${limit}`,
    summary: `The limit ${limit} was found.`,
    detail: { limit },
  });
  const system = { ids: machineIds, mailer: { isConfigured: true } };

  it('of one account that cannot be looked at stop no alerts of others, nor of carriers (R481)', async () => {
    const [broken, sound] = [await gateway.createAccount(), await gateway.createAccount()];
    for (const account of [broken, sound]) {
      await gateway.parts.operations.sendLimits.setOfAccount.run(SYSTEM, {
        ...{ accountId: account.accountId, recipientsPerDay: 1 },
      });
    }
    await sql((knex) =>
      knex.raw(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON alerts FOR EACH ROW
          WHEN (NEW.account_id = '${broken.accountId}') EXECUTE FUNCTION refuse()`),
    );
    for (const account of [broken, sound]) await sms(account);
    await opened(sound, 'limit_near');
    expect(await list(broken)).toEqual([]);
    await sql((knex) => knex.raw('DROP TRIGGER refuse ON alerts; DROP FUNCTION refuse()'));
    await opened(broken, 'limit_near');
  });

  it('of several accounts lock their feeds in one order, so that processes do not block each other (R481)', async () => {
    const accounts = [await gateway.createAccount(), await gateway.createAccount()];
    const [first, second] = accounts.toSorted((left, right) => (left.accountId < right.accountId ? -1 : 1));
    await withUnitOfWork(gateway, async (uow, stores) => {
      const change = (begun: readonly Finding[], ended: readonly OpenedAlert[]) =>
        uow.run((tx) => changeAlerts(tx, system, { begun, ended, lasting: [] }, [], new Date()));
      await change([finding(second!, 'spendPerDay')], []);
      const open = await stores.alerts.open([second!.accountId]);
      expect(open).toHaveLength(1);
      const feed = (account: TestAccount) => ({ account_id: account.accountId });
      await sql((knex) =>
        knex('event_feeds')
          .insert({ ...feed(first!), last_seq: 0 })
          .onConflict()
          .ignore(),
      );
      await withKnex(gateway.database.connection, async (knex) => {
        let changed: Promise<unknown> = Promise.resolve();
        await knex.transaction(async (holds) => {
          await holds('event_feeds').where(feed(first!)).forUpdate();
          const before = new Set(await waiting(holds));
          changed = change([finding(first!, 'spendPerDay')], open);
          await eventually(async () => (await waiting(holds)).some((pid) => !before.has(pid)));
          expect(await holds('event_feeds').where(feed(second!)).forUpdate().skipLocked()).toHaveLength(1);
        });
        await changed;
      });
    });
  });

  it('whose cause has ended before the mail about the opening could leave are not mailed as open (R482)', async () => {
    const account = await gateway.createAccount();
    await withUnitOfWork(gateway, async (uow, stores) => {
      const silent = { ...system, mailer: { isConfigured: false } };
      const change = (begun: readonly Finding[], ended: readonly OpenedAlert[]) =>
        uow.run((tx) => changeAlerts(tx, silent, { begun, ended, lasting: [] }, [], new Date()));
      await change([finding(account, 'spendPerHour')], []);
      const [alert] = await stores.alerts.open([account.accountId]);
      await change([], [alert!]);
      const [person] = await stores.users.members(account.accountId);
      const until = new Date(Date.now() + 60_000).toISOString();
      for (const state of ['open', 'resolved'] as const) {
        const data = { kind: 'alert', userId: person!.id, alertId: alert!.id, state, until } as const;
        await uow.run((tx) => tx.jobs.enqueue([{ queue: 'person-mail', routeKey: 'person-mail', data }]));
        await mailsLeft();
      }
    });
    await mailTo(account.email, 'Resolved: A send limit is nearly reached');
    expect(mails.received.filter(({ to }) => to.includes(account.email))).toHaveLength(1);
  });

  it('are opened once, by however many processes, with one event and one mail (R481)', async () => {
    const account = await gateway.createAccount();
    await hook(account, ['account.limit_near']);
    const open = (at: TestGateway) =>
      withUnitOfWork(at, (uow) =>
        uow.run((tx) =>
          changeAlerts(
            tx,
            system,
            { begun: [finding(account, 'spendPerDay')], ended: [], lasting: [] },
            [],
            new Date(),
          ),
        ),
      );
    await Promise.all([gateway, other, gateway, other].map(open));
    expect(await list(account)).toHaveLength(1);
    await told('account.limit_near', 'open');
    await mailTo(account.email, 'A send limit is nearly reached');
    const feed = (await gateway.call('GET', '/developers/events', { key: account.key })).body.data;
    expect(feed).toHaveLength(1);
    await Promise.all([gateway, other, gateway, other].map(({ parts }) => parts.alerts.watchAccounts(0)));
    const [alert] = await list(account);
    await ended(account, alert.id);
    const after = (await gateway.call('GET', '/developers/events', { key: account.key })).body.data;
    expect(after.map(({ data }: { data: { state: string } }) => data.state)).toEqual(['open', 'resolved']);
  });

  it('are delivered as they change, and are hidden from the sandbox and from other accounts (R485)', async () => {
    const [account, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
    const token = await signIn(gateway, account);
    const updates = 'subscription { alertUpdates { __typename ... on Alert { id kind state } } }';
    const live = await subscribe(gateway, token, updates);
    const strangers = await subscribe(gateway, await signIn(gateway, stranger), updates);
    await gateway.parts.operations.sendLimits.setOfAccount.run(SYSTEM, {
      ...{ accountId: account.accountId, recipientsPerDay: 1 },
    });
    await sms(account);
    const alert = await opened(account, 'limit_near');
    await eventually(() => live.events.length > 0);
    expect(live.events[0]?.data?.alertUpdates).toEqual({
      __typename: 'Alert',
      id: alert.id,
      kind: 'LIMIT_NEAR',
      state: 'OPEN',
    });
    expect(alert.detail).toMatchObject({
      of: 'account',
      limit: 'recipientsPerDay',
      percent: 100,
      currency: null,
    });
    const { body } = await graphql(gateway, ALERTS, { token, variables: { filter: { state: 'OPEN' } } });
    expect(body.data.alerts).toMatchObject({ totalCount: 1, nodes: [{ id: alert.id, state: 'OPEN' }] });
    const sandbox = await gateway.call('GET', '/developers/alerts', { key: account.sandboxKey });
    expect(sandbox.body.data).toEqual([]);
    expect(await list(stranger)).toEqual([]);
    expect(strangers.events).toEqual([]);
    live.stop();
    strangers.stop();
  });
});
