import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { getIntrospectionQuery } from 'graphql';
import pg from 'pg';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { askStream } from '../support/live.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

interface Case {
  id: string;
  title: string;
  request: {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: unknown;
    rawBody?: string;
    gen?: Record<string, string | number>;
    repeat?: number;
  };
  expect: {
    status?: number[];
    errors?: boolean;
    data?: boolean;
    dataNull?: boolean;
    code?: string;
    maxBytes?: number;
    noResolverRuns?: boolean;
    sideEffects?: number;
    bodyMustNotMatch?: string;
    mustNotMatch?: string;
    sqlStatementsPerQuery?: string;
  };
}

const corpus: Case[] = JSON.parse(
  readFileSync(new URL('../fixtures/corpus/graphql.json', import.meta.url), 'utf8'),
);
/** Cases in which the corpus uses names that the schema has changed. These documents use the schema's names. */
const RENAMED: Record<string, string> = {
  'GQL-39': 'mutation{createApiKey(input:{name:"x",scopes:[FULL_ACCESS],environment:SANDBOX}){key}}',
  'GQL-61': '{messages(first:100){nodes{id deliveries{id}}}}',
};
/** Cases about introspection. In the corpus, everybody is refused. Now only callers without a session are. */
const OF_STRANGERS: readonly string[] = corpus
  .filter(({ title }) => title.startsWith('introspection'))
  .map(({ id }) => id);

function generated(gen: Record<string, string | number>): unknown {
  const text = (name: string) => String(gen[name] ?? '');
  const times = (name: string) => Array.from({ length: Number(gen[name]) }, (_, index) => String(index));
  const units = () =>
    !text('unit').includes('#') && gen.join === ''
      ? [text('unit').repeat(Number(gen.count))]
      : times('count').map((index) => text('unit').replaceAll('#', index));
  switch (gen.kind) {
    case 'gql':
      return { query: text('prefix') + units().join(String(gen.join ?? ' ')) + text('suffix') };
    case 'gqlBatch':
      return times('count').map(() => ({ query: gen.query }));
    case 'gqlGrid': {
      const row =
        text('open') +
        times('m')
          .map(() => text('inner'))
          .join(' ') +
        text('close');
      return {
        query:
          text('prefix') +
          times('n')
            .map(() => row)
            .join(' ') +
          text('suffix'),
      };
    }
    case 'gqlNest': {
      const depth = Number(gen.depth);
      const nest = text('open').repeat(depth) + text('middle') + text('close').repeat(depth);
      return { query: text('prefix') + nest + text('suffix') };
    }
    default:
      throw new Error(`unknown generator ${gen.kind}`);
  }
}

function bodyOf({ id, request }: Case): string | undefined {
  if (request.method === 'GET') return undefined;
  if (RENAMED[id] !== undefined) return JSON.stringify({ query: RENAMED[id] });
  if (request.rawBody !== undefined) return request.rawBody;
  return JSON.stringify(request.gen ? generated(request.gen) : request.body);
}

