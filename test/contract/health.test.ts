import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const TOKEN = 'a-token-for-metrics';

/** An address of this machine that is not loopback; undefined where there is none. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((address) => address && address.family === 'IPv4' && !address.internal)?.address;

describe('health', () => {
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

  it('an unknown address is 404 as JSON', async () => {
    const response = await fetch(`${gateway.url}/nowhere`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('an address that is not encoded correctly is no 5xx, and shows nothing of the inside', async () => {
    for (const path of ['/%ff', '/api/v1/developers/messages/%ff', '/health/%']) {
      const response = await fetch(`${gateway.url}${path}`);
      expect(response.status).toBeLessThan(500);
      expect(response.headers.get('content-type')).toContain('application/json');
      expect(await response.text()).not.toMatch(/node_modules|\bat /);
    }
  });
});

describe('/metrics without METRICS_TOKEN', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ HOST: '0.0.0.0' });
  });
  afterAll(() => gateway.stop());
  const metrics = (headers: Record<string, string> = {}, host = '127.0.0.1') =>
    fetch(`http://${host}:${new URL(gateway.url).port}/metrics`, { headers });

  it('answers on loopback, in the text of Prometheus', async () => {
    const account = await gateway.createAccount();
    await gateway.call('GET', '/account', { key: account.key });
    const response = await metrics();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/);
    const text = await response.text();
    expect(text).toMatch(/^gateway_http_request_duration_seconds_count\{method="GET",status="200"\} [1-9]/m);
    expect(text).toMatch(/^gateway_queue_jobs\{queue="submit"\} \d+$/m);
    expect(text).toMatch(/^gateway_provider_up\{provider="simulator"\} 1$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(text).not.toContain(account.key);
  });

  it.each(['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via'])(
    'refuses what a proxy on this machine passed on (%s)',
    async (header) => {
      expect((await metrics({ [header]: '127.0.0.1' })).status).toBe(401);
    },
  );

  (outside === undefined ? it.skip : it)('refuses every other address', async () => {
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
