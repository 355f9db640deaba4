import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { uuidFloor } from '../../src/domain/uuid.ts';
import { verifyWebhook } from '../../src/domain/webhooks/webhook-signature.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';
import { type ReceivedHook, startWebhookReceiver } from '../support/webhook-receiver.ts';

const UNKNOWN_ID = '01939f5e-7a00-7000-8000-000000000001';
const SECRET = /^whsec_[A-Za-z0-9_-]{43}$/;

let gateway: TestGateway;
let account: TestAccount;
const opened: { stop(): Promise<void> }[] = [];
beforeAll(async () => {
  gateway = await startTestGateway();
});
// Each test has a new account, because an account may have only 10 endpoints.
beforeEach(async () => {
  account = await gateway.createAccount();
});
afterAll(async () => {
  await gateway?.stop();
  for (const peer of opened) await peer.stop();
});

async function receiving(answer?: (hook: ReceivedHook, count: number) => number) {
  const receiver = await startWebhookReceiver(answer);
  opened.push(receiver);
  return receiver;
}
const call = (method: string, path: string, body?: unknown, key = account.key) =>
  gateway.call(method, `/developers/webhooks${path}`, { key, ...(body === undefined ? {} : { body }) });
async function register(body: object, key = account.key) {
  const answer = await call(
    'POST',
    '',
    { url: 'http://127.0.0.1:4999/hook', events: ['sms.sent'], ...body },
    key,
  );
  expect(answer.status).toBe(201);
  return answer.body as { webhook: { id: string } & Record<string, unknown>; secret: string };
}
async function sendSms(owner: TestAccount, message: string): Promise<string> {
  const sent = await gateway.call('POST', '/developers/sms', {
    key: owner.key,
    body: { to: '+256700123456', message },
  });
  expect(sent.status).toBe(200);
  return sent.body.id;
}
const isSignedWith = (secret: string, hook: ReceivedHook) =>
  verifyWebhook(secret, String(hook.headers['x-service-signature']), hook.raw, hook.at / 1000);