describe('limits of GraphQL operations (R224)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let foreignMessage: string;
  /** How many operations ran. Every resolver calls one. */
  let operationRuns = 0;
  beforeAll(async () => {
    gateway = await startTestGateway({ NODE_ENV: 'production', SMS_ROUTES: '*=simulator:' });
    account = await gateway.createAccount();
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    token = await signIn(gateway, viewer);
    const other = await gateway.createAccount();
    const body = { to: '+256700123456', message: 'secret' };
    foreignMessage = (await gateway.call('POST', '/developers/sms', { key: other.sandboxKey, body })).body.id;
    for (const noun of Object.values(gateway.parts.operations)) {
      for (const operation of Object.values(noun)) {
        const run = operation.run.bind(operation) as (...given: unknown[]) => Promise<never>;
        jest.spyOn(operation, 'run').mockImplementation((...given: unknown[]) => {
          operationRuns += 1;
          return run(...given);
        });
      }
    }
  });
  afterAll(() => gateway?.stop());

  const keys = () => withKnex(gateway.database.connection, async (knex) => (await knex('api_keys')).length);

  async function send(test: Case): Promise<Answer> {
    const filled = (given: string) =>
      given.replaceAll('{{TOKEN}}', token).replaceAll('{{OTHER_ACCOUNT_MESSAGE}}', foreignMessage);
    const headers = Object.entries(test.request.headers)
      .filter(([name]) => !(name === 'authorization' && OF_STRANGERS.includes(test.id)))
      .map(([name, value]) => [name, filled(value)]);
    const body = bodyOf(test);
    const response = await fetch(gateway.url + test.request.path, {
      method: test.request.method,
      headers: Object.fromEntries(headers),
      ...(body === undefined ? {} : { body: filled(body) }),
    });
    const text = await response.text();
    const parsed = text.startsWith('{') ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, body: parsed, text };
  }

  it.each(corpus)('$id $title', async (test) => {
    const before = { runs: operationRuns, keys: await keys() };
    const answer = await send(test);
    const expected = test.expect;
    if (expected.status) expect(expected.status).toContain(answer.status);
    if (expected.errors !== undefined) expect((answer.body?.errors ?? []).length > 0).toBe(expected.errors);
    if (expected.data === false) expect(answer.body?.data ?? null).toBeNull();
    if (expected.dataNull) expect(Object.values(answer.body.data ?? { none: null })).toEqual([null]);
    if (expected.code) expect(expected.code.split('|')).toContain(codesOf(answer)[0]);
    if (expected.maxBytes) expect(answer.text.length).toBeLessThanOrEqual(expected.maxBytes);
    if (expected.noResolverRuns) expect(operationRuns).toBe(before.runs);
    if (expected.sideEffects === 0) expect(await keys()).toBe(before.keys);
    const unwanted = expected.bodyMustNotMatch ?? expected.mustNotMatch;
    if (unwanted) expect(answer.text).not.toContain(unwanted);
    if (expected.sqlStatementsPerQuery) {
      using counter = countStatements();
      expect((await send(test)).status).toBe(200);
      expect(counter.ofRequests()).not.toHaveLength(0);
      expect(counter.ofRequests().length).toBeLessThanOrEqual(5);
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(answer.text).not.toMatch(/secret(?!Hash)|node_modules|at \w+ \(/);
  });

  const nested = (depth: number) => {
    const open = 'deliveries(first: 1) { nodes { webhook { '.repeat(depth);
    return `{ webhooks { ${open} id ${'}}}'.repeat(depth)} } }`;
  };
  it.each([
    ['depth', nested(4), 'The query has a depth of 14; at most 10 are allowed.'],
    [
      'aliases',
      `{ ${Array.from({ length: 16 }, (_, i) => `a${i}: __typename`).join(' ')} }`,
      'aliases of 16',
    ],
    ['directives', `{ __typename ${'@skip(if: false) '.repeat(51)} }`, undefined],
    ['mutations', 'mutation { signOut again: signOut }', 'mutations of 2; at most 1'],
    [
      'cost',
      '{ messages(first: 100) { nodes { deliveries { attemptLog { at } message { recipients { to } } } } } }',
      'cost of',
    ],
    ['tokens', `{ ${'__typename '.repeat(1000)} }`, 'more that 1000 tokens'],
  ])(
    'refuses a query over the limit of %s before it runs, and names the limit',
    async (limit, query, message) => {
      const runs = operationRuns;
      const answer = await graphql(gateway, query, { token });
      expect(answer.status).toBe(400);
      if (message !== undefined) expect(answer.body.errors[0].message).toContain(message);
      if (message !== undefined && limit !== 'tokens')
        expect(answer.body.errors[0].extensions.limit).toBe(limit);
      expect(answer.body.data).toBeUndefined();
      expect(operationRuns).toBe(runs);
    },
  );

  it('counts a fragment at each spread, and `first` from variables', async () => {
    const query = `query ($n: Int) { messages(first: $n) { nodes { ...M } } }
      fragment M on Message { deliveries { attemptLog { at } webhook { deliveries(first: 2) { nodes { id } } } } }`;
    const ask = (n: number) => graphql(gateway, query, { token, variables: { n } });
    expect((await ask(100)).body.errors[0].extensions).toMatchObject({ limit: 'cost' });
    expect((await ask(1)).status).toBe(200);
    const over = await ask(101);
    expect([over.status, over.body.errors[0].extensions]).toEqual([
      400,
      {
        code: 'BAD_USER_INPUT',
        docUrl: '/docs/errors/bad_user_input',
        details: { fields: [{ path: 'first', message: 'must be a whole number from 1 to 100' }] },
      },
    ]);
  });

  it('counts `first` from the default of its variable', async () => {
    const fields =
      'nodes { deliveries { attemptLog { at } webhook { deliveries(first: $n) { nodes { id } } } } }';
    const query = `query ($n: Int = 100) { messages(first: $n) { ${fields} } }`;
    const asDefault = await graphql(gateway, query, { token });
    expect([asDefault.status, asDefault.body.errors[0].extensions.limit]).toEqual([400, 'cost']);
    const given = await graphql(gateway, query, { token, variables: { n: 1 } });
    expect([given.status, given.body.data]).toEqual([200, { messages: { nodes: [] } }]);
    const subscription = `subscription ($n: Int = 100) { messageUpdated { deliveries { webhook { deliveries(first: $n) { nodes { id } } } } } }`;
    const stream = await askStream(gateway, subscription, { token });
    expect(stream.body.errors[0].extensions).toMatchObject({
      code: 'GRAPHQL_VALIDATION_FAILED',
      limit: 'cost',
    });
  });

  it('allows introspection in production only to people who are signed in', async () => {
    const query = getIntrospectionQuery();
    // Send the query twice, because a document in the cache is not validated again.
    for (const _ of ['first', 'again']) {
      const refused = await graphql(gateway, query);
      expect([refused.status, codesOf(refused)]).toEqual([400, ['GRAPHQL_VALIDATION_FAILED']]);
      expect(refused.body.errors[0].message).toBe(
        'Sign in to read the schema: strangers may not introspect it.',
      );
      expect((await graphql(gateway, query, { token: 'nobody' })).status).toBe(400);
      expect((await graphql(gateway, '{ __type(name: "Query") { name } }')).status).toBe(400);
      const found = await graphql(gateway, query, { token });
      expect([found.status, found.body.data?.__schema.queryType.name]).toEqual([200, 'Query']);
      const stream = await askStream(gateway, query, { token });
      expect(stream.body.data.__schema.queryType.name).toBe('Query');
      expect(codesOf(await askStream(gateway, query))).toEqual(['GRAPHQL_VALIDATION_FAILED']);
    }
    expect((await graphql(gateway, '{ __typename }')).body.data).toEqual({ __typename: 'Query' });
    await using open = await startTestGateway({}, gateway.database);
    const found = await graphql(open, query);
    expect(found.body.data.__schema.queryType.name).toBe('Query');
  });

  it('hides an unexpected error, and gives the request id that the log has', async () => {
    const find = gateway.parts.operations.accounts.find;
    const spy = jest
      .spyOn(find, 'run')
      .mockRejectedValueOnce(new Error('relation "accounts" does not exist'));
    const answer = await graphql(gateway, '{ account { id } prices { amount } }', {
      token,
      headers: { 'X-Request-Id': 'my-request' },
    });
    spy.mockRestore();
    expect(answer.headers.get('x-request-id')).toBe('my-request');
    expect(answer.body.data).toMatchObject({ account: null, prices: expect.any(Array) });
    expect(answer.body.errors).toEqual([
      {
        message: 'Something went wrong here. Quote request my-request.',
        path: ['account'],
        locations: expect.any(Array),
        extensions: {
          code: 'INTERNAL_SERVER_ERROR',
          docUrl: '/docs/errors/internal_server_error',
          requestId: 'my-request',
        },
      },
    ]);
  });

  it('names the place of a wrong value, in a document and in variables', async () => {
    const literal = await graphql(
      gateway,
      '{ messages(filter: { from: "2026-02-30T00:00:00Z" }) { totalCount } }',
      { token },
    );
    expect([literal.status, codesOf(literal)]).toEqual([400, ['BAD_USER_INPUT']]);
    const query = 'query ($f: MessageFilter) { messages(filter: $f) { totalCount } }';
    const given = await graphql(gateway, query, { token, variables: { f: { channel: 'sms' } } });
    expect([given.status, given.body.errors[0].extensions.details.fields[0].path]).toEqual([
      400,
      'filter.channel',
    ]);
  });

  it('suggests no names of the schema for a wrong name', async () => {
    const query = 'query ($f: MessageFilter) { messages(filter: $f) { totalCount } }';
    const answers = [
      await graphql(gateway, '{ message { id } }', { token }),
      await graphql(gateway, '{ messages(filter: { channel: SMSS }) { totalCount } }', { token }),
      await graphql(gateway, query, { token, variables: { f: { channel: 'SMSS' } } }),
      await graphql(gateway, query, { token, variables: { f: { chanel: 'SMS' } } }),
      await askStream(
        gateway,
        query
          .replace('query', 'subscription')
          .replace('messages(', 'messageUpdated(')
          .replace('totalCount', 'id'),
        { token, variables: { f: { channel: 'SMSS' } } },
      ),
    ];
    for (const answer of answers) {
      expect(answer.body.errors).toHaveLength(1);
      expect(answer.text).not.toContain('Did you mean');
    }
  });

  it('reads at most 16 kB without a session', async () => {
    const answer = await graphql(gateway, '{ __typename }', { variables: { text: 'x'.repeat(17 * 1024) } });
    expect([answer.status, codesOf(answer)]).toEqual([413, ['PAYLOAD_TOO_LARGE']]);
  });

  it('answers 503 while the database is unreachable', async () => {
    const fault = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const sessions = jest.spyOn(gateway.parts.stores.sessions, 'findMany').mockRejectedValueOnce(fault);
    const early = await graphql(gateway, '{ account { id } }', { token: 'unknown' });
    sessions.mockRestore();
    expect([early.status, codesOf(early), early.headers.get('retry-after')]).toEqual([
      503,
      ['SERVICE_UNAVAILABLE'],
      '1',
    ]);
    const accounts = jest.spyOn(gateway.parts.stores.accounts, 'findOnDisk').mockRejectedValueOnce(fault);
    const late = await graphql(gateway, '{ account { id } }', { token });
    accounts.mockRestore();
    expect([late.status, codesOf(late), late.headers.get('retry-after')]).toEqual([
      503,
      ['SERVICE_UNAVAILABLE'],
      '1',
    ]);
  });
});

