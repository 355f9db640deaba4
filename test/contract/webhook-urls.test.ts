import { existsSync, readFileSync } from 'node:fs';
import { connect, type TcpNetConnectOpts } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createGuardedClient,
  type GuardedClientOptions,
} from '../../src/channels/guarded-http/guarded-client.ts';
import { createWebhookTransport } from '../../src/channels/webhook/webhook-transport.ts';
import { TargetRefused } from '../../src/domain/ports/webhook-transport.ts';
import { eventually } from '../support/eventually.ts';
import { answer, fixture, identity, type RawReceiver, rawReceiver } from '../support/raw-receiver.ts';

type Answers = string[] | 'SERVFAIL';
interface Entry {
  id: string;
  input: unknown;
  expect: 'accept' | 'reject';
  stage: 'register' | 'deliver';
  env: 'production' | 'development';
  dns?: Record<string, Answers>;
  dnsAtDelivery?: Answers[];
  deliver?: string;
  canonicalHost?: string | null;
  note: string;
}

// A corpus outside the repository, which may be newer than the copy in it.
const SHARED = new URL('../../../shared/corpus/urls.json', import.meta.url);
const entries: Entry[] = JSON.parse(
  existsSync(SHARED) ? readFileSync(SHARED, 'utf8') : fixture('corpus/urls.json'),
);
const named = (chosen: Entry[]) =>
  chosen.map((entry) => [`${entry.id} ${JSON.stringify(entry.input)}: ${entry.note}`, entry] as const);

const NO_PUBLIC_ADDRESS = 'the host does not resolve to a public address';
const OWN_ADDRESS = '93.184.215.99';
const dnsError = (code: string) => Object.assign(new Error(code), { code });
const give = (answers: Answers | undefined): string[] => {
  if (answers === 'SERVFAIL') throw dnsError('ESERVFAIL');
  if (answers === undefined) throw dnsError('ENOTFOUND');
  return answers.map((address) => (address.startsWith('<our own') ? OWN_ADDRESS : address));
};
const fromDns =
  (dns: Record<string, Answers> = {}) =>
  async (hostname: string) => {
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    return give(dns[hostname]);
  };

const transportWith = (entry: Entry, options: Partial<GuardedClientOptions>) =>
  createWebhookTransport({
    client: createGuardedClient({
      allowedNetworks: entry.env === 'development' ? ['127.0.0.0/8', '::1'] : [],
      requireHttps: entry.env === 'production',
      maxConnectionsPerAccount: 2,
      ...options,
    }),
    serviceName: 'Service',
    timeoutMs: 2_000,
  });
const attempt = (url: string) => ({
  url,
  accountId: 'account',
  secret: 'whsec_test',
  deliveryId: 'd1',
  event: 'sms.sent',
  body: '{}',
  at: new Date(1_700_000_000_000),
});

