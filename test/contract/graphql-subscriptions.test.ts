import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Budgets } from '../../src/domain/accounts/budgets.ts';
import { announceLive } from '../../src/storage/postgres/pg-live.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { askStream, hashed, type Subscription, subscribe } from '../support/live.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const MESSAGES = `subscription ($id: ID, $filter: MessageFilter) {
  messageUpdated(id: $id, filter: $filter) { id status content recipients { to status } } }`;
const TICKS = `subscription ($environment: Environment) { usageTick(environment: $environment) {
  at day messages cost balance currency counts { status messages } } }`;

const NOTHING_SENT = { messages: 0, cost: 0, currency: 'UGX', counts: [] };

describe('live updates', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let knex: ReturnType<typeof createKnex>;
  let database: Sql;
  const open: Subscription[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    knex = createKnex(gateway.database.url, silentLogger);
    database = new Sql(knex);
  });
  afterEach(() => {
    for (const subscription of open.splice(0)) subscription.stop();
  });
  afterAll(async () => {
    await knex?.destroy();
    await gateway?.stop();
  });

  /** Announces a change of messages in the way that the stores do. */
  const touch = (messageIds: readonly string[], accountId = account.accountId) =>
    database.transaction(async (sql) => announceLive(sql, 'message', named(messageIds, accountId)));
  const named = (ids: readonly string[], accountId = account.accountId) =>
    ids.map((id) => ({ accountId, id }));

  async function watch(query: string, variables: Record<string, unknown> = {}, as = token, on = gateway) {
    const subscription = await subscribe(on, as, query, variables);
    open.push(subscription);
    return subscription;
  }
  const send = async (message: string, key = account.key, to = '+256700123456') =>
    (await gateway.call('POST', '/developers/sms', { key, body: { to, message } })).body.id as string;
  const shownBy = (live: Subscription) => live.events.map(({ data }) => Object.values(data ?? {})[0]);
  /** Sends sandbox messages. Resolves when all announcements about them have arrived. */
  const sendQuietly = async (count: number) => {
    const before = await watch(MESSAGES);
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push(await send(`quiet ${i}`, account.sandboxKey));
    await eventually(() => ids.every((id) => shownBy(before).some((message) => message.id === id)));
    before.stop();
    return ids;
  };

  it('show the states of a message in order, up to the last', async () => {
    const live = await watch(MESSAGES);
    const id = await send('hello');
    await eventually(() => shownBy(live).at(-1)?.status === 'DELIVERED');
    const order = ['PENDING', 'SENT', 'DELIVERED'];
    const seen = shownBy(live).map(({ status }) => order.indexOf(status));
    expect(seen).toEqual([...seen].sort());
    expect(seen).not.toContain(-1);
    expect(shownBy(live).at(-1)).toEqual({
      id,
      status: 'DELIVERED',
      content: 'hello',
      recipients: [{ to: '+256700123456', status: 'DELIVERED' }],
    });
    expect(live.events.flatMap(({ errors }) => errors ?? [])).toEqual([]);
    expect(live.end).toBeUndefined();
  });

  it('show an import from its start to its end (R285)', async () => {
    const live = await watch('subscription { contactImportUpdated { id state progress { created } } }');
    const query = 'mutation ($csv: String!) { importContacts(csv: $csv) { id } }';
    const started = await graphql(gateway, query, { token, variables: { csv: 'phone\n+256700999001\n' } });
    const { id } = started.body.data.importContacts;
    await eventually(() => shownBy(live).at(-1)?.state === 'DONE');
    expect(shownBy(live).at(-1)).toEqual({ id, state: 'DONE', progress: { created: 1 } });
  });

  it('show each new entry of the audit log, and none of another account (R285)', async () => {
    const other = await gateway.createAccount();
    const theirs = await watch(
      'subscription { auditEntryAdded { target { id } } }',
      {},
      await signIn(gateway, other),
    );
    const live = await watch('subscription { auditEntryAdded { actor { __typename } target { type id } } }');
    const { keyId } = await gateway.createKey(account.accountId, {});
    await eventually(() => shownBy(live).some(({ target }) => target.id === keyId));
    expect(shownBy(live)).toContainEqual({
      actor: { __typename: 'System' },
      target: { type: 'API_KEY', id: keyId },
    });
    // Their own sign-in may be among their entries. A key of theirs comes after all that could have come.
    const own = await gateway.createKey(other.accountId, {});
    await eventually(() => shownBy(theirs).some(({ target }) => target.id === own.keyId));
    expect(shownBy(theirs).filter(({ target }) => target.id === keyId)).toEqual([]);
  });

  it('pass what matches a filter, an id or both', async () => {
    const { keyId } = await gateway.createKey(account.accountId, {});
    const [wanted, other] = [
      await send('the one', account.sandboxKey),
      await send('another', account.sandboxKey),
    ];
    const failed = await watch(MESSAGES, { filter: { status: 'FAILED' } });
    const sandbox = await watch(MESSAGES, { filter: { environment: 'SANDBOX', search: 'needle' } });
    const one = await watch(MESSAGES, { id: wanted.toUpperCase() });
    const ofKey = await watch(MESSAGES, { filter: { apiKeyId: keyId } });
    const all = await watch(MESSAGES);
    const found = await send('a needle', account.sandboxKey);
    await send('a needle in production');
    // The carrier rejects messages to this number.
    const lost = await send('lost', account.key, '+256700120001');
    await touch([other, wanted]);
    await eventually(() => failed.events.length > 0 && sandbox.events.length > 0 && one.events.length > 0);
    await eventually(() => shownBy(all).some(({ id, status }) => id === lost && status === 'FAILED'));
    await eventually(() => shownBy(all).some(({ id }) => id === other));
    expect(new Set(shownBy(failed).map(({ id }) => id))).toEqual(new Set([lost]));
    expect(new Set(shownBy(sandbox).map(({ id }) => id))).toEqual(new Set([found]));
    expect(new Set(shownBy(one).map(({ id }) => id))).toEqual(new Set([wanted]));
    expect(ofKey.events).toEqual([]);
  });

  it('show nothing of another account, even if its changes were announced', async () => {
    const other = await gateway.createAccount();
    const theirs = await watch(MESSAGES, {}, await signIn(gateway, other));
    const foreignKey = account.key.split('_')[1]?.slice(0, 16);
    const byKey = await watch(MESSAGES, { filter: { apiKeyId: foreignKey } }, await signIn(gateway, other));
    const ticks = await watch(TICKS, {}, await signIn(gateway, other));
    const mine = await watch(MESSAGES);
    const id = await send('mine');
    await eventually(() => shownBy(mine).at(-1)?.status === 'DELIVERED');
    // The account in this announcement has no message with this id. So its subscribers get nothing.
    await touch([id], other.accountId);
    const own = await send('theirs', other.sandboxKey);
    await eventually(() => shownBy(theirs).some((message) => message.id === own));
    expect(new Set(shownBy(theirs).map((message) => message.id))).toEqual(new Set([own]));
    await eventually(() => ticks.events.length > 0);
    expect(shownBy(ticks).map(({ messages }) => messages)).toEqual([1]);
    expect(byKey.events).toEqual([]);
  });

  it('show deliveries with their retries, of one webhook or all', async () => {
    await using stack = new AsyncDisposableStack();
    const receiver = await startWebhookReceiver((_, count) => (count === 1 ? 500 : 200));
    stack.defer(() => receiver.stop());
    const quiet = await startWebhookReceiver();
    stack.defer(() => quiet.stop());
    const register = async (url: string) =>
      (
        await graphql(
          gateway,
          'mutation ($url: String!) { registerWebhook(input: { url: $url, events: ["sms.sent"] }) { webhook { id } } }',
          { token, variables: { url } },
        )
      ).body.data.registerWebhook.webhook.id as string;
    const [id, otherId] = [await register(receiver.url), await register(quiet.url)];
    const query = `subscription ($id: ID) { deliveryUpdated(webhookId: $id) {
      id status attempts httpStatus webhook { id } message { id } attemptLog { httpStatus } } }`;
    const one = await watch(query, { id });
    const all = await watch(query);
    const updates = await watch(
      'subscription { deliveryUpdates { __typename ... on WebhookDelivery { id status } ... on Refetch { reason } } }',
    );
    const messageId = await send('hook');
    await eventually(() => shownBy(one).at(-1)?.status === 'RETRYING');
    const deliveryId = shownBy(one).at(-1)?.id;
    await graphql(gateway, 'mutation ($id: ID!) { redeliver(deliveryId: $id) { id } }', {
      token,
      variables: { id: deliveryId },
    });
    await eventually(() => shownBy(one).at(-1)?.status === 'SUCCESS');
    expect(shownBy(one).at(-1)).toEqual({
      id: deliveryId,
      status: 'SUCCESS',
      attempts: 2,
      httpStatus: 200,
      webhook: { id },
      message: { id: messageId },
      attemptLog: [{ httpStatus: 500 }, { httpStatus: 200 }],
    });
    expect(new Set(shownBy(one).map((delivery) => delivery.webhook.id))).toEqual(new Set([id]));
    await eventually(() =>
      shownBy(all).some((delivery) => delivery.webhook.id === otherId && delivery.status === 'SUCCESS'),
    );
    // A stream that is slower would no longer find the delivery of a deleted webhook.
    await eventually(() =>
      [all, updates].every((stream) =>
        shownBy(stream).some((delivery) => delivery.id === deliveryId && delivery.status === 'SUCCESS'),
      ),
    );
    await graphql(gateway, 'mutation ($id: ID!) { deleteWebhook(id: $id) }', { token, variables: { id } });
    await eventually(() => all.events.at(-1)?.errors?.[0]?.extensions?.code === 'REFETCH');
    // The union has a member instead of the error (R336).
    await eventually(() => shownBy(updates).at(-1)?.__typename === 'Refetch');
    expect(shownBy(updates).at(-1)).toEqual({
      __typename: 'Refetch',
      reason: expect.stringContaining('missed'),
    });
    expect(shownBy(updates)).toContainEqual({
      __typename: 'WebhookDelivery',
      id: deliveryId,
      status: 'SUCCESS',
    });
    expect(updates.events.flatMap(({ errors }) => errors ?? [])).toEqual([]);
    await graphql(gateway, 'mutation ($id: ID!) { deleteWebhook(id: $id) }', {
      token,
      variables: { id: otherId },
    });
  });

  it('show messages and audit entries as members of unions (R336)', async () => {
    const messages = await watch(
      'subscription { messageUpdates(filter: { environment: SANDBOX }) { ... on Message { id } } }',
    );
    const entries = await watch('subscription { auditUpdates { ... on AuditEntry { action } } }');
    const id = await send('union', account.sandboxKey);
    await eventually(() => shownBy(messages).some((message) => message.id === id));
    const create = `mutation { createApiKey(input: { name: "union", scopes: [SEND_SMS], environment: SANDBOX }) { key } }`;
    await graphql(gateway, create, { token });
    await eventually(() => shownBy(entries).some(({ action }) => action === 'apiKey.create'));
  });

  it('announce balance and usage at most once a second, and only when they changed', async () => {
    const own = await gateway.createAccount(1_000);
    const live = await watch(TICKS, {}, await signIn(gateway, own));
    const sandbox = await watch(TICKS, { environment: 'SANDBOX' }, await signIn(gateway, own));
    const startedAt = performance.now();
    for (let i = 0; i < 5; i++) await send(`tick ${i}`, own.key);
    const system = { kind: 'system', name: 'test' } as const;
    const { operations } = gateway.parts;
    await operations.accounts.topUp.run(system, { accountId: own.accountId, amount: 500 });
    const delivered = [{ status: 'DELIVERED', messages: 5 }];
    await eventually(() => {
      const tick = shownBy(live).at(-1);
      return JSON.stringify(tick?.counts) === JSON.stringify(delivered) && tick?.balance > 1_000;
    });
    expect(live.events.length).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000 + 1);
    const tick = shownBy(live).at(-1);
    expect(tick).toMatchObject({ messages: 5, currency: 'UGX', counts: delivered });
    expect(tick.balance).toBe(1_500 - tick.cost);
    expect(tick.day).toBe(`${tick.at.slice(0, 10)}T00:00:00.000Z`);
    // A sandbox subscriber sees the balance, but no other figure of production.
    const told = shownBy(sandbox);
    expect(new Set(told.map(({ balance }) => balance)).size).toBe(told.length);
    expect(told).toEqual(told.map(({ at, day, balance }) => ({ at, day, balance, ...NOTHING_SENT })));
  });

  describe('of a query with @live (R444)', () => {
    const COUNTS = `query Counts($to: DateTime) @live {
      messages(first: 1, filter: { to: $to }) { totalCount } viewer { account { balance } } }`;
    const ask = async (query: string, as: string) => {
      const live = await subscribe(gateway, as, query, {}, hashed(query));
      open.push(live);
      return live;
    };
    const totals = (live: Subscription) => live.events.map(({ data }) => data?.messages.totalCount);

    it('come at once, and after each commit that changes the answer, at most once a second', async () => {
      const own = await gateway.createAccount(100_000);
      const as = await signIn(gateway, own);
      const live = await ask(COUNTS, as);
      await eventually(() => live.events.length === 1);
      expect(live.events[0]).toMatchObject({
        data: { messages: { totalCount: 0 } },
        extensions: { cost: {} },
      });
      const startedAt = performance.now();
      for (let i = 0; i < 20; i++) await send(`live ${i}`, own.key);
      await eventually(() => totals(live).at(-1) === 20);
      expect(live.events.length).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000 + 2);
      // A commit that leaves the answer as it is sends nothing. The change after it is seen all the same.
      const before = live.events.length;
      await touch(['01939f5e-7a00-7000-8000-000000000001'], own.accountId);
      await send('of another account');
      const system = { kind: 'system', name: 'test' } as const;
      await gateway.parts.operations.accounts.topUp.run(system, { accountId: own.accountId, amount: 7 });
      const balance = live.events.at(-1)?.data?.viewer.account.balance;
      await eventually(() => live.events.at(-1)?.data?.viewer.account.balance === balance + 7);
      expect(live.events).toHaveLength(before + 1);
      live.stop();
      await eventually(() => gateway.parts.live.size === 0);
    });

    it('come after changes of keys, webhooks and people, whose audit entry announces them', async () => {
      const live = await ask(
        'query Keys @live { apiKeys { name } webhooks { url } members { email } }',
        token,
      );
      await eventually(() => live.events.length === 1);
      const create = `mutation { createApiKey(input: { name: "live", scopes: [SEND_SMS], environment: SANDBOX }) { key } }`;
      await graphql(gateway, create, { token });
      await eventually(() => JSON.stringify(live.events.at(-1)?.data?.apiKeys).includes('"live"'));
    });

    it('pay for each run, and wait while the budget has too few points', async () => {
      const live = await ask(COUNTS, token);
      await eventually(() => live.events.length === 1);
      const first = live.events[0]?.extensions.cost;
      const refusals = jest
        .spyOn(Budgets.prototype, 'takePoints')
        .mockResolvedValueOnce({ isAllowed: false, remaining: 0, resetAt: new Date(), retryAfterSeconds: 1 });
      await send('paid', account.sandboxKey);
      await eventually(() => live.events.length === 2);
      expect(refusals.mock.calls.length).toBeGreaterThanOrEqual(2);
      refusals.mockRestore();
      expect(live.events[1]?.extensions.cost.remaining).toBeLessThanOrEqual(first.remaining - first.used);
    });

    it('are refused for other documents, operators, and fields whose changes are not announced', async () => {
      const codes = async (query: string, as = token, extensions: object = hashed(query)) =>
        codesOf(await askStream(gateway, query, { token: as, extensions }));
      const unknown = 'query Unknown @live { messages { totalCount } }';
      expect(await codes(unknown, token, {})).toEqual(['BAD_REQUEST']);
      for (const fields of [
        'contacts { totalCount }',
        'messages { nodes { apiKey { lastUsedAt } } }',
        'permissions',
        'viewer { account { analytics(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z") { at } } }',
        '__typename',
      ]) {
        expect([fields, await codes(`query Refused @live { ${fields} }`)]).toEqual([
          fields,
          ['GRAPHQL_VALIDATION_FAILED'],
        ]);
      }
      expect(await codes(COUNTS, await signInOperator(gateway))).toEqual(['FORBIDDEN']);
      expect(await codes(COUNTS, 'nobody')).toEqual(['UNAUTHENTICATED']);
    });

    it('come once to a client that takes no stream', async () => {
      const answer = await graphql(gateway, COUNTS, { token });
      expect(answer.body.data.messages.totalCount).toEqual(expect.any(Number));
    });
  });

  it('work in every process for changes by any process', async () => {
    await using other = await startTestGateway({ ROLES: 'api' }, gateway.database);
    const here = await watch(MESSAGES);
    const there = await watch(MESSAGES, {}, token, other);
    const id = await send('to all');
    for (const live of [here, there]) {
      await eventually(() =>
        shownBy(live).some((message) => message.id === id && message.status === 'DELIVERED'),
      );
    }
    expect([gateway.parts.live.size, other.parts.live.size]).toEqual([1, 1]);
    there.stop();
    await eventually(() => other.parts.live.size === 0);
  });

  it('do not announce what was rolled back', async () => {
    const [lost, kept] = (await sendQuietly(2)) as [string, string];
    const live = await watch(MESSAGES);
    const failing = database.transaction(async (sql) => {
      announceLive(sql, 'message', named([lost]));
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    await touch([kept]);
    await eventually(() => live.events.length > 0);
    expect(shownBy(live).map(({ id }) => id)).toEqual([kept]);
  });

  it('read many changes at once with a constant number of statements', async () => {
    const messageIds = await sendQuietly(40);
    const live = await watch(MESSAGES);
    using counter = countStatements();
    await touch(messageIds);
    await eventually(() => live.events.length === 40);
    const reads = counter.texts().filter((text) => /FROM (messages|recipients)/.test(text));
    expect(reads).toHaveLength(2);
  });

  it('show messages one by one when they have too many recipients together', async () => {
    const to = Array.from({ length: 1000 }, (_, index) => `+2567${20_000_000 + index}`).join(',');
    const before = await watch('subscription { messageUpdated { id } }');
    const ids: string[] = [];
    for (let count = 0; count < 14; count += 1) ids.push(await send('many', account.sandboxKey, to));
    await eventually(() => ids.every((id) => shownBy(before).some((message) => message.id === id)));
    before.stop();
    const live = await watch('subscription { messageUpdated { id recipients { status } } }');
    await touch(ids);
    await eventually(() => live.events.length === ids.length);
    expect(live.events.flatMap(({ errors }) => errors ?? [])).toEqual([]);
    expect(shownBy(live).map(({ recipients }) => recipients.length)).toEqual(ids.map(() => 1000));
    expect(new Set(shownBy(live).map(({ id }) => id))).toEqual(new Set(ids));
  });
});
