import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import {
  buildWorkplace,
  embeddedConnection,
  postmasterPid,
  query,
  quickstartOf,
  runCli,
  type ServerProcess,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

const IDLE_RSS_BYTES = 250 * 1024 * 1024;
const MASTER_KEY = Buffer.alloc(32, 9).toString('base64');

let workplace: Workplace;
const closings: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});
afterAll(() => workplace.remove());

function start(variables: Record<string, string>): ServerProcess {
  const server = startServer(workplace, {
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '100000',
    ...variables,
  });
  closings.push(() => server.kill());
  return server;
}

const isGone = async (dataDir: string) => {
  await expect(postmasterPid(dataDir)).rejects.toThrow('ENOENT');
  await expect(query(await embeddedConnection(dataDir), 'SELECT 1')).rejects.toThrow();
};

async function send(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/developers/sms`, {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

const isDelivered = (url: string, key: string, id: string) =>
  eventually(async () => {
    const response = await fetch(`${url}/api/v1/developers/messages/${id}`, {
      headers: { 'X-Api-Key': key },
    });
    return ((await response.json()) as { status: string }).status === 'delivered';
  });

/** Checks that `bin/gateway` has become Node. Only Linux has /proc. */
async function isNodeItself({ child }: ServerProcess) {
  expect(JSON.parse(await readFile('package.json', 'utf8')).scripts.start).toBe('exec bin/gateway');
  if (process.platform !== 'linux') return;
  const command = (await readFile(`/proc/${child.pid}/cmdline`, 'utf8')).split('\0');
  expect(command[0]).toMatch(/node$/);
  expect(command).toContain('--max-semi-space-size=16');
}

describe('npm start (R239)', () => {
  it('shows a quickstart account once, whose curl line works as pasted, and a later start shows nothing', async () => {
    const dataDir = await workplace.directory('quickstart');
    const first = start({ DATA_DIR: dataDir });
    const url = await first.ready();
    const { accountId, key, sandboxKey, curl } = quickstartOf(first.stdout());
    expect(first.stdout()).toMatch(/sign in\s+\S+@\S+\s+\S{16,}/);
    const pasted = await promisify(execFile)('/bin/sh', ['-c', curl]);
    const message = JSON.parse(pasted.stdout);
    expect(message).toMatchObject({ status: 'pending', cost: 30, to: ['+256700123456'], sandbox: false });
    await isDelivered(url, key, message.id);
    const account = await fetch(`${url}/api/v1/account`, { headers: { 'X-Api-Key': key } });
    expect(await account.json()).toMatchObject({ id: accountId, balance: 99_970, currency: 'UGX' });

    const status = await readFile(`/proc/${first.child.pid}/status`, 'utf8').catch(() => 'VmRSS: 0 kB');
    expect(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024).toBeLessThan(IDLE_RSS_BYTES);

    expect(await first.stop()).toMatchObject({ code: 0, stderr: '' });
    await isGone(dataDir);

    const second = start({ DATA_DIR: dataDir });
    const secondUrl = await second.ready();
    expect(second.stdout()).toBe(`ready ${secondUrl} (console at /console)\n`);
    const again = await fetch(`${secondUrl}/api/v1/account`, { headers: { 'X-Api-Key': sandboxKey } });
    expect(await again.json()).toMatchObject({ id: accountId });
  });

  it('prints no secret in production, where the command line creates the accounts (R242)', async () => {
    const database = await createTestDatabase();
    closings.push(() => database.drop());
    const variables = { NODE_ENV: 'production', DATABASE_URL: database.url, MASTER_KEY };
    const server = start({ ...variables, SMS_ROUTES: '*=simulator:' });
    await server.ready();
    expect(server.stdout()).toContain('npm run cli -- account create');
    expect(server.stdout()).not.toMatch(/msg_|password|sign in/);
    const created = await runCli(
      workplace,
      ['account', 'create', '--email', 'a@b.example', '--currency', 'UGX', '--json'],
      variables,
    );
    expect(created).toMatchObject({ code: 0, stderr: '' });
  });

  it('logs no key, password, message text or whole phone number, at any level (R243)', async () => {
    const { dataDir, ...first } = await startedDirectory(workplace);
    const server = start({ DATA_DIR: dataDir, LOG_LEVEL: 'debug', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
    const url = await server.ready();
    const { key, email, password } = quickstartOf(first.stdout);
    const post = (path: string, body: unknown, headers: Record<string, string> = { 'X-Api-Key': key }) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const wrongKey = key.replace(/.{8}$/, '31415926');
    const hook = { url: 'http://127.0.0.1:9/hook?token=161803', events: ['sms.sent'] };
    expect((await post('/api/v1/developers/webhooks', hook)).status).toBe(201);
    const sent = await post('/api/v1/developers/sms', {
      to: '+256772345678',
      message: 'Your code is 271828',
    });
    await isDelivered(url, key, ((await sent.json()) as { id: string }).id);
    expect((await post('/api/v1/developers/sms', {}, { 'X-Api-Key': wrongKey })).status).toBe(401);
    const signIn = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
    for (const p of [password, `${password}x`])
      await post('/graphql', { query: signIn, variables: { e: email, p } }, {});
    const { stderr } = await server.stop();
    const secrets = [key.split('_')[2] ?? key, '31415926', password, '161803', '271828', '772345678'];
    expect(stderr.trim().split('\n').length).toBeGreaterThan(3);
    // The first start created the key and the password.
    const log = first.stderr + stderr;
    expect(log.trim().split('\n')).toEqual(log.match(/^\{.*/gm));
    expect(first.stderr).toContain('embedded PostgreSQL started');
    expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
  });

  it.each([
    ['PORT', { PORT: 'http' }, 'PORT is "http", but must be a whole number from 0 to 65535.'],
    ['MASTER_KEY', { MASTER_KEY: 'secret' }, 'MASTER_KEY must be 32 bytes in base64'],
    [
      'SMS_ROUTES',
      { SMS_ROUTES: '*=smpp://host' },
      'SMS_ROUTES cannot be used: the SMPP URL names no systemId',
    ],
    ['production', { NODE_ENV: 'production' }, 'DATABASE_URL is required when NODE_ENV is production'],
  ])('refuses a bad %s, and says what would be right', async (_name, variables, message) => {
    const dataDir = await workplace.directory('bad');
    const { code, stdout, stderr } = await start({ DATA_DIR: dataDir, ...variables }).finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Cannot start:\n/);
    expect(stderr).toContain(message);
    // The gateway started no PostgreSQL for that directory.
    await expect(access(join(dataDir, 'postgres'))).rejects.toThrow('ENOENT');
  });

  it('names the database that is unreachable, without its password', async () => {
    const { code, stderr } = await start({
      DATA_DIR: await workplace.directory('unreachable'),
      DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/gateway',
    }).finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Cannot start: The database cannot be reached: .*127\.0\.0\.1:1.* Check DATABASE_URL\.\n$/,
    );
    expect(stderr).not.toContain('hunter2');
  });

  it('says that its port is taken, and stops its PostgreSQL again', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    closings.push(() => new Promise((resolve) => other.close(resolve)));
    const { port } = other.address() as AddressInfo;
    const { dataDir } = await startedDirectory(workplace);
    const { code, stdout, stderr } = await start({ DATA_DIR: dataDir, PORT: String(port) }).finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`127.0.0.1:${port} is taken by another program. Set PORT to a free port.`);
    await isGone(dataDir);
  });
});

describe('SIGTERM and SIGINT (R239)', () => {
  it('reach Node itself, let requests in flight finish, also when repeated, and exit with 0', async () => {
    const { dataDir, stdout } = await startedDirectory(workplace);
    const server = start({ DATA_DIR: dataDir });
    const url = await server.ready();
    await isNodeItself(server);
    const { key } = quickstartOf(stdout);
    const body = JSON.stringify({ to: '+256700123456', message: 'Hello' });
    const inFlight = request(`${url}/api/v1/developers/sms`, {
      method: 'POST',
      headers: {
        'X-Api-Key': key,
        'Content-Type': 'application/json',
        'Content-Length': body.length,
        Expect: '100-continue',
      },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      inFlight.on('error', reject);
      inFlight.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
    });
    // `continue` shows that the server has read the head of the request and now waits for the body.
    await new Promise((resolve) => inFlight.on('continue', resolve).flushHeaders());
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) server.child.kill(signal);
    await eventually(async () =>
      fetch(`${url}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    inFlight.end(body);
    expect(await answered).toBe(200);
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' });
    await isGone(dataDir);
  });

  it('do not wait until the timeout for clients that read nothing', async () => {
    const { dataDir } = await startedDirectory(workplace);
    const server = start({ DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '1000' });
    const url = await server.ready();
    const { hostname, port } = new URL(url);
    // The answers are larger than the socket buffers, and the client does not read them. So the server can never write
    // them completely.
    const text = 'GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(150);
    const sockets = Array.from({ length: 3 }, () =>
      connect(Number(port), hostname).on('error', () => undefined),
    );
    closings.push(async () => sockets.forEach((socket) => void socket.destroy()));
    for (const socket of sockets) await new Promise((resolve) => socket.write(text, resolve));
    // An answer to this request shows that the server has also read the requests that were sent before it.
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    const signalledAt = performance.now();
    expect(await server.stop()).toMatchObject({ code: 0 });
    // If the server waited for these connections, stopping would take over 30 s: after that time it cuts all
    // connections.
    expect(performance.now() - signalledAt).toBeLessThan(25_000);
    await isGone(dataDir);
  });

  it('also end a start cleanly', async () => {
    const dataDir = await workplace.directory('early');
    const server = start({ DATA_DIR: dataDir });
    await eventually(() => access(join(dataDir, 'postgres.lock')).then(() => true));
    server.child.kill('SIGTERM');
    const { code, stdout, stderr } = await server.finished;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
    await isGone(dataDir);
  });
});

