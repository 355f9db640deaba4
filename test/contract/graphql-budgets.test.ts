import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { askStream } from '../support/live.ts';
import { rawRequest } from '../support/raw-http.ts';

const DEFAULTS = {
  RATE_LIMIT_PER_MINUTE: '',
  RATE_LIMIT_PER_SECOND: '',
  RATE_LIMIT_WEBHOOKS_PER_MINUTE: '',
  RATE_LIMIT_SESSION_PER_MINUTE: '',
};
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work));
const statuses = (answers: readonly { status: number }[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
const expectRefused = ({ status, headers, body }: Answer, rule: string) => {
  expect(status).toBe(429);
  const seconds = Number(headers.get('retry-after'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(body).toEqual({
    errors: [
      {
        message: `More than ${rule} in 60 seconds. Try again in ${seconds} s.`,
        extensions: {
          code: 'RATE_LIMITED',
          docUrl: '/docs/errors/rate_limited',
          retryAfter: seconds,
        },
      },
    ],
  });
};

describe('request budgets of GraphQL (R11, R207)', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ ...DEFAULTS, TRUST_PROXY: '127.0.0.1' });
    other = await startTestGateway({ ...DEFAULTS, TRUST_PROXY: '127.0.0.1', ROLES: 'api' }, gateway.database);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
  });

  const from = (address: string) => ({ 'X-Forwarded-For': address });

  it('without a session the budget is that of the address on REST, shared by all processes', async () => {
    const here = from('203.0.113.1');
    const asked = await times(60, () => graphql(gateway, '{ __typename }', { headers: here }));
    const keyless = await times(40, () => other.call('GET', '/account', { headers: here }));
    expect([statuses(asked), statuses(keyless)]).toEqual([{ 200: 60 }, { 401: 40 }]);
    expectRefused(await graphql(other, '{ __typename }', { headers: here }), '100 requests');
    // An unknown token has no session, so its request counts for the IP address. Opening a stream counts as a request,
    // too.
    const guess = await graphql(gateway, '{ __typename }', { headers: here, token: 'guess' });
    expectRefused(guess, '100 requests');
    const stream = await askStream(gateway, 'subscription { messageUpdated { id } }', { headers: here });
    expect(stream.status).toBe(429);
    expect((await graphql(gateway, '{ __typename }', { headers: from('203.0.113.2') })).status).toBe(200);
  });

  it('a session has 600 requests a minute, from any address', async () => {
    const account = await gateway.createAccount();
    const sign = () => signIn(gateway, account);
    const [token, second] = [await sign(), await sign()];
    const ask = (at: TestGateway, as = token) => graphql(at, '{ viewer { id } }', { token: as });
    expect(statuses(await times(300, () => ask(gateway)))).toEqual({ 200: 300 });
    expect(statuses(await times(299, () => ask(other)))).toEqual({ 200: 299 });
    const stream = await askStream(other, 'subscription { messageUpdated(id: "none") { id } }', { token });
    expect(stream.status).toBe(200);
    expectRefused(await ask(gateway), '600 requests');
    expectRefused(await ask(other), '600 requests');
    expect((await ask(gateway, second)).status).toBe(200);
  });

  it("a plan's budget applies in every process as soon as it is set", async () => {
    const account = await gateway.createAccount();
    const operator = await signInOperator(gateway);
    const set = 'mutation ($i: SetPlanInput!) { setPlan(input: $i) { sessionPerMinute } }';
    const assign =
      'mutation ($a: ID!) { setAccountPlan(accountId: $a, plan: "few") { plan { sessionPerMinute } } }';
    const plan = { name: 'few', perMinute: 3, webhooksPerMinute: 20 };
    const setTo = (sessionPerMinute?: number) =>
      graphql(gateway, set, { token: operator, variables: { i: { ...plan, sessionPerMinute } } });
    expect((await setTo()).body.data.setPlan).toEqual({ sessionPerMinute: null });
    await graphql(gateway, assign, { token: operator, variables: { a: account.accountId } });
    const token = await signIn(gateway, account);
    const ask = (at: TestGateway) => graphql(at, '{ account { plan { sessionPerMinute } } }', { token });
    expect(statuses(await times(20, () => ask(gateway)))).toEqual({ 200: 20 });
    expect((await setTo(15)).body.data.setPlan).toEqual({ sessionPerMinute: 15 });
    expectRefused(await ask(gateway), '15 requests');
    await eventually(async () => (await ask(other)).status === 429);
    await setTo(1_000);
    const raised = await ask(gateway);
    expect([raised.status, raised.body.data.account.plan]).toEqual([200, { sessionPerMinute: 1_000 }]);
    expect((await setTo(0)).body.errors[0].extensions.details.fields[0].path).toBe('input.sessionPerMinute');
  });

  it('sends count for the person, over all sessions and channels, with the headers of a key', async () => {
    const account = await gateway.createAccount();
    const [token, second] = [await signIn(gateway, account), await signIn(gateway, account)];
    const colleague = await signIn(gateway, await inviteMember(gateway, token, 'DEVELOPER'));
    const sms = (as: string, at = gateway) =>
      graphql(
        at,
        'mutation { sendSms(input: { to: "0700000001", message: "x", environment: SANDBOX }) { id } }',
        {
          token: as,
        },
      );
    const mail = 'to: "a@example.com", subject: "x", text: "x", environment: SANDBOX';
    const sent = [
      ...(await times(60, () => sms(token))),
      ...(await times(39, () => sms(second, other))),
      await graphql(gateway, `mutation { sendEmail(input: { ${mail} }) { id } }`, { token }),
    ];
    expect(sent.flatMap(codesOf)).toEqual([]);
    const refused = await sms(second);
    const seconds = refused.body.errors[0].extensions.retryAfter;
    expect([refused.status, refused.body.data, refused.body.errors[0].extensions.code]).toEqual([
      200,
      null,
      'RATE_LIMITED',
    ]);
    expect(refused.body.errors[0].message).toBe(
      `More than 100 messages of one person in 60 seconds. Try again in ${seconds} s.`,
    );
    expect(codesOf(await sms(colleague))).toEqual([]);
    expect((await graphql(gateway, '{ viewer { id } }', { token })).status).toBe(200);
  });
});