describe('registration (R29, R105–R109)', () => {
  it('answers 201 with the endpoint and its secret', async () => {
    const { webhook, secret } = await register({ description: 'Mine' });
    expect(secret).toMatch(SECRET);
    expect(webhook).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      environment: 'production',
      url: 'http://127.0.0.1:4999/hook',
      events: ['sms.sent'],
      description: 'Mine',
      isActive: true,
      disabledReason: null,
      maxRetries: 3,
      createdAt: expect.stringMatching(/Z$/),
    });
  });

  it.each([
    ['an unlisted event', { events: ['sms.delivered'] }, 'invalid_event_type'],
    ['no event', { events: [] }, 'validation_error'],
    ['6 retries', { maxRetries: 6 }, 'validation_error'],
    ['half a retry', { maxRetries: 1.5 }, 'validation_error'],
    ['a private address', { url: 'http://10.0.0.1/' }, 'invalid_webhook_url'],
    ['no URL', { url: 7 }, 'validation_error'],
  ])('refuses %s with 400', async (_what, body, code) => {
    const answer = await call('POST', '', { url: 'http://127.0.0.1:4999/', events: ['sms.sent'], ...body });
    expect(answer.status).toBe(400);
    expect(answer.body.error.code).toBe(code);
  });

  it('gives one answer for an unresolvable name and a private address, wherever a URL is given', async () => {
    const owner = await gateway.createAccount();
    const token = await signIn(gateway, owner);
    const { webhook } = await register({}, owner.key);
    const refusals = async (url: string) => {
      const input = { url, events: ['sms.sent'] };
      const create = 'mutation ($input: RegisterWebhookInput!) { registerWebhook(input: $input) { secret } }';
      const update =
        'mutation ($id: ID!, $url: String!) { updateWebhook(id: $id, input: { url: $url }) { id } }';
      const created = await call('POST', '', input, owner.key);
      const changed = await call('PUT', `/${webhook.id}`, { url }, owner.key);
      const answers = [
        await graphql(gateway, create, { token, variables: { input } }),
        await graphql(gateway, update, { token, variables: { id: webhook.id, url } }),
      ];
      const told = answers.map(({ body }) => {
        const { message, extensions } = body.errors[0];
        return { message, code: extensions.code, details: extensions.details };
      });
      return [created.status, created.body, changed.status, changed.body, ...told];
    };
    // 255.255.255.255 is never a public IP address. The host name never resolves (RFC 6761).
    const inside = await refusals('https://255.255.255.255/');
    expect(inside[1]).toMatchObject({
      error: {
        code: 'invalid_webhook_url',
        message: 'The webhook URL cannot be used: the host does not resolve to a public address',
      },
    });
    expect(await refusals('https://nowhere.invalid/')).toEqual(inside);
  });

  it('accepts 0 retries, and the same URL twice with different secrets', async () => {
    const first = await register({ maxRetries: 0 });
    const second = await register({ maxRetries: 5 });
    expect([first.webhook.maxRetries, second.webhook.maxRetries]).toEqual([0, 5]);
    expect(first.secret).not.toBe(second.secret);
  });

  it('allows 10 webhooks an account, then 409 webhook_limit, also for concurrent requests', async () => {
    const owner = await gateway.createAccount();
    const body = { url: 'http://127.0.0.1:4999/', events: ['sms.sent'] };
    const answers = await Promise.all(Array.from({ length: 13 }, () => call('POST', '', body, owner.key)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([...Array(10).fill(201), 409, 409, 409]);
    const refused = answers.find((answer) => answer.status === 409);
    expect(refused?.body.error.code).toBe('webhook_limit');
    const { body: list } = await call('GET', '', undefined, owner.key);
    await call('DELETE', `/${list.data[0].id}`, undefined, owner.key);
    expect((await call('POST', '', body, owner.key)).status).toBe(201);
  });
});