describe('webhook targets at registration (R32, R160–R162)', () => {
  it.each(named(entries))('%s', async (_, entry) => {
    const transport = transportWith(entry, { resolve: fromDns(entry.dns) });
    const checked = transport.checkTarget(entry.input as string);
    if (entry.expect === 'accept') expect(new URL(await checked).hostname).toBe(entry.canonicalHost);
    else await expect(checked).rejects.toBeInstanceOf(TargetRefused);
    await transport.close();
  });

  it.each(named(entries.filter((entry) => entry.expect === 'reject')))(
    'nothing is dialled when it was stored all the same: %s',
    async (_, entry) => {
      const dialled: string[] = [];
      const transport = transportWith(entry, {
        resolve: fromDns(entry.dns),
        dial: ({ host }) => {
          dialled.push(String(host));
          return connect({ host: '127.0.0.1', port: 1 });
        },
      });
      const result = await transport.attempt(attempt(entry.input as string));
      expect(result).toMatchObject({ ok: false, httpStatus: null, errorMessage: expect.any(String) });
      expect(dialled).toEqual([]);
      await transport.close();
    },
  );

  it("the reason is the same for every name and address; the operator's log has the difference (R210)", async () => {
    const told: unknown[] = [];
    const refused = async (url: string) => {
      const transport = transportWith(entries[0] as Entry, {
        resolve: fromDns({ 'in.example.com': ['10.0.0.5'], 'broken.example.com': 'SERVFAIL' }),
        onConcealed: (failure) => told.push(failure),
      });
      const error = await transport.checkTarget(url).catch((thrown: TargetRefused) => thrown);
      await transport.close();
      return (error as TargetRefused).reason;
    };
    const hosts = ['10.0.0.5', 'in.example.com', 'nowhere.example.com', 'broken.example.com'];
    const words: unknown[] = [];
    for (const host of hosts) words.push(await refused(`https://${host}/`));
    expect(words).toEqual(hosts.map(() => NO_PUBLIC_ADDRESS));
    expect(told).toEqual([
      { host: hosts[0], code: 'address_not_public', particulars: 'address 10.0.0.5 is not public' },
      {
        host: hosts[1],
        code: 'address_not_public',
        particulars: 'address 10.0.0.5 (in.example.com) is not public',
      },
      { host: hosts[2], code: 'name_not_found', particulars: 'name nowhere.example.com not found' },
      {
        host: hosts[3],
        code: 'name_lookup_failed',
        particulars: 'name broken.example.com could not be looked up (ESERVFAIL)',
      },
    ]);
    expect(await refused('http://example.com/')).toBe('the URL must use https');
    // Each character becomes nine when it is encoded.
    expect(await refused(`https://example.com/${'漢'.repeat(300)}`)).toBe(
      'the URL is longer than 2048 characters once it is escaped',
    );
  });
});

describe('ports of webhook targets (R210)', () => {
  const client = (allowedNetworks: string[], looked: string[], dialled: string[] = []) =>
    createWebhookTransport({
      client: createGuardedClient({
        allowedNetworks,
        requireHttps: false,
        maxConnectionsPerAccount: 2,
        resolve: async (name) => {
          looked.push(name);
          return name === 'in.example.com' ? ['10.0.0.5'] : ['93.184.215.14'];
        },
        dial: ({ host }) => {
          dialled.push(String(host));
          return connect({ host: '127.0.0.1', port: 1 });
        },
      }),
      serviceName: 'Service',
      timeoutMs: 2_000,
    });
  const rule = 'use 80, 443 or a port from 1024 to 65535 that no other service is known for';

  it.each(['http://example.com:6379/', 'http://93.184.215.14:6379/', 'https://example.com.:6379/x'])(
    '%s is refused at registration without a lookup, and not dialled when it was stored',
    async (url) => {
      const [looked, dialled]: [string[], string[]] = [[], []];
      const transport = client([], looked, dialled);
      const reason = `port 6379 belongs to Redis; ${rule}`;
      await expect(transport.checkTarget(url)).rejects.toMatchObject({ reason });
      expect(await transport.attempt(attempt(url))).toMatchObject({ ok: false, errorMessage: reason });
      expect([looked, dialled]).toEqual([[], []]);
      await transport.close();
    },
  );

  it('any port of an allowed network is open, and of no other', async () => {
    const [looked, dialled]: [string[], string[]] = [[], []];
    const transport = client(['10.0.0.0/8'], looked, dialled);
    expect(await transport.checkTarget('http://in.example.com:6379/')).toBe('http://in.example.com:6379/');
    await transport.attempt(attempt('http://in.example.com:22/'));
    expect(dialled).toEqual(['10.0.0.5']);
    await expect(transport.checkTarget('http://out.example.com:6379/')).rejects.toMatchObject({
      reason: `port 6379 belongs to Redis; ${rule}`,
    });
    await transport.attempt(attempt('http://out.example.com:22/'));
    expect(dialled).toEqual(['10.0.0.5']);
    await transport.close();
  });
});

