import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AnswerPart, Route, RouteExample } from '../../src/rest/define-route.ts';
import { ERROR_RESPONSES } from '../../src/rest/error-response.ts';
import { routes } from '../../src/rest/routes/all.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { createDocumentCheck, type OpenApi } from '../support/documented.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ABSENT_ID = '00000000-0000-7000-8000-000000000000';
const nameOf = (route: Route) => `${route.method.toUpperCase()} ${route.path}`;
const NO_INPUT: RouteExample<unknown> = {};

/** Returns the examples of a route. The example of a route without input is an empty request. */
function examplesOf(route: Route): [string, RouteExample<unknown>][] {
  const given = Object.entries(route.examples ?? {});
  const takesNothing = !route.body && !route.path.includes(':');
  return given.length === 0 && takesNothing ? [['bare', NO_INPUT]] : given;
}

/** Returns the paths and components in which two documents differ. */
function differences(a: unknown, b: unknown, at: string, depth: number): string[] {
  if (isDeepStrictEqual(a, b)) return [];
  if (depth === 3 || !isObject(a) || !isObject(b)) return [at];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].flatMap((name) => differences(a[name], b[name], `${at} ${name}`, depth + 1));
}
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** In all tests, the test gateway's `call` checks each answer against the documentation. */
describe('the OpenAPI document (R2, R3, R5, R168, R169)', () => {
  let gateway: TestGateway;
  let names: DnsServer;
  let account: TestAccount;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let document: OpenApi;
  beforeAll(async () => {
    names = await startDnsServer();
    gateway = await startTestGateway({ DNS_SERVERS: names.address });
    account = await gateway.createAccount();
    receiver = await startWebhookReceiver();
    document = (await gateway.call('GET', '/openapi.json')).body;
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
    await names?.[Symbol.asyncDispose]();
  });

  const answers = new Map<string, Promise<Answer>>();

  /** Makes a request that an example depends on, and returns its answer. Each such request is made once. */
  function answerOf({ route: name, body }: AnswerPart): Promise<Answer> {
    const key = `${name} ${JSON.stringify(body?.())}`;
    const known = answers.get(key);
    if (known) return known;
    const source = routes.find((route) => nameOf(route) === name);
    const example = source && examplesOf(source)[0]?.[1];
    if (!source || !example) throw new Error(`An example needs ${name}, which is no route with an example.`);
    const answer = send(source, body ? { ...example, body: body() } : example);
    answers.set(key, answer);
    return answer;
  }

  async function send(route: Route, example: RouteExample<unknown>): Promise<Answer> {
    let path = route.path;
    for (const [name, part] of Object.entries(example.params ?? {})) {
      const { body } = await answerOf(part);
      const value = part.at.split('.').reduce((node, member) => node?.[member], body);
      if (typeof value !== 'string')
        throw new Error(`${part.route} answered no ${part.at}: ${JSON.stringify(body)}`);
      path = path.replace(`:${name}`, value);
    }
    const query = example.query ? `?${new URLSearchParams(example.query)}` : '';
    // Examples have an endpoint with a public host name. Replace it by the test's receiver.
    const body = JSON.stringify(example.body)?.replaceAll(/https:\/\/example\.com[^"]*/g, receiver.url);
    const method = route.method.toUpperCase();
    // The examples show the JSON form of routes that also have another one.
    const headers: Record<string, string> = {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    return gateway.call(method, path + query, {
      key: account.key,
      headers,
      ...(body === undefined ? {} : { body }),
    });
  }

  it('equals the committed schema/openapi.json (`npm run schema` writes it)', async () => {
    const committed = await readFile(new URL('../../schema/openapi.json', import.meta.url), 'utf8');
    expect(differences(document, JSON.parse(committed), '', 0)).toEqual([]);
  });

  it('is served without a key, with the headers of every answer (R4)', async () => {
    const answer = await gateway.call('GET', '/openapi.json', { headers: { 'X-Request-Id': 'reader.1' } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-request-id')).toBe('reader.1');
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      expect(answer.headers.get(name)).toMatch(/^\d+$/);
    }
    expect(answer.body).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./) });
  });

  it('the check of answers finds members, statuses, codes and headers that it lacks', async () => {
    const { faultsOf } = createDocumentCheck(document);
    const answer = await gateway.call('GET', '/account', { key: account.key });
    expect(faultsOf('GET', '/account', answer)).toEqual([]);
    expect(faultsOf('GET', '/account', { ...answer, body: { ...answer.body, more: 1 } })).toHaveLength(1);
    expect(faultsOf('GET', '/account', { ...answer, body: { ...answer.body, balance: '1' } })).toHaveLength(
      1,
    );
    expect(faultsOf('GET', '/account', { ...answer, status: 402 })).toHaveLength(1);
    expect(faultsOf('GET', '/account', { ...answer, headers: new Headers() })).toHaveLength(4);
    const refused = await gateway.call('POST', '/developers/sms', { key: account.key, body: {} });
    const body = { error: { ...refused.body.error, code: 'webhook_limit' } };
    expect(faultsOf('POST', '/developers/sms', { ...refused, body })).toHaveLength(1);
  });

  it('leaves objects open, because members may be added (R1, R197)', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false');
  });

  it('documents every route, with its access and both error shapes', () => {
    for (const route of routes) {
      const documented = document.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method];
      const statuses = Object.keys(documented?.responses ?? {}).map(Number);
      const wanted = [route.successStatus ?? 200, 401, 403, 421, 429, 500, 503];
      if (route.body) wanted.push(400, 413, 415);
      if (route.query) wanted.push(400);
      if (route.params) wanted.push(404);
      for (const code of route.errors ?? []) wanted.push(ERROR_RESPONSES[code].status);
      expect([nameOf(route), new Set(statuses)]).toEqual([nameOf(route), new Set(wanted)]);
      expect(documented).toMatchObject({ description: expect.stringMatching(/Scope|Any valid key/) });
    }
  });

  it('has an example for every route with input', () => {
    const missing = routes.filter((route) => examplesOf(route).length === 0).map(nameOf);
    expect(missing).toEqual([]);
    const unfilled = routes.flatMap((route) =>
      examplesOf(route)
        .filter(([, { params = {} }]) =>
          route.path.split('/').some((part) => part.startsWith(':') && !params[part.slice(1)]),
        )
        .map(([name]) => `${nameOf(route)} (${name})`),
    );
    expect(unfilled).toEqual([]);
  });

  const inOrder = [...routes].sort((a, b) => Number(a.method === 'delete') - Number(b.method === 'delete'));
  const cases = inOrder.flatMap((route) =>
    examplesOf(route).map(([name, example]) => ({ route, name, example })),
  );
  it.each(cases.map((one) => [`${nameOf(one.route)} (${one.name})`, one] as const))(
    'has an example that works with FULL_ACCESS: %s (R128, R198)',
    async (_title, { route, example }) => {
      const answer = await send(route, example);
      expect([answer.status, answer.text]).toEqual([route.successStatus ?? 200, expect.anything()]);
      expect(route.response.safeParse(answer.body).error).toBeUndefined();
    },
  );

  it('has a body in each example of a route that takes one', () => {
    const without = routes.flatMap((route) =>
      route.body
        ? examplesOf(route).flatMap(([name, { body }]) =>
            body === undefined ? `${nameOf(route)}: ${name}` : [],
          )
        : [],
    );
    expect(without).toEqual([]);
  });

  it('describes every refusal of a route', async () => {
    const { key: weakKey } = await gateway.createKey(account.accountId, { scopes: ['SEND_WHATSAPP'] });
    for (const route of routes) {
      const method = route.method.toUpperCase();
      const path = route.path.replaceAll(/:\w+/g, ABSENT_ID);
      const json = { 'Content-Type': 'application/json' };
      const { access } = route.operation(gateway.parts.operations);
      const isRefusedToWeak = access.scopes !== 'any' && !access.scopes?.includes('SEND_WHATSAPP');
      type Attempt = readonly [number, Parameters<TestGateway['call']>[2]];
      const refused: Attempt[] = [
        [401, {}],
        [401, { key: `msg_${'0'.repeat(16)}_${'0'.repeat(40)}` }],
        ...(isRefusedToWeak ? ([[403, { key: weakKey }]] satisfies Attempt[]) : []),
        ...(route.body
          ? ([
              [400, { key: account.key, body: '{', headers: json }],
              [400, { key: account.key, body: '[]', headers: json }],
              [
                413,
                { key: account.key, body: ' '.repeat((route.maxBodyBytes ?? 2 ** 20) + 1), headers: json },
              ],
              [415, { key: account.key, body: 'a=b', headers: { 'Content-Type': 'text/plain' } }],
            ] satisfies Attempt[])
          : []),
        // An address is no id: a text that is none is refused as such.
        ...(route.params && !route.body
          ? ([[route.path.includes(':address') ? 400 : 404, { key: account.key }]] satisfies Attempt[])
          : []),
      ];
      for (const [status, request] of refused) {
        const answer = await gateway.call(method, path, request);
        expect([method, path, answer.status]).toEqual([method, path, status]);
      }
    }
  });
});