describe('secrets in the query of a URL (R212)', () => {
  const WHOLE = 'http://127.0.0.1:4999/hook?token=s3cret&v=2';
  const SHOWN = 'http://127.0.0.1:4999/hook?token=***&v=***';

  it('are masked in lists and in the audit log, and shown to people who manage the webhook', async () => {
    const { webhook } = await register({ url: WHOLE });
    expect(webhook.url).toBe(WHOLE);
    expect((await call('GET', `/${webhook.id}`)).body.webhook.url).toBe(WHOLE);
    const { text } = await call('GET', '');
    expect(JSON.parse(text).data[0].url).toBe(SHOWN);
    await call('PUT', `/${webhook.id}`, { description: 'another' });
    await call('DELETE', `/${webhook.id}`);
    const owner = await signIn(gateway, account);
    const log = await graphql(gateway, '{ auditLog { nodes { action before after } } }', { token: owner });
    const told = JSON.stringify(log.body.data);
    expect(told).not.toContain('s3cret');
    expect(told.split(SHOWN)).toHaveLength(5);
    const stored = await withKnex(gateway.database.url, (knex) =>
      knex('audit_entries').where({ target: webhook.id }).select('before', 'after'),
    );
    expect(JSON.stringify(stored).split(SHOWN)).toHaveLength(5);
    expect(JSON.stringify(stored)).not.toContain('s3cret');
  });

  it('are masked in old records that have them unmasked', async () => {
    await withKnex(gateway.database.url, (knex) =>
      knex('audit_entries').insert({
        id: uuidFloor(new Date()),
        account_id: account.accountId,
        at: new Date(),
        actor: 'key:old',
        action: 'webhook.register',
        target: UNKNOWN_ID,
        before: null,
        after: JSON.stringify({ url: WHOLE }),
        seq: 1_000_000,
        hash: Buffer.alloc(32),
      }),
    );
    const token = await signIn(gateway, account);
    const query = '{ auditLog(filter: { actor: "key:old" }) { nodes { after } } }';
    expect((await graphql(gateway, query, { token })).body.data.auditLog.nodes).toEqual([
      { after: { url: SHOWN } },
    ]);
    // Triggers forbid deletes from the audit log, so switch them off.
    await withKnex(gateway.database.url, (knex) =>
      knex.transaction(async (all) => {
        await all.raw('SET LOCAL session_replication_role = replica');
        await all('audit_entries').where({ seq: 1_000_000 }).delete();
      }),
    );
  });

  it('are shown in GraphQL only to people who may change the webhook', async () => {
    const { webhook } = await register({ url: WHOLE });
    const owner = await signIn(gateway, account);
    const viewer = await signIn(gateway, await inviteMember(gateway, owner, 'VIEWER'));
    const query = `{ webhook(id: "${webhook.id}") { url } webhooks { url } }`;
    const seen = async (token: string) => (await graphql(gateway, query, { token })).body.data;
    expect(await seen(owner)).toEqual({ webhook: { url: WHOLE }, webhooks: [{ url: SHOWN }] });
    expect(await seen(viewer)).toEqual({ webhook: { url: SHOWN }, webhooks: [{ url: SHOWN }] });
  });

  it('are kept when an update repeats the masked URL, and required when nothing is stored', async () => {
    const { webhook } = await register({ url: WHOLE });
    const same = await call('PUT', `/${webhook.id}`, { url: SHOWN, description: 'another' });
    expect(same.body.webhook).toMatchObject({ url: WHOLE, description: 'another' });
    for (const answer of [
      await call('PUT', `/${webhook.id}`, { url: 'http://127.0.0.1:4999/other?token=***' }),
      await call('POST', '', { url: SHOWN, events: ['sms.sent'] }),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({
        code: 'invalid_webhook_url',
        message: 'The webhook URL cannot be used: it has *** where lists hide a value; give the whole URL.',
      });
    }
  });
});

describe('management (R28)', () => {
  it('lists webhooks in the envelope, newest first, without secrets', async () => {
    const owner = await gateway.createAccount();
    const first = await register({ description: 'first' }, owner.key);
    const second = await register({ description: 'second' }, owner.key);
    const all = await call('GET', '', undefined, owner.key);
    expect(all.body.pagination).toEqual({ page: 1, limit: 20, total: 2, pages: 1 });
    expect(all.body.data).toEqual([second.webhook, first.webhook]);
    const page = await call('GET', '?limit=1&page=2', undefined, owner.key);
    expect(page.body.data).toEqual([first.webhook]);
    expect(page.body.pagination).toEqual({ page: 2, limit: 1, total: 2, pages: 2 });
    expect(all.text).not.toContain('whsec_');
  });

  it('changes what PUT names, and nothing else', async () => {
    const { webhook } = await register({ description: 'before' });
    const path = `/${webhook.id}`;
    const changed = await call('PUT', path, { events: ['sms.failed', 'sms.failed'], maxRetries: 5 });
    expect(changed.body).toEqual({ webhook: { ...webhook, events: ['sms.failed'], maxRetries: 5 } });
    const described = await call('PUT', path, { description: null, isActive: false });
    expect(described.body.webhook).toMatchObject({ description: null, isActive: false, maxRetries: 5 });
    expect((await call('PUT', path, {})).body).toEqual(described.body);
    expect((await call('GET', path)).body).toEqual(described.body);
    expect((await call('PUT', path, { events: ['nope'] })).body.error.code).toBe('invalid_event_type');
    expect((await call('PUT', path, { maxRetries: -1 })).body.error.code).toBe('validation_error');
    expect((await call('PUT', path, { url: 'http://169.254.169.254/' })).body.error.code).toBe(
      'invalid_webhook_url',
    );
  });

  it('sends the next event to the new URL', async () => {
    const owner = await gateway.createAccount();
    const [old, next] = [await receiving(), await receiving()];
    const { webhook } = await register({ url: old.url }, owner.key);
    await call('PUT', `/${webhook.id}`, { url: next.url }, owner.key);
    const id = await sendSms(owner, 'to the new address');
    await next.waitFor((hook) => hook.body.messageId === id);
    expect(old.received).toHaveLength(0);
  });

  it('deletes the webhook from every route, and answers with its id', async () => {
    const { webhook } = await register({});
    const removed = await call('DELETE', `/${webhook.id}`);
    expect([removed.status, removed.body]).toEqual([200, { id: webhook.id, deleted: true }]);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PUT', '', {}],
      ['DELETE', '', undefined],
      ['POST', '/rotate-secret', undefined],
      ['POST', '/test', undefined],
      ['GET', '/deliveries', undefined],
      ['POST', '/recover', { since: '2026-01-01T00:00:00Z' }],
    ] as const) {
      const answer = await call(method, `/${webhook.id}${path}`, body);
      expect([method, path, answer.status, answer.body.error.code]).toEqual([method, path, 404, 'not_found']);
    }
  });

  it("does not find another account's webhook, nor an invalid id (R5)", async () => {
    const stranger = await gateway.createAccount();
    const { webhook } = await register({});
    for (const id of [webhook.id, UNKNOWN_ID, 'nonsense']) {
      expect((await call('GET', `/${id}`, undefined, stranger.key)).status).toBe(404);
      expect((await call('PUT', `/${id}`, { isActive: false }, stranger.key)).status).toBe(404);
      expect((await call('POST', `/${id}/rotate-secret`, undefined, stranger.key)).status).toBe(404);
      expect((await call('DELETE', `/${id}`, undefined, stranger.key)).status).toBe(404);
      expect((await call('GET', `/${id}/deliveries`, undefined, stranger.key)).status).toBe(404);
    }
    expect((await call('GET', `/${webhook.id}`)).body.webhook.isActive).toBe(true);
  });

  it('needs MANAGE_WEBHOOKS on every route, and READ_MESSAGES for the feed (R22)', async () => {
    const { key } = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    const { webhook } = await register({});
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['GET', '/events', undefined],
      ['GET', `/${webhook.id}`, undefined],
      ['PUT', `/${webhook.id}`, {}],
      ['POST', `/${webhook.id}/rotate-secret`, undefined],
      ['POST', `/${webhook.id}/test`, undefined],
      ['POST', `/${webhook.id}/recover`, {}],
      ['GET', `/${webhook.id}/deliveries`, undefined],
      ['DELETE', `/${webhook.id}`, undefined],
    ] as const) {
      const answer = await call(method, path, body, key);
      expect([method, path, answer.status]).toEqual([method, path, 403]);
      expect(answer.body.message).toContain('MANAGE_WEBHOOKS');
    }
    const managing = await gateway.createKey(account.accountId, { scopes: ['MANAGE_WEBHOOKS'] });
    expect((await call('GET', '', undefined, managing.key)).status).toBe(200);
    expect((await gateway.call('GET', '/developers/events', { key })).status).toBe(200);
    expect((await gateway.call('GET', '/developers/events', { key: managing.key })).status).toBe(403);
  });
});

