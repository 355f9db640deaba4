/** Tests common GraphQL clients with default settings. Only the URL and the credentials are set. */
import { ApolloClient, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cacheExchange, fetchExchange, Client as UrqlClient } from '@urql/core';
import { ClientError, GraphQLClient } from 'graphql-request';
import { createClient as createSseClient } from 'graphql-sse';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { signIn } from '../support/graphql.ts';

type Headers = Record<string, string>;
type Variables = Record<string, unknown>;

interface Answer {
  readonly data: unknown;
  /** The error codes of the answer. */
  readonly codes: readonly unknown[];
}

/** The operations that the tests use. Each client implements them with its own API. */
interface Asks {
  query(document: string, variables?: Variables): Promise<Answer>;
  mutate(document: string, variables?: Variables): Promise<Answer>;
  /** Calls `next` with the data of each event. Returns a function that ends the subscription. */
  subscribe?(document: string, next: (data: unknown) => void): () => void;
}

type Errors = readonly { readonly extensions?: { readonly code?: unknown } }[];
const answerOf = ({ data, errors = [] }: { data?: unknown; errors?: Errors | undefined }): Answer => ({
  data: data ?? null,
  codes: errors.map(({ extensions }) => extensions?.code),
});

function apollo(url: string, headers: Headers): Asks {
  const client = new ApolloClient({ link: new HttpLink({ uri: url, headers }), cache: new InMemoryCache() });
  const told = async (asked: Promise<{ data?: unknown }>) => {
    try {
      return answerOf(await asked);
    } catch (error) {
      if (!CombinedGraphQLErrors.is(error)) throw error;
      return answerOf(error as { errors: Errors });
    }
  };
  return {
    query: (document, variables = {}) => told(client.query({ query: gql(document), variables })),
    mutate: (document, variables = {}) => told(client.mutate({ mutation: gql(document), variables })),
    subscribe(document, next) {
      const subscription = client.subscribe({ query: gql(document) }).subscribe(({ data }) => next(data));
      return () => subscription.unsubscribe();
    },
  };
}

function urql(url: string, headers: Headers): Asks {
  const client = new UrqlClient({
    url,
    exchanges: [cacheExchange, fetchExchange],
    fetchSubscriptions: true,
    fetchOptions: { headers },
  });
  const told = async (asked: ReturnType<typeof client.query>) => {
    const { data, error } = await asked.toPromise();
    if (error?.networkError) throw error.networkError;
    return answerOf({ data, errors: error?.graphQLErrors as Errors | undefined });
  };
  return {
    query: (document, variables = {}) => told(client.query(document, variables)),
    mutate: (document, variables = {}) => told(client.mutation(document, variables)),
    subscribe(document, next) {
      const { unsubscribe } = client.subscription(document, {}).subscribe(({ data }) => next(data));
      return unsubscribe;
    },
  };
}

function graphqlRequest(url: string, headers: Headers): Asks {
  const client = new GraphQLClient(url, { headers });
  const ask = async (document: string, variables: Variables = {}) => {
    try {
      return answerOf({ data: await client.request(document, variables) });
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      return answerOf(error.response as { errors?: Errors });
    }
  };
  return { query: ask, mutate: ask };
}

function graphqlSse(url: string, headers: Headers): Asks {
  const client = createSseClient({ url, headers, retryAttempts: 0 });
  const ask = async (query: string, variables: Variables = {}) => {
    for await (const result of client.iterate({ query, variables })) return answerOf(result as object);
    throw new Error('the stream had no result');
  };
  return {
    query: ask,
    mutate: ask,
    subscribe: (query, next) =>
      client.subscribe(
        { query },
        {
          next: ({ data, errors }) => next(errors ? { data, errors } : data),
          error: (error) => next({ error: String(error) }),
          complete: () => next('complete'),
        },
      ),
  };
}

describe.each([
  ['@apollo/client', apollo, '/graphql'],
  ['urql', urql, '/graphql'],
  ['graphql-request', graphqlRequest, '/graphql'],
  ['graphql-sse', graphqlSse, '/graphql/stream'],
  ['graphql-sse', graphqlSse, '/graphql'],
] as const)('%s', (_name, create, path) => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ NODE_ENV: 'production', SMS_ROUTES: '*=simulator:' });
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(() => gateway?.stop());

  describe.each([
    ['a bearer token', () => ({ Authorization: `Bearer ${token}` })],
    // The headers that a browser sends for a page of the same origin.
    ['the cookie', () => ({ Cookie: `__Host-session=${token}`, 'Sec-Fetch-Site': 'same-origin' })],
  ])(`with %s, at ${path}`, (_how, headers: () => Headers) => {
    const client = () => create(gateway.url + path, headers());

    it('queries with variables', async () => {
      const { data, codes } = await client().query(
        'query ($n: Int!) { viewer { email } contacts(first: $n) { nodes { id } } }',
        { n: 5 },
      );
      expect(codes).toEqual([]);
      expect(data).toMatchObject({ viewer: { email: account.email } });
    });

    it('mutates', async () => {
      const { data, codes } = await client().mutate(
        'mutation ($input: CreateContactInput!) { createContact(input: $input) { name } }',
        { input: { name: 'Ann', email: `ann-${Math.random()}@example.com` } },
      );
      expect(codes).toEqual([]);
      expect(data).toMatchObject({ createContact: { name: 'Ann' } });
    });

    it('reads the codes of errors (R223)', async () => {
      const missing = '{ contact(id: "019a8f6e-0000-7000-8000-000000000000") { id } }';
      expect((await client().query(missing)).codes).toEqual(['NOT_FOUND']);
      expect((await client().query('{ viewer { nothing } }')).codes).toEqual(['GRAPHQL_VALIDATION_FAILED']);
      const faulty = 'mutation { createContact(input: { name: "Ann" }) { id } }';
      expect((await client().mutate(faulty)).codes).toEqual(['BAD_USER_INPUT']);
    });

    it('subscribes, or learns that it cannot', async () => {
      const asks = client();
      if (!asks.subscribe) {
        const refused = await asks.query('subscription { messageUpdated { id } }');
        return expect(refused.codes).toEqual(['BAD_REQUEST']);
      }
      const seen: unknown[] = [];
      const stop = asks.subscribe('subscription { messageUpdated { id status } }', (data) => seen.push(data));
      try {
        await eventually(() => gateway.parts.live.size === 1);
        const body = { to: '+256700123456', message: 'Hello' };
        const sent = await gateway.call('POST', '/developers/sms', { key: account.sandboxKey, body });
        await eventually(() => {
          expect(JSON.stringify(seen)).toContain(sent.body.id);
          return true;
        });
      } finally {
        stop();
      }
      await eventually(() => gateway.parts.live.size === 0);
    });
  });

  it('learns that it must sign in', async () => {
    const { codes } = await create(gateway.url + path, { Authorization: 'Bearer nobody' }).query(
      '{ viewer { id } }',
    );
    expect(codes).toEqual(['UNAUTHENTICATED']);
  });
});
