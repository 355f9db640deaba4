import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { routes } from '../../src/rest/routes/all.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';

/**
 * The router matches most URL paths itself and passes others to Express. An answer must not show which of the two
 * matched the path.
 */
const plain = routes.flatMap((route) =>
  [route.path, ...(route.aliases ?? [])]
    .filter((path) => !path.includes(':'))
    .map((path) => [route.method.toUpperCase(), path] as const),
);

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.createAccount(10_000_000);
});
afterAll(() => gateway?.stop());

const send = (method: string, path: string, headers: Record<string, string> = {}) =>
  rawRequest(gateway.url, {
    method,
    path,
    headers: { 'content-type': 'application/json', ...headers },
    // A body that no route accepts, so that the request changes nothing.
    ...(method === 'GET' ? {} : { body: '[]' }),
  });
/** Leaves out the parts of an answer that differ between requests; the last use of the key is stored some seconds later. */
const told = ({ status, headers, body }: Awaited<ReturnType<typeof send>>) => {
  const names = Object.keys(headers).sort();
  return { status, names, allow: headers.allow, type: headers['content-type'], body: withoutLastUse(body) };
};

const withoutLastUse = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body ?? null), (name, value) => (name === 'lastUsedAt' ? 'left out' : value));

describe('a REST address gets the same answer however it is written', () => {
  it('this file tests all routes without parameters', () => {
    expect(plain).toContainEqual(['POST', '/developers/sms']);
    expect(plain.length).toBeGreaterThan(20);
  });

  it.each(plain)('%s %s', async (method, path) => {
    const exact = `/api/v1${path}`;
    const asked: Record<string, string>[] = [{ 'x-api-key': account.key }, {}];
    for (const headers of asked) {
      const answer = told(await send(method, exact, headers));
      for (const written of [`${exact}?`, `${exact}/`]) {
        expect({ written, ...told(await send(method, written, headers)) }).toEqual({ written, ...answer });
      }
      expect(answer.status === 401).toBe(!('x-api-key' in headers));
    }
  });

  it('every spelling counts as the same route in the metrics', async () => {
    const counted = async () => {
      const text = await (await fetch(`${gateway.processUrl}/metrics`)).text();
      return Number(/_duration_seconds_count\{method="POST",status="401"\} (\d+)/.exec(text)?.[1]);
    };
    const before = await counted();
    await send('POST', '/api/v1/developers/sms');
    await send('POST', '/api/v1/developers/sms?');
    expect(await counted()).toBe(before + 2);
  });
});