describe('rotate-secret (R111)', () => {
  it('the next delivery is signed with the new secret only', async () => {
    const owner = await gateway.createAccount();
    const receiver = await receiving();
    const { webhook, secret } = await register({ url: receiver.url }, owner.key);
    const first = await sendSms(owner, 'before');
    expect(isSignedWith(secret, await receiver.waitFor((hook) => hook.body.messageId === first))).toBe(true);
    const rotated = await call('POST', `/${webhook.id}/rotate-secret`, undefined, owner.key);
    expect(rotated.status).toBe(200);
    expect(rotated.body).toEqual({ webhook, secret: expect.stringMatching(SECRET) });
    expect(rotated.body.secret).not.toBe(secret);
    const second = await sendSms(owner, 'after');
    const hook = await receiver.waitFor((found) => found.body.messageId === second);
    expect([isSignedWith(rotated.body.secret, hook), isSignedWith(secret, hook)]).toEqual([true, false]);
  });

  it('keeps secrets sealed in the database, and out of the audit log (R243)', async () => {
    const { webhook, secret } = await register({});
    const rotated = await call('POST', `/${webhook.id}/rotate-secret`);
    await withKnex(gateway.database.connection, async (knex) => {
      const rows = await knex('webhooks').select();
      const audit = await knex('audit_entries').where({ target: webhook.id }).select();
      expect(audit.map((entry) => entry.action).sort()).toEqual(['webhook.register', 'webhook.rotateSecret']);
      for (const plain of [secret, rotated.body.secret]) {
        expect(JSON.stringify([rows, audit])).not.toContain(plain);
      }
    });
  });
});