describe('webhook targets at delivery', () => {
  let receiver: RawReceiver;
  let proxy: RawReceiver;
  const before = { ...process.env };

  beforeEach(async () => {
    proxy = await rawReceiver((socket) => socket.end());
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']) {
      process.env[name] = `http://127.0.0.1:${proxy.port}`;
    }
    process.env.NODE_USE_ENV_PROXY = '1';
    receiver = await rawReceiver(
      (socket, request) => {
        const redirect = /^host: redir/im.test(request);
        socket.write(redirect ? answer(302, '', ['Location: https://169.254.169.254/']) : answer(200, 'ok'));
      },
      { tls: identity('server') },
    );
  });
  afterEach(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    await receiver.close();
    await proxy.close();
  });

  /** Connects to the receiver for every IP address. The socket reports the dialled IP address as its peer. */
  const internet = (dialled: string[]) => (options: TcpNetConnectOpts) => {
    dialled.push(String(options.host));
    const socket = connect({ ...options, host: '127.0.0.1', port: receiver.port });
    return Object.defineProperty(socket, 'remoteAddress', { value: options.host });
  };

  it.each(named(entries.filter((entry) => entry.stage === 'deliver')))('%s', async (_, entry) => {
    const dialled: string[] = [];
    let lookups = 0;
    const answers = entry.dnsAtDelivery ?? [];
    const transport = transportWith(entry, {
      resolve: async () => give(answers[lookups++]),
      dial: internet(dialled),
      tls: { ca: fixture('tls-test-only/ca.pem') },
    });
    for (const [index, resolved] of answers.entries()) {
      const mayDial = resolved !== 'SERVFAIL' && resolved.length > 0 && give(resolved).every(isPublic);
      const seen = dialled.length;
      const result = await transport.attempt(attempt(entry.input as string));
      expect(lookups).toBe(index + 1);
      const fresh = dialled.slice(seen);
      if (mayDial) {
        for (const address of fresh) expect(give(resolved)).toContain(address);
        if (entry.deliver?.startsWith('302')) {
          expect(result).toMatchObject({
            ok: false,
            httpStatus: 302,
            errorMessage: 'answered 302; redirects are not followed',
          });
        } else expect(result).toMatchObject({ ok: true, httpStatus: 200, responseBody: 'ok' });
      } else {
        expect(fresh).toEqual([]);
        expect(result).toMatchObject({ ok: false, httpStatus: null });
        expect(result.errorMessage).toBe(NO_PUBLIC_ADDRESS);
      }
    }
    expect(proxy.accepted).toBe(0);
    expect(dialled).not.toContain('169.254.169.254');
    await transport.close();
    await eventually(() => receiver.open === 0);
  });

  it('sends Host and SNI without the trailing dot of the root', async () => {
    const dialled: string[] = [];
    const asked: string[] = [];
    const transport = transportWith(entries[0] as Entry, {
      resolve: async (hostname) => {
        asked.push(hostname);
        return ['93.184.215.14'];
      },
      dial: internet(dialled),
      tls: { ca: fixture('tls-test-only/ca.pem') },
    });
    const result = await transport.attempt(attempt('https://example.com./hook?x=1&y=%20'));
    expect(result.ok).toBe(true);
    expect(asked).toEqual(['example.com']);
    expect(receiver.requests[0]).toMatch(/^POST \/hook\?x=1&y=%20 HTTP\/1\.1\r\nhost: example\.com\r\n/);
    await transport.close();
  });

  it('refuses a socket that reached another address than the checked one, before a byte is sent', async () => {
    const transport = transportWith(entries[0] as Entry, {
      resolve: async () => ['93.184.215.14'],
      dial: (options) => connect({ ...options, host: '127.0.0.1', port: receiver.port }),
      tls: { ca: fixture('tls-test-only/ca.pem') },
    });
    const result = await transport.attempt(attempt('https://example.com/hook'));
    expect(result).toMatchObject({ ok: false, errorMessage: NO_PUBLIC_ADDRESS });
    expect(receiver.requests).toEqual([]);
    await transport.close();
  });
});

const isPublic = (address: string): boolean => /^(93\.|2606:)/.test(address);