describe('body sizes of GraphQL (R207)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ ROLES: 'api' });
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(() => gateway?.stop());

  const KB = 1024;
  const IMPORT = 'mutation ($csv: String!) { importContacts(csv: $csv) { id } }';
  /** Sends a request that has a body of this size. */
  const ask = (
    query: string,
    bytes: number,
    more: { token?: string; name?: string; chunked?: boolean } = {},
  ) => {
    const parts = { query, operationName: more.name, variables: { csv: 'phone\n0700000001\n', pad: '' } };
    parts.variables.pad = 'x'.repeat(bytes - JSON.stringify(parts).length);
    return rawRequest(gateway.url, {
      method: 'POST',
      path: '/graphql',
      headers: {
        'content-type': 'application/json',
        ...(more.token === undefined ? {} : { authorization: `Bearer ${more.token}` }),
      },
      body: JSON.stringify(parts),
      isChunked: more.chunked ?? false,
    });
  };
  const outcome = async (asked: ReturnType<typeof ask>) => {
    const { status, body } = await asked;
    const [error] = body.errors ?? [];
    return error ? [status, error.extensions.code, error.extensions.details?.maximum] : [status];
  };

  it('are at most 16 kB without a session, and 1 MiB with one', async () => {
    expect(await outcome(ask('{ __typename }', 16 * KB))).toEqual([200]);
    for (const chunked of [false, true]) {
      const over = ask('{ __typename }', 16 * KB + 1, { chunked });
      expect(await outcome(over)).toEqual([413, 'PAYLOAD_TOO_LARGE', 16 * KB]);
    }
    expect(await outcome(ask('{ __typename }', 1024 * KB, { token }))).toEqual([200]);
    expect(await outcome(ask('{ __typename }', 1024 * KB + 1, { token }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      1024 * KB,
    ]);
  });

  it('are up to 16 MiB when the operation is importContacts alone', async () => {
    const imports = await ask(IMPORT, 16 * 1024 * KB, { token });
    expect([imports.status, imports.body.errors]).toEqual([200, undefined]);
    expect(await outcome(ask(IMPORT, 16 * 1024 * KB + 1, { token }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      16 * 1024 * KB,
    ]);
    const two = `query A { viewer { id } } mutation B { importContacts(csv: "phone\\n0700000002") { id } }`;
    expect(await outcome(ask(two, 2048 * KB, { token, name: 'B' }))).toEqual([200]);
    const others: [string, string?][] = [
      [two, 'A'],
      [two],
      ['mutation { importContacts: signOut }'],
      ['mutation { importContacts(csv: "phone\\n1") { id } signOut }'],
      ['query { importContacts }'],
      ['fragment F on Mutation { importContacts(csv: "") { id } } mutation { ...F }'],
      ['mutation { ... { importContacts(csv: "") { id } } }'],
      ['{ importContacts'],
    ];
    for (const [query, name] of others) {
      const over = ask(query, 2048 * KB, { token, ...(name === undefined ? {} : { name }) });
      expect(await outcome(over)).toEqual([413, 'PAYLOAD_TOO_LARGE', 1024 * KB]);
    }
    const viewer = await signIn(gateway, await inviteMember(gateway, token, 'VIEWER'));
    expect(await outcome(ask(IMPORT, 2048 * KB, { token: viewer }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      1024 * KB,
    ]);
  });

  const post = async (body: string) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    await (await fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body })).text();
  };

  it.each([
    ['a variable that quotes what the gateway itself looked for', { a: ' Did you mean '.repeat(6_700) }],
    [
      'a variable with many members',
      { a: Object.fromEntries([...Array(60_000).keys()].map((at) => [`m${at}`, 1])) },
    ],
    ['a list of wrong values', { a: Array(60_000).fill(['x']) }],
  ])('with %s are refused quickly, with a short message', async (_what, variables) => {
    for (const query of [
      'query ($a: Int!) { contacts(first: $a) { totalCount } }',
      'query ($a: MessageFilter) { messages(filter: $a) { totalCount } }',
    ]) {
      const answer = await graphql(gateway, query, { token, variables });
      expect([answer.status, codesOf(answer)]).toEqual([400, ['BAD_USER_INPUT']]);
      // The answer may contain twenty faults with their paths, once as text and once as data.
      expect(answer.text.length).toBeLessThan(5_000);
      expect(answer.body.errors[0].extensions.details.fields[0].path).toMatch(/^(first|filter)\b/);
      // The refusal must not cost ten times the CPU of plain text. Before a fix it cost 100 times as much.
      const plain = { a: 'x'.repeat(JSON.stringify(variables).length) };
      const [cost = 0, ofPlain = 0] = await leastCpu(
        [variables, plain].map((given) => {
          // Made before, because the CPU time of this process counts, and the client's work is none of the gateway's.
          const body = JSON.stringify({ query, variables: given });
          return () => post(body);
        }),
      );
      expect(cost / Math.max(ofPlain, CPU_FLOOR_US)).toBeLessThan(10);
    }
  });

  it('allow a document of at most 1,000 lines', async () => {
    const of = (lines: number) => graphql(gateway, `${'\n'.repeat(lines - 1)}{ __typename }`, { token });
    expect((await of(1_000)).status).toBe(200);
    const over = await of(1_001);
    expect([over.status, over.body.errors[0].message]).toEqual([400, 'query: must have at most 1000 lines']);
    const get = await fetch(`${gateway.url}/graphql?query=${'%0A'.repeat(1_000)}{__typename}`, {
      headers: { 'content-type': 'application/json' },
    });
    expect(get.status).toBe(400);
  });
});

/** CPU time in microseconds. Shorter times are too inexact to compare. */
const CPU_FLOOR_US = 20_000;

/**
 * Runs each of `works` eight times, in turns, so that a machine that is slow for a while is slow for all. Returns their
 * shortest CPU times in microseconds.
 */
async function leastCpu(works: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let time = 0; time < 8; time++) {
    for (const [index, work] of works.entries()) {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      least[index] = Math.min(least[index] ?? Number.POSITIVE_INFINITY, user + system);
    }
  }
  return least;
}
