import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { foldAnalytics } from '../support/fold-analytics.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn, signInOperator } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';

const SYSTEM = { kind: 'system', name: 'test' } as const;
const DAY_MS = 24 * 3_600_000;
const dayOf = (ago: number) => new Date((Math.floor(Date.now() / DAY_MS) - ago) * DAY_MS).toISOString();
const FIGURES = 'figures { messages recipients delivered failed netCost { amount currency } }';

interface Bucket {
  readonly currency: string;
  readonly accountId?: string;
  readonly [group: string]: unknown;
}

describe("operators' figures over all accounts", () => {
  let gateway: TestGateway;
  let sql: TestSql;
  let shop: TestAccount;
  let bank: { id: string; key: string };
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
    shop = await gateway.createAccount();
    const { account } = await gateway.parts.operations.accounts.create.run(SYSTEM, {
      email: 'bank@test.example',
      name: 'Bank',
      currency: 'RWF',
      balance: 10_000,
    });
    await gateway.parts.operations.prices.set.run(SYSTEM, {
      currency: 'RWF',
      channel: 'sms',
      prefix: '',
      amount: 12,
    });
    bank = { id: account.id, key: (await gateway.createKey(account.id, {})).key };
    token = await signInOperator(gateway);
    // In the simulator, the first number is rejected, and the others are delivered.
    const sent = await Promise.all([
      send(shop.key, '+256700120001'),
      send(shop.key, '+256700123456,+256700123457'),
      send(bank.key, '+256700123458'),
    ]);
    await eventually(async () => {
      const rows = await sql.query(
        `SELECT FROM recipients WHERE message_id = ANY($1) AND status IN ('delivered', 'failed')`,
        [sent],
      );
      return rows.length === 4;
    });
    await foldAnalytics(gateway, sql);
    await gateway.parts.stores.usage.fold();
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  const send = async (key: string, to: string): Promise<string> =>
    (await gateway.call('POST', '/developers/sms', { key, body: { to, message: 'Hello' } })).body.id;
  const ask = async (query: string, variables: object = {}) => {
    const answer = await graphql(gateway, query, { token, variables });
    if (answer.body.errors) throw new Error(answer.text);
    return answer.body.data;
  };
  const figures = async (fields: string, rest = ''): Promise<Bucket[]> =>
    (
      await ask(
        `query ($from: DateTime!, $to: DateTime!) { platformAnalytics(from: $from, to: $to ${rest}) { ${fields} ${FIGURES} } }`,
        { from: dayOf(29), to: dayOf(-1) },
      )
    ).platformAnalytics;
  const troubles = async () =>
    (
      await ask(
        '{ troubledAccounts { id troubles daysLeft messages failingWebhooks deliveryRateToday balance { amount currency } } }',
      )
    ).troubledAccounts as { id: string; troubles: string[]; [fact: string]: unknown }[];

  it('are added up over the accounts, one total for each currency (R510)', async () => {
    const totals = await figures('currency');
    expect(totals.sort((left, right) => left.currency.localeCompare(right.currency))).toEqual([
      {
        currency: 'RWF',
        figures: {
          messages: 1,
          recipients: 1,
          delivered: 1,
          failed: 0,
          netCost: { amount: '12', currency: 'RWF' },
        },
      },
      {
        currency: 'UGX',
        figures: {
          messages: 2,
          recipients: 3,
          delivered: 2,
          failed: 1,
          netCost: { amount: '60', currency: 'UGX' },
        },
      },
    ]);
    const byAccount = await figures('accountId accountName accountEmail', 'groupBy: [ACCOUNT]');
    expect(byAccount.map(({ accountId }) => accountId).sort()).toEqual([shop.accountId, bank.id].sort());
    const ofBank = byAccount.find(({ accountId }) => accountId === bank.id);
    expect(ofBank).toMatchObject({ accountName: 'Bank', accountEmail: 'bank@test.example' });
  });

  it('are beside their balances and troubles, by age or by balance, in pages (R525)', async () => {
    const list = async (rest: string, as = token) => {
      const answer = await graphql(
        gateway,
        `{ accounts(${rest}) { nodes { id currency balance troubles } pageInfo { hasNextPage endCursor } } }`,
        { token: as },
      );
      return answer.body.data?.accounts ?? codesOf(answer);
    };
    const poor = await gateway.parts.operations.accounts.create.run(SYSTEM, {
      email: 'poor@test.example',
      name: 'Poor shop',
      currency: 'UGX',
      balance: 0,
    });
    const newest = await list('first: 100');
    const ids = (page: { nodes: { id: string }[] }) => page.nodes.map(({ id }) => id);
    expect(ids(newest)).toEqual(ids(newest).toSorted().toReversed());
    const byBalance = await list('first: 100, orderBy: BALANCE');
    expect(ids(byBalance).toSorted()).toEqual(ids(newest).toSorted());
    const order = ({ currency, balance }: { currency: string; balance: number }) =>
      `${currency} ${String(balance).padStart(16, '0')}`;
    const shown = byBalance.nodes.map(order);
    expect(shown).toEqual(shown.toSorted());
    const inUgx = byBalance.nodes.filter(({ currency }: { currency: string }) => currency === 'UGX');
    expect(inUgx[0]).toMatchObject({ id: poor.account.id, balance: 0, troubles: ['EMPTY_BALANCE'] });
    expect(inUgx.at(-1)).toMatchObject({ id: shop.accountId, troubles: [] });

    // Page after page gives the same list.
    const read: string[] = [];
    let after = '';
    for (let more = true; more; ) {
      const page = await list(`first: 1, orderBy: BALANCE${after && `, after: "${after}"`}`);
      read.push(...ids(page));
      after = page.pageInfo.endCursor;
      more = page.pageInfo.hasNextPage;
    }
    expect(read).toEqual(ids(byBalance));
    expect(ids(await list('orderBy: BALANCE, search: "poor sh"'))).toEqual([poor.account.id]);
    expect(await list(`orderBy: NEWEST, after: "${after}"`)).toEqual(['BAD_USER_INPUT']);
    const owner = await signIn(gateway, shop);
    expect(await list('orderBy: BALANCE', owner)).toEqual(['FORBIDDEN']);
    const own = await graphql(gateway, '{ account { id troubles } }', { token: owner });
    expect(own.body.data.account).toEqual({ id: shop.accountId, troubles: null });
  });

  it('are found by the whole id of a key, also of one that has ended (R583)', async () => {
    const { keyId } = await gateway.createKey(shop.accountId, {});
    const find = async (search: string, rest = '') => {
      const answer = await graphql(
        gateway,
        `query ($search: String) {
          accounts(search: $search${rest}) { totalCount nodes { id } pageInfo { endCursor } }
        }`,
        { token, variables: { search } },
      );
      return answer.body.data.accounts;
    };
    const [first, byBalance] = [await find(keyId), await find(keyId, ', orderBy: BALANCE')];
    for (const found of [first, byBalance]) {
      expect(found).toMatchObject({ totalCount: 1, nodes: [{ id: shop.accountId }] });
    }
    expect((await find(keyId, `, after: "${first.pageInfo.endCursor}"`)).nodes).toEqual([]);
    expect((await find(keyId, `, orderBy: BALANCE, after: "${byBalance.pageInfo.endCursor}"`)).nodes).toEqual(
      [],
    );
    expect((await find(keyId.slice(1))).nodes).toEqual([]);
    expect((await find('0123456789abcdef')).nodes).toEqual([]);
    await gateway.parts.operations.apiKeys.revoke.run(SYSTEM, { keyId });
    expect((await find(keyId)).nodes).toEqual([{ id: shop.accountId }]);
  });

  it('are grouped by carrier, country, channel, status and environment, and by day (R510)', async () => {
    const byStatus = await figures('status', 'groupBy: [STATUS]');
    expect(byStatus.map(({ status }) => status).sort()).toEqual(['DELIVERED', 'DELIVERED', 'FAILED']);
    const groups = 'interval: DAY, groupBy: [PROVIDER, COUNTRY, CHANNEL, ENVIRONMENT]';
    const buckets = await figures('at provider country channel environment currency', groups);
    const delivered = buckets.filter(({ provider }) => provider === 'simulator');
    expect(delivered).toContainEqual({
      at: new Date(dayOf(0)).toISOString(),
      provider: 'simulator',
      country: 'UG',
      channel: 'SMS',
      environment: 'PRODUCTION',
      currency: 'RWF',
      figures: expect.objectContaining({ messages: null, recipients: 1, delivered: 1 }),
    });
    const times = await figures(
      'provider times { submitP50Ms submitP95Ms reportP50Ms reportP95Ms }',
      'groupBy: [PROVIDER]',
    );
    expect(times).toContainEqual(
      expect.objectContaining({
        provider: 'simulator',
        times: {
          submitP50Ms: expect.any(Number),
          submitP95Ms: expect.any(Number),
          reportP50Ms: expect.any(Number),
          reportP95Ms: expect.any(Number),
        },
      }),
    );
    const sandboxOnly = await figures('currency', 'environment: SANDBOX');
    expect(sandboxOnly).toEqual([]);
  });

  it('name the accounts without money, prices or working webhooks, those that send first (R511)', async () => {
    const empty = await gateway.createAccount(0);
    const { account: unpriced } = await gateway.parts.operations.accounts.create.run(SYSTEM, {
      email: 'none@test.example',
      currency: 'KES',
      balance: 5,
    });
    const before = await troubles();
    expect(before.map(({ id, troubles: found }) => [id, found])).toEqual(
      expect.arrayContaining([
        [empty.accountId, ['EMPTY_BALANCE']],
        [unpriced.id, ['NO_PRICES']],
      ]),
    );
    expect(before.some(({ id }) => id === shop.accountId || id === bank.id)).toBe(false);

    const hook = { url: 'https://127.0.0.1:8443/', events: ['sms.sent'] };
    await gateway.call('POST', '/developers/webhooks', { key: bank.key, body: hook });
    await sql.query('UPDATE webhooks SET failing_since = now() WHERE account_id = $1', [bank.id]);
    await sql.query('UPDATE accounts SET balance_minor = 3 WHERE id = $1', [bank.id]);
    const [worst] = await troubles();
    expect(worst).toEqual({
      id: bank.id,
      troubles: ['LOW_BALANCE', 'FAILING_WEBHOOKS'],
      daysLeft: expect.any(Number),
      messages: 1,
      failingWebhooks: 1,
      deliveryRateToday: 1,
      balance: { amount: '3', currency: 'RWF' },
    });
    await sql.query('UPDATE accounts SET balance_minor = 9988 WHERE id = $1', [bank.id]);
  });

  it('say what each carrier did on each day, and how long it was up (R512)', async () => {
    const [simulator] = gateway.parts.routing.status();
    if (!simulator) throw new Error('there is a simulator');
    const { providerHealth } = gateway.parts.stores;
    const status = { ...simulator, name: 'carrier of the test' };
    const at = new Date(Date.now() - 2 * DAY_MS);
    const forgetBefore = new Date(0);
    await providerHealth.countUptime([{ ...status, state: 'degraded' }], 90, at, forgetBefore);
    await providerHealth.countUptime([{ ...status, state: 'down' }], 30, at, forgetBefore);
    await providerHealth.countUptime([{ ...status, state: 'up' }], 60, at, forgetBefore);
    const query = `query ($from: DateTime!, $to: DateTime!, $interval: AnalyticsInterval) {
      carrierHistory(from: $from, to: $to, interval: $interval) { at channel name recipients delivered failed
        deliveryRate times { submitP50Ms submitP95Ms reportP50Ms reportP95Ms } upSeconds downSeconds } }`;
    const history = async (name: string, interval?: string) =>
      (
        (await ask(query, { from: dayOf(29), to: dayOf(-1), interval })).carrierHistory as { name: string }[]
      ).filter((each) => each.name === name);
    const quiet = {
      recipients: 0,
      delivered: 0,
      failed: 0,
      deliveryRate: null,
      upSeconds: 150,
      downSeconds: 30,
    };
    expect(await history(status.name, 'DAY')).toEqual([
      {
        at: dayOf(2),
        channel: 'SMS',
        name: status.name,
        ...quiet,
        times: { submitP50Ms: null, submitP95Ms: null, reportP50Ms: null, reportP95Ms: null },
      },
    ]);
    // The recipients are of accounts with different currencies, and one number is rejected.
    const ms = expect.any(Number);
    const worked = {
      recipients: 4,
      delivered: 3,
      failed: 1,
      deliveryRate: 0.75,
      times: { submitP50Ms: ms, submitP95Ms: ms, reportP50Ms: ms, reportP95Ms: ms },
    };
    const bySms = (found: object[]) => found.filter((each) => 'channel' in each && each.channel === 'SMS');
    expect(bySms(await history('simulator'))).toEqual([
      expect.objectContaining({ at: dayOf(29), ...worked }),
    ]);
    expect(bySms(await history('simulator', 'DAY'))).toEqual([
      expect.objectContaining({ at: dayOf(0), ...worked }),
    ]);
    // The worker of this gateway counts the time between its publications.
    await eventually(async () => {
      const found = (await history('simulator')) as unknown as { upSeconds: number }[];
      return found.some(({ upSeconds }) => upSeconds > 0);
    });
    await providerHealth.countUptime([], 0, new Date(), new Date(dayOf(1)));
    expect(await history(status.name)).toEqual([]);
  });

  it('are refused to people and access tokens of an account (R510, R511, R512)', async () => {
    const owner = await signIn(gateway, shop);
    const input = `{ name: "t", permissions: ["account.get"], expiresAt: "${dayOf(-30)}" }`;
    const made = await graphql(gateway, `mutation { createAccessToken(input: ${input}) { token } }`, {
      token: owner,
    });
    const span = `from: "${dayOf(1)}", to: "${dayOf(0)}"`;
    const queries = [
      `{ platformAnalytics(${span}) { at } }`,
      '{ troubledAccounts { id } }',
      `{ carrierHistory(${span}) { at } }`,
    ];
    for (const query of queries) {
      for (const each of [owner, made.body.data.createAccessToken.token]) {
        expect(codesOf(await graphql(gateway, query, { token: each }))).toEqual(['FORBIDDEN']);
      }
      expect(codesOf(await graphql(gateway, query))).toEqual(['UNAUTHENTICATED']);
    }
    const reader = await signInOperator(gateway, true);
    expect((await graphql(gateway, queries[1] ?? '', { token: reader })).body.errors).toBeUndefined();
  });

  it('refuse a span that is too long and a limit out of range (R510, R511)', async () => {
    const tooLong =
      '{ platformAnalytics(from: "2025-01-01T00:00:00Z", to: "2026-02-15T00:00:00Z", interval: DAY) { at } }';
    expect(codesOf(await graphql(gateway, tooLong, { token }))).toEqual(['BAD_USER_INPUT']);
    expect(codesOf(await graphql(gateway, '{ troubledAccounts(limit: 0) { id } }', { token }))).toEqual([
      'BAD_USER_INPUT',
    ]);
  });
});
