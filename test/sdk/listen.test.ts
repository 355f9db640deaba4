import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runCommand } from '../../sdk/typescript/src/cli/commands.ts';
import { Gateway, verifyWebhook } from '../../sdk/typescript/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startHttpProxy } from '../support/http-proxy.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const CLI = join(import.meta.dirname, '../../sdk/typescript/src/cli/main.ts');

describe('the command line of the SDK, for webhooks on a developer’s machine', () => {
  let server: TestGateway;
  let account: TestAccount;
  let gateway: Gateway;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let home: string;
  let refused = 0;
  const stops: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    server = await startTestGateway();
  });
  beforeEach(async () => {
    account = await server.createAccount();
    gateway = new Gateway({ apiKey: account.key, baseUrl: server.url });
    home = await mkdtemp(join(tmpdir(), 'listen-'));
    receiver = await startWebhookReceiver(() => (refused > 0 ? 500 : 200));
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await receiver.stop();
    await rm(home, { recursive: true, force: true });
  });
  afterAll(() => server?.stop());

  const settings = () => ({
    GATEWAY_URL: server.url,
    GATEWAY_API_KEY: account.key,
    XDG_STATE_HOME: home,
  });
  /** Returns a running command. `abort` asks it to end. */
  function track(written: { out: string; fault: string }, code: Promise<number>, abort: () => void) {
    const ended = code.then((code) => ({ code, ...written }));
    const stop = () => {
      abort();
      return ended;
    };
    stops.push(stop);
    return { written, ended, stop };
  }
  /** Runs a command in this process, which takes a fraction of a start of Node. `stop` does what SIGTERM does. */
  function start(args: readonly string[], environment: Record<string, string> = {}) {
    const written = { out: '', fault: '' };
    const stopping = new AbortController();
    const code = runCommand(args, {
      environment: { ...settings(), ...environment },
      out: (text) => {
        written.out += `${text}\n`;
      },
      fault: (text) => {
        written.fault += `${text}\n`;
      },
      signal: stopping.signal,
    });
    return track(written, code, () => stopping.abort());
  }
  /** Starts a command as a user does. `stop` sends SIGTERM. */
  function startProcess(args: readonly string[]) {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [CLI, ...args], { env: { PATH, ...settings() } });
    const written = { out: '', fault: '' };
    child.stdout.on('data', (piece) => {
      written.out += piece;
    });
    child.stderr.on('data', (piece) => {
      written.fault += piece;
    });
    const code = once(child, 'close').then(([code]) => code as number);
    return track(written, code, () => child.kill('SIGTERM'));
  }
  const run = (args: readonly string[], environment?: Record<string, string>) =>
    start(args, environment).ended;
  const send = (to: string = gateway.testing.numbers.delivered) => gateway.sms.send({ to, message: 'Hello' });
  const forwarding = (listener: ReturnType<typeof start>) =>
    eventually(() => listener.written.out.includes('Forwarding'));

  it('forwards what happens from now on, signed with the secret of the key, and goes on where it stopped', async () => {
    const earlier = await send();
    await eventually(async () => (await gateway.events.list()).data.length === 1);
    const listener = startProcess(['listen', '--forward-to', receiver.url, '--events', 'sms.sent']);
    await forwarding(listener);
    await send(gateway.testing.numbers.rejected);
    const first = await send();
    const hook = await receiver.waitFor(({ body }) => body.messageId === first.id);
    const { out: secret } = await run(['secret']);
    expect(listener.written.out).toContain(`Signing with ${secret.trim()}\n`);
    expect(secret).toMatch(/^whsec_[\w-]{43}\n$/);
    const verified = await verifyWebhook(hook.raw, hook.headers, secret.trim());
    expect(verified).toMatchObject({ event: 'sms.sent', messageId: first.id });
    expect(hook.headers).toMatchObject({
      'x-service-event': 'sms.sent',
      'user-agent': 'Service-Webhooks/1.0',
    });
    await eventually(() => listener.written.out.includes(`200  `));
    const { code, out } = await listener.stop();
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(`sms.sent +200  \\d+ ms  message ${first.id}  --replay ${verified.deliveryId}\n`),
    );

    const missed = await send();
    await eventually(async () => (await gateway.events.list()).data.length === 4);
    const again = start(['listen', '--events', 'sms.sent,sms.failed']);
    await receiver.waitFor(({ body }) => body.messageId === missed.id);
    await again.stop();
    expect(receiver.received.map(({ body }) => body.messageId)).toEqual([first.id, missed.id]);
    expect(receiver.received.map(({ body }) => body.messageId)).not.toContain(earlier.id);

    const replayed = await run(['listen', '--replay', verified.deliveryId ?? '']);
    expect(replayed).toMatchObject({ code: 0, out: expect.stringContaining('200') });
    expect(receiver.received.at(-1)?.raw).toEqual(hook.raw);
    expect(receiver.received.at(-1)?.headers['x-service-delivery']).toBe(verified.deliveryId);
  });

  it('keeps no text of a message, and what it keeps to its owner', async () => {
    const listener = start(['listen', '--forward-to', receiver.url, '--from-start', '--json']);
    const { id } = await gateway.sms.send({ to: '+256700123456', message: 'A secret text' });
    await receiver.waitFor(({ body }) => body.messageId === id);
    await eventually(() => listener.written.out.includes('\n'));
    await listener.stop();
    expect(JSON.parse(listener.written.out)).toMatchObject({
      event: 'sms.sent',
      messageId: id,
      status: 200,
      error: null,
    });
    const folder = join(home, 'messaging-gateway-client');
    const [name = ''] = await readdir(folder);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    const kept = await readFile(join(folder, name), 'utf8');
    for (const secret of ['A secret text', '256700123456', account.key]) expect(kept).not.toContain(secret);
  });

  it('shows what the receiver does not take, and replays it', async () => {
    refused = 1;
    const listener = start(['listen', '--forward-to', receiver.url]);
    await forwarding(listener);
    await gateway.sms.send({ to: '0700123456,0700123457,0700123458', message: 'Hello' });
    await eventually(() => receiver.received.length === 3);
    await eventually(() => listener.written.out.split(' 500 ').length === 4);
    await listener.stop();
    const ids = [...listener.written.out.matchAll(/--replay (\S+)/g)].map(([, id]) => id ?? '');
    expect((await run(['listen', '--replay', ids[1] ?? ''])).code).toBe(1);
    refused = 0;
    expect((await run(['listen', '--replay', ids[1] ?? ''])).code).toBe(0);
    expect(receiver.received.at(-1)?.raw).toEqual(receiver.received[1]?.raw);
    const nobody = await run(['listen', '--replay', ids[1] ?? '', '--forward-to', 'http://127.0.0.1:9999/']);
    expect(nobody).toMatchObject({ code: 1, out: expect.stringContaining('no answer: ') });
  });

  it('makes a sample of an event and sends it where listen did, under the name of the service', async () => {
    const listener = start(['listen', '--forward-to', receiver.url]);
    await forwarding(listener);
    await listener.stop();
    const balance = (await gateway.account.get()).balance;
    expect(await run(['trigger', 'sms.failed', '--service-name', 'ACME'])).toMatchObject({ code: 0 });
    const hook = await receiver.waitFor(({ body }) => body.event === 'sms.failed');
    const { out: secret } = await run(['secret']);
    expect(await verifyWebhook(hook.raw, hook.headers, secret.trim())).toMatchObject({ event: 'sms.failed' });
    expect(hook.headers).toHaveProperty('x-acme-signature');
    expect((await gateway.account.get()).balance).toBe(balance);
    expect(await run(['trigger', 'sms.lost'])).toMatchObject({
      code: 1,
      fault: expect.stringContaining('sms.sent, sms.failed'),
    });
  });

  it('goes on after the gateway was away', async () => {
    let isAway = false;
    const proxy = await startHttpProxy(server.url, () => isAway);
    const listener = start(['listen', '--forward-to', receiver.url], { GATEWAY_URL: proxy.url });
    await forwarding(listener);
    isAway = true;
    await eventually(() => listener.written.fault.includes('Trying again.'));
    const { id } = await send();
    isAway = false;
    await receiver.waitFor(({ body }) => body.messageId === id);
    await listener.stop();
    await proxy.stop();
    expect(receiver.received).toHaveLength(1);
  });

  it.each([
    [['listen', '--forward-to', 'http://x'], { GATEWAY_API_KEY: '' }, /The API key is missing/],
    [['listen', '--forward-to', 'http://x'], { GATEWAY_API_KEY: 'msg_x' }, /The API key is not valid/],
    [['listen', '--forward-to', 'x'], {}, /--forward-to is no address: x/],
    [['listen', '--forward-to', 'http://x', '--service-name', 'a b'], {}, /letters, digits and hyphens/],
    [['listen'], {}, /Where to\? Pass --forward-to/],
    [['listen', '--replay', 'x', '--forward-to', 'http://x'], {}, /has forwarded no event x/],
    [['lissten'], {}, /There is no command lissten/],
    [['listen', '--forwardto', 'http://x'], {}, /Unknown option '--forwardto'/],
  ])('says in one line what is wrong with %j %j', async (args, environment, message) => {
    const { code, fault } = await run(args, environment as Record<string, string>);
    expect(code).toBe(1);
    expect(fault).toMatch(message);
    expect(fault.trim().split('\n')).toHaveLength(1);
  });

  it('ends as a process with exit code 1 and that line on stderr', async () => {
    const { code, out, fault } = await startProcess(['lissten']).ended;
    expect([code, out]).toEqual([1, '']);
    expect(fault).toMatch(/^There is no command lissten.*\n$/);
  });

  it('shows its help', async () => {
    expect(await run(['--help'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('--forward-to URL'),
    });
  });
});