describe('test (R28, R113)', () => {
  it('makes one attempt at once and answers with its record', async () => {
    const owner = await gateway.createAccount();
    const receiver = await receiving();
    const { webhook, secret } = await register({ url: receiver.url }, owner.key);
    const tested = await call('POST', `/${webhook.id}/test`, undefined, owner.key);
    const [hook] = receiver.received;
    if (!hook) throw new Error('nothing came');
    expect(tested.body).toEqual({
      success: true,
      delivery: {
        id: hook.headers['x-service-delivery'],
        event: 'webhook.test',
        messageId: null,
        status: 'success',
        httpStatus: 200,
        attempts: 1,
        responseBody: 'ok',
        errorMessage: null,
        nextRetryAt: null,
        createdAt: expect.any(String),
        attemptLog: [
          { at: expect.any(String), httpStatus: 200, durationMs: expect.any(Number), errorMessage: null },
        ],
      },
    });
    expect(hook.headers['x-service-event']).toBe('webhook.test');
    expect(hook.body).toMatchObject({ event: 'webhook.test', channel: 'system', data: expect.any(Object) });
    expect(hook.body).not.toHaveProperty('messageId');
    expect(isSignedWith(secret, hook)).toBe(true);
    const kept = await call(
      'GET',
      `/${webhook.id}/deliveries/${tested.body.delivery.id}`,
      undefined,
      owner.key,
    );
    expect(kept.body).toEqual({ delivery: tested.body.delivery });
  });

  it('reports a failure, and does not retry', async () => {
    const owner = await gateway.createAccount();
    const receiver = await receiving(() => 503);
    const { webhook } = await register({ url: receiver.url, maxRetries: 5 }, owner.key);
    const tested = await call('POST', `/${webhook.id}/test`, undefined, owner.key);
    expect(tested.status).toBe(200);
    expect(tested.body).toMatchObject({
      success: false,
      delivery: {
        status: 'failed',
        httpStatus: 503,
        attempts: 1,
        nextRetryAt: null,
        errorMessage: 'answered 503',
      },
    });
    expect(receiver.received).toHaveLength(1);
  });

  it('reaches an inactive webhook, and only the tested one', async () => {
    const owner = await gateway.createAccount();
    const [tested, other] = [await receiving(), await receiving()];
    const { webhook } = await register({ url: tested.url }, owner.key);
    await register({ url: other.url, events: ['webhook.test'] }, owner.key);
    await call('PUT', `/${webhook.id}`, { isActive: false }, owner.key);
    const answer = await call('POST', `/${webhook.id}/test`, undefined, owner.key);
    expect(answer.body.success).toBe(true);
    expect([tested.received.length, other.received.length]).toEqual([1, 0]);
  });
});

