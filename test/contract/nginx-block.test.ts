import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emailRoutes } from '../../src/rest/routes/email.routes.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';

/** Returns the directives of deploy/proxy/nginx.conf. The directives of the location are under `location /`. */
function readBlock() {
  const file = readFileSync(new URL('../../deploy/proxy/nginx.conf', import.meta.url), 'utf8');
  const text = file.replaceAll(/^\s*#.*$/gm, '');
  const directives: { within: string; name: string; values: string[] }[] = [];
  const open: string[] = [];
  for (const [, words = '', end] of text.matchAll(/([^;{}]*)([;{}])/g)) {
    const [name, ...values] = words.trim().split(/\s+/);
    if (end === '{') open.push(words.trim());
    else if (end === '}') {
      expect(words.trim()).toBe('');
      expect(open.pop()).toBeDefined();
    } else directives.push({ within: open.join(' > '), name: name ?? '', values });
  }
  expect(open).toEqual([]);
  return directives;
}

const directives = readBlock();
const valuesOf = (name: string) => directives.filter((one) => one.name === name).map(({ values }) => values);
const sets = valuesOf('proxy_set_header').map(([name = '', value = '']) => [name, value] as const);

describe('deploy/proxy/nginx.conf', () => {
  it('forwards what the gateway reads, and no header by which a client could claim another address', () => {
    expect(Object.fromEntries(sets)).toEqual({
      Connection: '""',
      Host: '$host',
      'X-Forwarded-For': '$proxy_add_x_forwarded_for',
      'X-Forwarded-Proto': '$scheme',
    });
    expect(new Set(directives.map(({ within }) => within))).toEqual(
      new Set(['server', 'server > location /']),
    );
    expect(valuesOf('proxy_pass')).toEqual([['http://127.0.0.1:3000']]);
    expect(valuesOf('proxy_http_version')).toEqual([['1.1']]);
  });

  it('allows the largest body and event streams', () => {
    const megabytes = Number(/^(\d+)m$/.exec(valuesOf('client_max_body_size')[0]?.[0] ?? '')?.[1]);
    const largest = Math.max(...emailRoutes.map(({ maxBodyBytes = 0 }) => maxBodyBytes), 16 * 1024 * 1024);
    expect(megabytes * 1024 * 1024).toBeGreaterThanOrEqual(largest);
    expect(valuesOf('proxy_buffering')).toEqual([['off']]);
    // A stream sends a line every 15 seconds, so nginx must wait longer than that.
    expect(Number.parseInt(valuesOf('proxy_read_timeout')[0]?.[0] ?? '', 10)).toBeGreaterThan(30);
  });

  describe('before a gateway', () => {
    let gateway: TestGateway;
    let proxyUrl: string;
    /** A proxy that sets the same headers as the nginx configuration. */
    const proxy = createServer((incoming, outgoing) => {
      const { host, port } = new URL(gateway.url);
      const given = incoming.headers['x-forwarded-for'];
      const variables: Record<string, string> = {
        '""': '',
        $host: incoming.headers.host?.replace(/:\d+$/, '') ?? '',
        $scheme: 'https',
        $proxy_add_x_forwarded_for: [given, incoming.socket.remoteAddress].filter(Boolean).join(', '),
      };
      const headers: Record<string, string | string[] | undefined> = { ...incoming.headers, host };
      for (const [name, value] of sets) {
        headers[name.toLowerCase()] = variables[value] || undefined;
      }
      const present = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
      const passed = httpRequest(
        { host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: present },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        },
      );
      incoming.pipe(passed);
    });
    beforeAll(async () => {
      // The gateway trusts the proxy at 127.0.0.1. The proxy's client is at 127.0.0.2.
      gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.1' });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    });
    afterAll(async () => {
      proxy.close();
      await gateway?.stop();
    });

    it("the client's address is its own, whatever it claims", async () => {
      const { accountId } = await gateway.createAccount();
      const { key } = await gateway.createKey(accountId, { ipAllowlist: ['127.0.0.2'] });
      const ask = async (localAddress: string, headers: Record<string, string> = {}) =>
        (
          await rawRequest(proxyUrl, {
            method: 'GET',
            path: '/api/v1/account',
            headers: { 'X-Api-Key': key, ...headers },
            localAddress,
          })
        ).status;
      expect(await ask('127.0.0.2')).toBe(200);
      expect(await ask('127.0.0.3')).toBe(403);
      expect(await ask('127.0.0.3', { 'X-Forwarded-For': '127.0.0.2' })).toBe(403);
    });
  });
});
