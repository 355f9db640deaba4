import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const TOKEN = 'a-token-for-metrics';

/** An IP address of this machine that is not loopback. Undefined if there is none. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((address) => address && address.family === 'IPv4' && !address.internal)?.address;

describe('health (R244)', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  it.each([
    ['/health/live', { status: 'live' }],
    ['/health/ready', { status: 'ready' }],
  ])('%s answers 200 as JSON, without a key', async (path, body) => {
    const response = await fetch(`${gateway.url}${path}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toEqual(body);
  });

  it('log lines of a request have the request id of its response', async () => {
    const lines: { requestId?: string }[] = [];
    const note = (fields: object) => void lines.push(fields);
    for (const level of ['warn', 'error'] as const) {
      jest.spyOn(silentLogger, level).mockImplementation(note);
    }
    const fault = new Error('no such table');
    const { stores } = gateway.parts;
    jest.spyOn(stores.apiKeys, 'findCredentials').mockRejectedValue(fault);
    jest.spyOn(stores.sessions, 'findMany').mockRejectedValue(fault);
    const json = { 'Content-Type': 'application/json' };
    const asGraphql = { method: 'POST', body: '{"query":"{ scopes }"}' };
    const Authorization = `Bearer ${'t'.repeat(43)}`;
    const requests: [string, RequestInit, number][] = [
      ['/api/v1/account', { headers: { 'X-Api-Key': `msg_${'f'.repeat(16)}_${'0'.repeat(40)}` } }, 500],
      ['/graphql', { ...asGraphql, headers: { ...json, Authorization } }, 500],
      ['/graphql/stream', { ...asGraphql, headers: { ...json, Authorization } }, 500],
    ];
    for (const [path, init, status] of requests) {
      lines.length = 0;
      const response = await fetch(gateway.url + path, init);
      const requestId = response.headers.get('x-request-id');
      expect([path, response.status, lines.map((line) => line.requestId)]).toEqual([
        path,
        status,
        [requestId],
      ]);
    }
    jest.restoreAllMocks();
  });

  it('/health/ready names the failed check, and the log has its beginning and end', async () => {
    const lines: string[] = [];
    for (const level of ['info', 'warn'] as const) {
      jest.spyOn(silentLogger, level).mockImplementation((_fields, message) => void lines.push(message));
    }
    const beat = jest.spyOn(gateway.parts.heartbeat, 'beat');
    beat.mockRejectedValue(Object.assign(new Error('could not extend file "base/1/2"'), { code: '53100' }));
    const ready = async () => {
      const response = await fetch(`${gateway.url}/health/ready`);
      return { status: response.status, body: await response.json() };
    };
    const failed = {
      status: 503,
      body: { status: 'unavailable', check: 'database', reason: 'The disk of the database is full.' },
    };
    await eventually(async () => (await ready()).status === 503);
    for (let time = 0; time < 20; time++) expect(await ready()).toEqual(failed);
    beat.mockRestore();
    await eventually(async () => (await ready()).status === 200);
    expect(lines.filter((line) => /ready/.test(line))).toEqual(['not ready', 'ready again']);
    jest.restoreAllMocks();
  });

  it('an unknown path is 404 as JSON', async () => {
    const response = await fetch(`${gateway.url}/nowhere`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('a wrongly encoded path is no 5xx, and shows nothing internal', async () => {
    for (const path of ['/%ff', '/api/v1/developers/messages/%ff', '/health/%']) {
      const response = await fetch(`${gateway.url}${path}`);
      expect(response.status).toBeLessThan(500);
      expect(response.headers.get('content-type')).toContain('application/json');
      expect(await response.text()).not.toMatch(/node_modules|\bat /);
    }
  });
});

describe('/metrics without METRICS_TOKEN (R244)', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ HOST: '0.0.0.0' });
  });
  afterAll(() => gateway.stop());
  const metrics = (headers: Record<string, string> = {}, host = '127.0.0.1') =>
    fetch(`http://${host}:${new URL(gateway.processUrl).port}/metrics`, { headers });

  it('is served on loopback, in the Prometheus text format', async () => {
    const account = await gateway.createAccount();
    await gateway.call('GET', '/account', { key: account.key });
    const response = await metrics();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/);
    const text = await response.text();
    expect(text).toMatch(/^gateway_http_request_duration_seconds_count\{method="GET",status="200"\} [1-9]/m);
    expect(text).toMatch(/^gateway_queue_jobs\{queue="submit"\} \d+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(text).not.toContain(account.key);
  });

  it.each(['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via'])(
    'is refused to requests through a proxy on this machine (%s)',
    async (header) => {
      expect((await metrics({ [header]: '127.0.0.1' })).status).toBe(401);
    },
  );

  (outside === undefined ? it.skip : it)('is refused to every other address', async () => {
    expect((await metrics({}, outside)).status).toBe(401);
  });
});

describe('/metrics with METRICS_TOKEN', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ METRICS_TOKEN: TOKEN });
  });
  afterAll(() => gateway.stop());

  it.each([
    ['the token', `Bearer ${TOKEN}`, 200],
    ['another one', `Bearer ${TOKEN}x`, 401],
    ['another scheme', `Basic ${TOKEN}`, 401],
    ['none, on loopback too', undefined, 401],
  ])('with %s', async (_name, authorization, status) => {
    const response = await fetch(`${gateway.url}/metrics`, {
      headers: {
        'X-Forwarded-For': '203.0.113.9',
        ...(authorization ? { Authorization: authorization } : {}),
      },
    });
    expect(response.status).toBe(status);
  });
});

describe('/metrics in production (R244)', () => {
  const environment = { NODE_ENV: 'production' };

  it("is closed without METRICS_TOKEN, also on loopback, because a local proxy's requests come from there", async () => {
    await using gateway = await startTestGateway(environment);
    for (const headers of [{}, { Authorization: 'Bearer ' }, { Authorization: 'Bearer undefined' }]) {
      const response = await fetch(`${gateway.url}/metrics`, { headers });
      expect(response.status).toBe(403);
      expect(await response.text()).toBe('Set METRICS_TOKEN: production shows metrics to who has it only.\n');
    }
  });

  it('is open with the token', async () => {
    await using gateway = await startTestGateway({ ...environment, METRICS_TOKEN: TOKEN });
    const ask = (headers: Record<string, string>) => fetch(`${gateway.url}/metrics`, { headers });
    expect((await ask({})).status).toBe(401);
    expect((await ask({ Authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });
});