describe('event types (R28, R110)', () => {
  it('are listed, all fifteen, with channel, description and a sample envelope', async () => {
    const { body } = await call('GET', '/events');
    expect(body.pagination).toEqual({ page: 1, limit: 20, total: 15, pages: 1 });
    expect(
      body.data.map((type: { event: string; channel: string }) => `${type.event} ${type.channel}`),
    ).toEqual([
      'sms.sent sms',
      'sms.failed sms',
      'email.sent email',
      'email.failed email',
      'push.sent push',
      'push.partial push',
      'push.failed push',
      'whatsapp.delivered whatsapp',
      'whatsapp.read whatsapp',
      'whatsapp.failed whatsapp',
      'webhook.test system',
      'account.balance_low system',
      'account.limit_near system',
      'webhook.failing system',
      'sender.reviewed system',
    ]);
    for (const { event, channel, description, sample } of body.data) {
      expect(description.length).toBeGreaterThan(10);
      expect(sample).toMatchObject({ event, channel, timestamp: expect.stringMatching(/Z$/), data: {} });
      expect('messageId' in sample).toBe(channel !== 'system');
    }
    expect(body.data[1].sample.data).toHaveProperty('error');
    const registered = await register({ events: body.data.map((type: { event: string }) => type.event) });
    expect(registered.webhook.events).toHaveLength(15);
  });

  it('have samples of sms.sent and sms.failed with the members of real ones', async () => {
    const owner = await gateway.createAccount();
    const receiver = await receiving();
    await register({ url: receiver.url, events: ['sms.sent', 'sms.failed'] }, owner.key);
    for (const to of ['+256700123456', '+256700120001']) {
      await gateway.call('POST', '/developers/sms', { key: owner.key, body: { to, message: 'Hi' } });
    }
    const { body } = await call('GET', '/events');
    for (const type of ['sms.sent', 'sms.failed']) {
      const real = await receiver.waitFor((hook) => hook.body.event === type);
      const { sample } = body.data.find((shown: { event: string }) => shown.event === type);
      expect(Object.keys(sample)).toEqual(Object.keys(real.body));
      expect(Object.keys(sample.data).sort()).toEqual(Object.keys(real.body.data).sort());
    }
  });
});