describe('lists inside one answer (R224)', () => {
  const MESSAGES = 20;
  const RECIPIENTS = 1000;
  let gateway: TestGateway;
  let token: string;
  let id: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    const account = await gateway.createAccount();
    token = await signIn(gateway, account);
    const to = Array.from({ length: RECIPIENTS }, (_, index) => `+2567${20_000_000 + index}`).join(',');
    for (let count = 0; count < MESSAGES; count += 1) {
      const body = { to, message: `Number ${count}` };
      id = (await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body })).body.id;
    }
  });
  afterAll(() => gateway?.stop());

  const ask = (query: string, variables: object = {}) => graphql(gateway, query, { token, variables });
  const aliased = (count: number, field: string) =>
    Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ');

  it.each([
    ['recipients of ten messages', '{ messages(first: 10) { nodes { recipients { to status } } } }'],
    ['everything of one', '{ message(id: "ID") { recipients { to } timeline { at } events { type } to } }'],
    ['addresses of a whole page', '{ messages(first: 100) { nodes { to } } }'],
  ])('may hold the %s with 1,000 recipients each', async (_, query) => {
    const answer = await ask(query.replace('ID', id));
    expect([answer.status, codesOf(answer)]).toEqual([200, []]);
  });

  it.each([
    ['recipients of many messages', '{ messages(first: 100) { nodes { id recipients { to } } } }'],
    ['timelines of many messages', '{ messages(first: 100) { nodes { timeline { at } } } }'],
    ['events of many messages', '{ messages(first: 100) { nodes { events { type } } } }'],
    ['deliveries of many messages', '{ messages(first: 100) { nodes { deliveries { id } } } }'],
    ['the same recipients again and again', `{ message(id: "ID") { ${aliased(13, 'recipients { to }')} } }`],
    ['the same message again and again', `{ ${aliased(13, 'message(id: "ID") { recipients { to } }')} }`],
    ['the addresses again and again', `{ ${aliased(7, 'messages(first: 100) { nodes { to } }')} }`],
  ])('may not hold %s, which the refusal says', async (_, query) => {
    const answer = await ask(query.replaceAll('ID', id));
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatchObject({
      message: 'The lists in the answer would hold more than 12000 objects. Ask for fewer at once.',
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED', limit: 'cost' },
    });
  });

  it('are not loaded when the messages have too many recipients', async () => {
    const store = jest.spyOn(gateway.parts.stores.messageLists, 'recipients');
    await ask(`{ ${aliased(2, 'messages(first: 9) { nodes { recipients { to } timeline { at } } }')} }`);
    const loaded = store.mock.calls.reduce((sum, [, ids]) => sum + ids.length * RECIPIENTS, 0);
    store.mockRestore();
    expect(loaded).toBeGreaterThan(0);
    expect(loaded).toBeLessThanOrEqual(12_000);
  });

  it('may not hold all deliveries of a message with very many, and no more are loaded', async () => {
    await using stack = new AsyncDisposableStack();
    const receiver = await startWebhookReceiver();
    stack.defer(() => receiver.stop());
    const registered = await graphql(
      gateway,
      'mutation ($url: String!) { registerWebhook(input: { url: $url, events: ["sms.sent"], maxRetries: 0 }) { webhook { id } } }',
      { token, variables: { url: receiver.url } },
    );
    const webhookId = registered.body.data.registerWebhook.webhook.id;
    const sent = await ask('mutation { sendSms(input: { to: "+256700123456", message: "x" }) { id } }');
    const messageId = sent.body.data.sendSms.id;
    const query = `{ message(id: "${messageId}") { deliveries { id } } }`;
    await eventually(async () => (await ask(query)).body.data.message.deliveries.length === 1);
    // An endpoint has at most one delivery for each event. Drop that index, so that one endpoint can have many
    // deliveries.
    await withKnex(gateway.database.connection, (knex) => knex.raw('DROP INDEX webhook_deliveries_once'));
    await withKnex(gateway.database.connection, (knex) =>
      knex.raw(
        `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_seq, created_at, event, status)
         SELECT gen_random_uuid(), account_id, webhook_id, event_seq, created_at, event, 'success'
         FROM webhook_deliveries, generate_series(1, 13000) WHERE webhook_id = ?`,
        [webhookId],
      ),
    );
    const store = jest.spyOn(gateway.parts.stores.deliveryLists, 'ofMessages');
    const answer = await ask(query);
    const [loaded] = await Promise.all(store.mock.results.map(({ value }) => value));
    store.mockRestore();
    expect(loaded).toHaveLength(12_001);
    expect([answer.status, answer.body.errors[0].extensions.limit]).toEqual([400, 'cost']);
    const rows = jest.spyOn(pg.Query.prototype as unknown as { handleDataRow(): void }, 'handleDataRow');
    const filter = `messageId: "${messageId}", webhookId: "${webhookId.toUpperCase()}", event: "sms.sent"`;
    const shown: string[] = [];
    for (let after: string | null = null; shown.length < 9; ) {
      const paged = await ask(
        `query ($after: String) { webhookDeliveries(first: 3, after: $after, filter: { ${filter} }) {
          totalCount nodes { id } pageInfo { endCursor } } }`,
        { after },
      );
      const { totalCount, nodes, pageInfo } = paged.body.data.webhookDeliveries;
      expect(totalCount).toBe(13_001);
      shown.push(...nodes.map((node: { id: string }) => node.id));
      after = pageInfo.endCursor;
    }
    expect([...new Set(shown)].sort().toReversed()).toEqual(shown);
    expect(rows.mock.calls.length).toBeLessThan(1_000);
    rows.mockRestore();
    const none = await ask(
      `{ webhookDeliveries(filter: { messageId: "${messageId}", status: FAILED }) { totalCount nodes { id } } }`,
    );
    expect(none.body.data.webhookDeliveries).toEqual({ totalCount: 0, nodes: [] });
  });
});
