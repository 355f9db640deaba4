import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';

/**
 * Tables that change without a mutation: by requests and by background work. The audit entry of a sign-in is written a
 * moment later.
 */
const CHANGING = [
  'query_points',
  'rate_',
  'session',
  'audit_',
  'list_counts',
  'provider_health',
  'heartbeat',
  'ledger_check',
  'api_key_requests',
  'api_key_scope_uses',
];
const AUDITED = `SELECT count(*)::int AS count FROM audit_entries WHERE action NOT LIKE 'member.signIn%'`;

describe('dry runs (R273)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let operator: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ ROLES: 'api', DATABASE_POOL_SIZE: '12' });
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    operator = await signInOperator(gateway);
  });
  afterAll(() => gateway?.stop());

  /** Returns a checksum of every table. */
  const state = () =>
    withKnex(gateway.database.connection, async (knex) => {
      const { rows } = await knex.raw(
        `SELECT relname AS name FROM pg_stat_user_tables WHERE schemaname = 'public'`,
      );
      const names: string[] = rows.map(({ name }: { name: string }) => name);
      const kept = names.filter((name) => !CHANGING.some((part) => name.includes(part)));
      expect(kept).toEqual(expect.arrayContaining(['messages', 'ledger_entries', 'api_keys', 'job_leases']));
      const sums: Record<string, unknown> = {};
      for (const name of [...kept, 'pgboss.job']) {
        const found = await knex.raw(
          `SELECT md5(string_agg(row::text, '|' ORDER BY row::text)) AS sum
           FROM (SELECT to_jsonb(t) - 'last_used_at' AS row FROM ${name} t) AS r`,
        );
        sums[name] = found.rows[0].sum;
      }
      const audited = await knex.raw(AUDITED);
      return { ...sums, audited: audited.rows[0].count };
    });

  /** Sends a REST request, and waits until the request log has it. */
  const call: TestGateway['call'] = async (...request) => {
    const answer = await gateway.call(...request);
    await withKnex(gateway.database.connection, (knex) =>
      eventually(
        async () =>
          (await knex('api_requests').where('request_id', answer.headers.get('x-request-id'))).length > 0,
      ),
    );
    return answer;
  };

  /** Runs a mutation as a dry run. Checks that the answer is marked as one, and that no table changed. */
  const dry = async (query: string, variables: object = {}, as = token) => {
    const before = await state();
    const { body } = await graphql(gateway, query, { token: as, variables });
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    expect(body.extensions).toMatchObject({ dryRun: true });
    expect(await state()).toEqual(before);
    return body.data;
  };

  it('of a send answer the message and its cost, and charge and send nothing', async () => {
    const query = `mutation ($dry: Boolean) {
      sendSms(input: { to: "+256700000001,+256700000002", message: "hello", idempotencyKey: "one" }, dryRun: $dry) {
        id status cost to recipients { to status } timeline { status } apiKey { keyId } sentBy { __typename }
      }
    }`;
    const expected = {
      status: 'PENDING',
      cost: 60,
      to: ['+256700000001', '+256700000002'],
      recipients: [
        { to: '+256700000001', status: 'PENDING' },
        { to: '+256700000002', status: 'PENDING' },
      ],
      sentBy: { __typename: 'User' },
    };
    const { sendSms } = await dry(query, { dry: true });
    expect(sendSms).toMatchObject(expected);
    // The dry run does not use up the idempotency key, so a second dry run gives the same answer.
    expect((await dry(query, { dry: true })).sendSms).toMatchObject(expected);
    const { body } = await graphql(gateway, query, { token, variables: { dry: false } });
    expect(body.data.sendSms).toMatchObject(expected);
    expect(body.extensions?.dryRun).toBeUndefined();
    const again = await dry(query, { dry: true });
    expect(again.sendSms.id).toBe(body.data.sendSms.id);
  });

  it('refuse what the real one refuses', async () => {
    const poor = await gateway.createAccount(10);
    const query = `mutation { sendSms(input: { to: "+256700000001", message: "hello" }, dryRun: true) { id } }`;
    const answer = await graphql(gateway, query, { token: await signIn(gateway, poor) });
    expect(codesOf(answer)).toEqual(['INSUFFICIENT_BALANCE']);
    const viewer = await signIn(gateway, await inviteMember(gateway, token, 'VIEWER'));
    expect(codesOf(await graphql(gateway, query, { token: viewer }))).toEqual(['FORBIDDEN']);
    const topUp = 'mutation ($a: ID!) { topUpAccount(accountId: $a, amount: 5, dryRun: true) { balance } }';
    const forbidden = await graphql(gateway, topUp, { token, variables: { a: account.accountId } });
    expect(codesOf(forbidden)).toEqual(['FORBIDDEN']);
  });

  it('of money show the balance that would be', async () => {
    const { body } = await graphql(gateway, '{ account { balance } }', { token });
    const topUp = `mutation ($a: ID!) { topUpAccount(accountId: $a, amount: 500, reference: "r1", dryRun: true) { balance } }`;
    expect((await dry(topUp, { a: account.accountId }, operator)).topUpAccount.balance).toBe(
      body.data.account.balance + 500,
    );
    const create = `mutation { createAccount(input: { email: "new@dry.example", currency: "UGX", balance: 7 }, dryRun: true) { id balance } }`;
    expect((await dry(create, {}, operator)).createAccount.balance).toBe(7);
    const price = `mutation { setPrice(input: { currency: "UGX", channel: SMS, prefix: "256", amount: 99 }, dryRun: true) { amount } }`;
    expect((await dry(price, {}, operator)).setPrice.amount).toBe(99);
    const plan = `mutation { setPlan(input: { name: "dry", perMinute: 5, perSecond: 0, webhooksPerMinute: 5 }, dryRun: true) { perMinute } }`;
    expect((await dry(plan, {}, operator)).setPlan.perMinute).toBe(5);
  });

  it('of an identity provider show the DNS record that would prove the domain, and leave sessions and settings', async () => {
    const set = (
      dryRun: boolean,
    ) => `mutation { setSingleSignOn(issuer: "http://127.0.0.1:4999", clientId: "c",
      clientSecret: "s", domain: "dry.example", required: false, roleMapping: { claim: "groups", defaultRole: VIEWER, rules: [] },
      dryRun: ${dryRun}) { domain dnsRecord { value } } }`;
    expect((await dry(set(true))).setSingleSignOn.domain).toBe('dry.example');
    await graphql(gateway, set(false), { token });
    const remove = (dryRun: boolean) => `mutation { removeSingleSignOn(dryRun: ${dryRun}) }`;
    expect((await dry(remove(true))).removeSingleSignOn).toBe(true);
    const { body } = await graphql(gateway, '{ singleSignOn { domain } }', { token });
    expect(body.data.singleSignOn.domain).toBe('dry.example');
    expect((await graphql(gateway, remove(false), { token })).body.data.removeSingleSignOn).toBe(true);
  });

  it('of access show who would lose what, and leave keys and people as they are', async () => {
    const create = `mutation { createApiKey(input: { name: "k", scopes: [SEND_SMS], environment: PRODUCTION }, dryRun: true) { key apiKey { keyId scopeUse { scope } } } }`;
    const made = (await dry(create)).createApiKey;
    expect(made.apiKey.scopeUse).toEqual([{ scope: 'SEND_SMS' }]);
    expect((await gateway.call('GET', '/account', { key: made.key })).status).toBe(401);

    const { keyId, key } = await gateway.createKey(account.accountId, {});
    const variables = { k: keyId };
    const rotate = 'mutation ($k: ID!) { rotateApiKey(keyId: $k, dryRun: true) { apiKey { keyId } } }';
    expect((await dry(rotate, variables)).rotateApiKey.apiKey.keyId).not.toBe(keyId);
    const revoke =
      'mutation ($k: ID!) { revokeApiKey(keyId: $k, withDescendants: true, dryRun: true) { revokedAt } }';
    expect((await dry(revoke, variables)).revokeApiKey.revokedAt).not.toBeNull();
    expect((await call('GET', '/account', { key })).status).toBe(200);

    const member = await inviteMember(gateway, token, 'ADMIN');
    const own = await signIn(gateway, member);
    const mine = `mutation { createApiKey(input: { name: "mine", scopes: [SEND_SMS], environment: SANDBOX }) { key } }`;
    const { body } = await graphql(gateway, mine, { token: own });
    const remove = 'mutation ($u: ID!) { dismissMember(userId: $u, dryRun: true) { apiKeys { revokedAt } } }';
    expect((await dry(remove, { u: member.id })).dismissMember.apiKeys).toEqual([
      { revokedAt: expect.any(String) },
    ]);
    const { status } = await gateway.call('GET', '/account', { key: body.data.createApiKey.key });
    expect([status, codesOf(await graphql(gateway, '{ viewer { id } }', { token: own }))]).toEqual([200, []]);
  });

  it('of many rows answer how many', async () => {
    const registered = await call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: 'http://127.0.0.1:9/', events: ['sms.failed'], maxRetries: 0 },
    });
    const { id } = registered.body.webhook;
    const redeliver =
      'mutation ($w: ID!) { redeliverFailed(webhookId: $w, since: "2020-01-01T00:00:00Z", dryRun: true) { queued } }';
    expect((await dry(redeliver, { w: id })).redeliverFailed.queued).toBe(0);
    const remove = 'mutation ($w: ID!) { deleteWebhook(id: $w, dryRun: true) }';
    expect((await dry(remove, { w: id })).deleteWebhook).toBe(true);
    const load = `mutation { importContacts(csv: "name,phone\\nAnn,+256700000001\\nBob,nobody", dryRun: true) {
      state progress { rowsTotal rowsDone created failed } errors { nodes { row column code } } } }`;
    expect((await dry(load)).importContacts).toEqual({
      state: 'DONE',
      progress: { rowsTotal: 2, rowsDone: 2, created: 1, failed: 1 },
      errors: { nodes: [{ row: expect.any(Number), column: 'phone', code: 'INVALID_PHONE_NUMBER' }] },
    });
  });

  it.each([
    ['its argument', 'dryRun: true', '{ messages { totalCount } }', 'Account.messages'],
    [
      'a variable',
      'dryRun: $dry',
      '{ ...A } } fragment A on Account { ledger { nodes { seq } }',
      'Account.ledger',
    ],
    ['a fragment', 'dryRun: true', '{ ... on Account { auditLog { totalCount } } }', 'Account.auditLog'],
    [
      'points',
      'dryRun: true',
      `{ analytics(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z") { at } }`,
      'Account.analytics',
    ],
  ])('show no long lists, named by %s (R331)', async (_way, argument, fields, field) => {
    const query = `mutation ($a: ID!${argument.includes('$') ? ', $dry: Boolean' : ''}) { topUpAccount(accountId: $a, amount: 5, ${argument}) ${fields} }`;
    const variables = { a: account.accountId, dry: true };
    const { status, body } = await graphql(gateway, query, { token: operator, variables });
    expect([status, body.errors[0].extensions.code]).toEqual([400, 'BAD_USER_INPUT']);
    expect(body.errors[0].extensions.details.fields[0]).toMatchObject({
      path: 'dryRun',
      message: expect.stringContaining(field),
    });
    expect(body.data).toBeUndefined();
  });

  it('release their locks after a time limit, whatever their fields wait for (R331)', async () => {
    const otherToken = await signIn(gateway, await gateway.createAccount());
    const send = (selection: string, dryRun: boolean) =>
      `mutation { sendSms(input: { to: "+256700000001", message: "hello" }, dryRun: ${dryRun}) ${selection} }`;
    await withKnex(gateway.database.connection, (knex) =>
      knex.transaction(async (blocker) => {
        // The dry run holds the lock of the account. Its field `timeline` waits for this lock of `blocker`.
        await blocker.raw('LOCK TABLE timeline_notes IN ACCESS EXCLUSIVE MODE');
        // The waiting dry runs do not keep another account from running one. On a busy machine that one may exceed the
        // limit, too. Then all begin again.
        await eventually(async () => {
          let ended = 0;
          const stuck = [1, 2, 3, 4].map(async () => {
            const answer = await graphql(gateway, send('{ timeline { status } }', true), { token });
            ended += 1;
            return answer;
          });
          const free = await graphql(gateway, send('{ id }', true), { token: otherToken });
          const wasFree = codesOf(free).length === 0 && ended < stuck.length;
          const answers = await Promise.all(stuck);
          expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
          for (const { body } of answers) expect(body.errors[0].message).toMatch(/ended after 500 ms/);
          return wasFree;
        });
        const lock = 'SELECT id FROM accounts WHERE id = ? FOR NO KEY UPDATE NOWAIT';
        expect((await blocker.raw(lock, [account.accountId])).rows).toHaveLength(1);
      }),
    );
    // On a busy machine the first one may take longer than the limit.
    await eventually(
      async () =>
        codesOf(await graphql(gateway, send('{ timeline { status } }', true), { token })).length === 0,
    );
    expect(codesOf(await graphql(gateway, send('{ id }', false), { token }))).toEqual([]);
  });

  it('end when the request does, so that any number can follow', async () => {
    const query = `mutation { sendSms(input: { to: "+256700000001", message: "hello" }, dryRun: true) { id status } }`;
    const answers = await Promise.all([...Array(12).keys()].map(() => graphql(gateway, query, { token })));
    expect(answers.flatMap(codesOf)).toEqual([]);
    const real = await graphql(gateway, query.replace(', dryRun: true', ''), { token });
    expect(codesOf(real)).toEqual([]);
  });
});