describe('a webhook that only fails (R31)', () => {
  const DAY_MS = 24 * 3_600_000;
  const failingSince = (id: string, time?: Date) =>
    withKnex(gateway.database.connection, async (knex) => {
      if (time) await knex('webhooks').where({ id }).update({ failing_since: time });
      const [row] = await knex('webhooks').where({ id }).select('failing_since');
      return row.failing_since as Date | null;
    });

  /** Records one failed delivery for each of the last `days` days. The event of the oldest is `oldest`. */
  const failedDaily = (owner: TestAccount, id: string, days: number, oldest = 'sms.sent') =>
    withKnex(gateway.database.connection, (knex) =>
      knex('webhook_deliveries').insert(
        Array.from({ length: days }, (_, day) => {
          const at = new Date(Date.now() - (day + 0.5) * DAY_MS);
          return {
            id: uuidFloor(at),
            account_id: owner.accountId,
            webhook_id: id,
            // An endpoint has at most one delivery for each event. These numbers differ from those of the test's own
            // events.
            event_seq: 1_000_000 + day,
            event: day === days - 1 ? oldest : 'sms.sent',
            status: 'failed',
            attempts: 1,
            created_at: at,
          };
        }),
      ),
    );
  const failing = async () => {
    const owner = await gateway.createAccount();
    const receiver = await receiving((hook) => (hook.body.data.message === 'well' ? 200 : 500));
    const { webhook } = await register({ url: receiver.url, maxRetries: 0 }, owner.key);
    const get = async () => (await call('GET', `/${webhook.id}`, undefined, owner.key)).body.webhook;
    /** Sends a message that causes an attempt. The attempt fails unless the text is "well". */
    const attempt = async (message = 'hello') => {
      const recorded = (await deliveriesOf()).pagination.total;
      await sendSms(owner, message);
      await eventually(async () => {
        const { data, pagination } = await deliveriesOf();
        return pagination.total === recorded + 1 && data[0].attempts === 1;
      });
    };
    const deliveriesOf = async () =>
      (await call('GET', `/${webhook.id}/deliveries`, undefined, owner.key)).body;
    return { owner, id: webhook.id, receiver, get, attempt };
  };

  it('is disabled after 5 days, with the reason and an audit entry, and starts over when it is activated', async () => {
    const { owner, id, get, attempt } = await failing();
    await attempt();
    const first = await failingSince(id);
    expect(first).toBeInstanceOf(Date);
    await attempt();
    expect(await failingSince(id)).toEqual(first);

    await failedDaily(owner, id, 5);
    await failingSince(id, new Date(Date.now() - 5 * DAY_MS + 60_000));
    await attempt();
    expect(await get()).toMatchObject({ isActive: true, disabledReason: null });
    await failingSince(id, new Date(Date.now() - 5 * DAY_MS));
    await attempt('the last straw');
    await eventually(async () => (await get()).isActive === false);
    expect((await get()).disabledReason).toMatch(/^Every attempt since 20.* failed/);
    await withKnex(gateway.database.connection, async (knex) => {
      const [entry] = await knex('audit_entries').where({ target: id, action: 'webhook.disable' });
      expect(entry).toMatchObject({ actor: 'system:webhooks', account_id: owner.accountId });
    });

    const activated = await call('PUT', `/${id}`, { isActive: true }, owner.key);
    expect(activated.body.webhook).toMatchObject({ isActive: true, disabledReason: null });
    expect(await failingSince(id)).toBeNull();
  });

  it.each([
    ['nothing was sent', 4, 'sms.sent'],
    ['nothing was sent but a test', 5, 'webhook.test'],
  ])(
    'stays active when on one of the days %s, because its state then is unknown',
    async (_, days, oldest) => {
      const { owner, id, get, attempt } = await failing();
      await attempt();
      await failedDaily(owner, id, days, oldest);
      await failingSince(id, new Date(Date.now() - 6 * DAY_MS));
      await attempt();
      expect(await get()).toMatchObject({ isActive: true, disabledReason: null });
    },
  );

  it('starts over with another URL, but not with the same', async () => {
    const { owner, id, receiver, attempt } = await failing();
    await attempt();
    await call('PUT', `/${id}`, { url: receiver.url, description: 'the same' }, owner.key);
    expect(await failingSince(id)).toBeInstanceOf(Date);
    await call('PUT', `/${id}`, { url: `${receiver.url}/repaired` }, owner.key);
    expect(await failingSince(id)).toBeNull();
  });

  it('is not judged by failed tests', async () => {
    const { owner, id, get } = await failing();
    await call('POST', `/${id}/test`, undefined, owner.key);
    expect(await failingSince(id)).toBeNull();
    await failedDaily(owner, id, 5);
    await failingSince(id, new Date(Date.now() - 6 * DAY_MS));
    await call('POST', `/${id}/test`, undefined, owner.key);
    expect((await get()).isActive).toBe(true);
  });

  it('starts over after one success', async () => {
    const { owner, id, get, attempt } = await failing();
    await failedDaily(owner, id, 5);
    await failingSince(id, new Date(Date.now() - 6 * DAY_MS));
    await attempt('well');
    expect(await failingSince(id)).toBeNull();
    await attempt();
    expect((await get()).isActive).toBe(true);
  });

  it('starts over after a successful test', async () => {
    const owner = await gateway.createAccount();
    const receiver = await receiving();
    const { webhook } = await register({ url: receiver.url }, owner.key);
    await failingSince(webhook.id, new Date(Date.now() - 6 * DAY_MS));
    await call('POST', `/${webhook.id}/test`, undefined, owner.key);
    expect(await failingSince(webhook.id)).toBeNull();
  });
});