describe('several processes', () => {
  it('divide the work by ROLES: a message that the API process accepts is sent by the worker process (R247)', async () => {
    const database = await createTestDatabase();
    closings.push(() => database.drop());
    const variables = {
      DATABASE_URL: database.url,
      MASTER_KEY,
      DATA_DIR: await workplace.directory('roles'),
    };
    const api = start({ ...variables, ROLES: 'api' });
    const url = await api.ready();
    const { key } = quickstartOf(api.stdout());
    const id = await send(url, key);
    const worker = start({ ...variables, ROLES: 'worker' });
    expect(await worker.ready()).toContain('worker');
    await isDelivered(url, key, id);
    await isDelivered(url, key, await send(url, key));
    expect(await worker.stop()).toMatchObject({ code: 0 });
    expect(await api.stop()).toMatchObject({ code: 0 });
  });

  it('share the embedded PostgreSQL of one DATA_DIR; the second takes over when the first is killed (R240)', async () => {
    const { dataDir, stdout } = await startedDirectory(workplace);
    const first = start({ DATA_DIR: dataDir });
    const firstUrl = await first.ready();
    const { key } = quickstartOf(stdout);
    const second = start({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
    const url = await second.ready();
    expect(second.stdout()).toBe(`ready ${url} (console at /console)\n`);
    await isDelivered(url, key, await send(firstUrl, key));
    await first.kill();
    const id = await eventually(() => send(url, key));
    await isDelivered(url, key, id);

    const third = start({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' });
    const thirdUrl = await third.ready();
    expect(await second.stop()).toMatchObject({ code: 0 });
    await isDelivered(thirdUrl, key, await eventually(() => send(thirdUrl, key)));
    expect(await third.stop()).toMatchObject({ code: 0 });
    await isGone(dataDir);
  });
});
