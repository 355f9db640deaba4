import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { signIn } from '../support/graphql.ts';
import { selfSignedCertificate } from '../support/self-signed.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy/proxy');

let gateway: TestGateway;
let directory: string;
beforeAll(async () => {
  gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.1' });
  directory = await mkdtemp(join(tmpdir(), 'gateway-proxy-'));
  const { key, cert } = selfSignedCertificate();
  await writeFile(join(directory, 'key.pem'), key);
  await writeFile(join(directory, 'cert.pem'), cert);
});
afterAll(async () => {
  await gateway.stop();
  await rm(directory, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request to the proxy from the loopback address `from`. `until` ends a stream when it returns true. */
function ask(
  port: number,
  path: string,
  options: {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly from?: string;
    readonly until?: (text: string) => boolean;
  } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: options.method ?? 'GET',
        headers: { Host: 'sms.example.com', ...options.headers },
        localAddress: options.from ?? '127.0.0.1',
        servername: 'sms.example.com',
        agent: new Agent({ rejectUnauthorized: false }),
      },
      (response) => {
        let text = '';
        const done = () => resolve({ status: response.statusCode ?? 0, text });
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
          if (!options.until?.(text)) return;
          done();
          response.destroy();
        });
        response.on('end', done);
        response.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end(options.body);
  });
}

async function startNginx(port: number): Promise<ChildProcess> {
  const block = (await readFile(join(DEPLOY, 'nginx.conf'), 'utf8'))
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/ssl/sms.example.com.pem', join(directory, 'cert.pem'))
    .replace('/etc/ssl/sms.example.com.key', join(directory, 'key.pem'))
    .replace('http://127.0.0.1:3000', gateway.url);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  const file = join(directory, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; pid ${directory}/nginx.pid; error_log ${directory}/error.log; events {} http { access_log off; ${paths}\n${block}\n}`,
  );
  return spawn('nginx', ['-c', file, '-p', directory], { stdio: 'inherit' });
}

async function startCaddy(port: number): Promise<ChildProcess> {
  const site = (await readFile(join(DEPLOY, 'Caddyfile'), 'utf8'))
    .replace(
      'sms.example.com {',
      `https://sms.example.com:${port} {\n\tbind 127.0.0.1\n\ttls ${directory}/cert.pem ${directory}/key.pem`,
    )
    .replace('127.0.0.1:3000', new URL(gateway.url).host);
  const file = join(directory, 'Caddyfile');
  await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
  return spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], {
    stdio: ['ignore', 'inherit', 'ignore'],
    env: { ...process.env, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
  });
}

describe.each([
  { name: 'nginx', start: startNginx },
  { name: 'Caddy', start: startCaddy },
])('the gateway behind $name', ({ start }) => {
  let port: number;
  let proxy: ChildProcess;
  beforeAll(async () => {
    port = await freePort();
    proxy = await start(port);
    await eventually(() =>
      ask(port, '/health/live').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });
  afterAll(async () => {
    proxy.kill('SIGTERM');
    if (proxy.exitCode === null) await once(proxy, 'exit');
  });

  it('sees the address of the client, whatever the client says itself', async () => {
    const { accountId } = await gateway.createAccount();
    const { key } = await gateway.createKey(accountId, { ipAllowlist: ['127.0.0.2'] });
    const statusOf = async (from: string, headers: Record<string, string> = {}) =>
      (await ask(port, '/api/v1/account', { from, headers: { 'X-Api-Key': key, ...headers } })).status;
    expect(await statusOf('127.0.0.2')).toBe(200);
    expect(await statusOf('127.0.0.3')).toBe(403);
    expect(await statusOf('127.0.0.3', { 'X-Forwarded-For': '127.0.0.2' })).toBe(403);
  });

  it('takes a body of 9 MiB', async () => {
    const { key } = await gateway.createAccount();
    const content = Buffer.alloc(6.5 * 1024 * 1024, 1).toString('base64');
    const attachments = [{ filename: 'a.bin', content, contentType: 'application/octet-stream' }];
    const answer = await ask(port, '/api/v1/developers/email', {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ to: 'a@example.com', subject: 'S', text: 'T', attachments }),
    });
    expect(answer.status).toBe(200);
  });

  it('passes a live update on at once', async () => {
    const { email, password, key } = await gateway.createAccount();
    const token = await signIn(gateway, { email, password });
    const stream = ask(port, '/graphql/stream', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        Accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: 'subscription { messageUpdated { id status } }' }),
      until: (text) => text.includes('"status"') || text.includes('errors'),
    });
    let isOver = false;
    const ended = stream.finally(() => {
      isOver = true;
    });
    // An SMS that is sent before the subscription has started causes no event, so send until an event arrives.
    await eventually(async () => {
      await gateway.call('POST', '/developers/sms', { key, body: { to: '0700123456', message: 'Hello' } });
      return isOver;
    });
    expect((await ended).text).toContain('"status"');
  });
});
