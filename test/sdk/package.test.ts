import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type Consumer, installSdk } from '../support/sdk-package.ts';

const MAX_GZIP_BYTES = 12_000;
/** Maximum size of a bundle that only verifies webhooks, minified and compressed, in bytes. */
const MAX_VERIFY_GZIP_BYTES = 2_000;

describe('the package of the TypeScript SDK', () => {
  let consumer: Consumer;
  let server: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    consumer = await installSdk();
    server = await startTestGateway();
    account = await server.createAccount();
  });
  afterAll(async () => {
    await server?.stop();
    await consumer?.remove();
  });

  const send = `
    const gateway = new Gateway({ apiKey: process.env.KEY, baseUrl: process.env.URL });
    gateway.sms.send({ to: gateway.testing.numbers.delivered, message: 'Hello' }).then(({ status }) => console.log(status));`;
  const environment = () => ({ KEY: account.key, URL: server.url });

  it('sends from an ECMAScript module and from CommonJS', async () => {
    await consumer.write({
      'send.mjs': `import { Gateway } from 'messaging-gateway-client';${send}`,
      'send.cjs': `const { Gateway } = require('messaging-gateway-client');${send}`,
    });
    expect(await consumer.runModule('send.mjs', environment())).toBe('pending\n');
    expect(await consumer.runModule('send.cjs', environment())).toBe('pending\n');
  });

  it('has types for both, without the types of Node or of a browser being checked away', async () => {
    const typed = `
      const gateway = new Gateway({ apiKey: 'k', baseUrl: 'http://x' });
      export async function use(): Promise<void> {
        const sent: SmsMessage = await gateway.sms.send({ to: '1', message: 'a' }, { idempotencyKey: 'k' });
        const count: number = sent.metadata.smsCount;
        for await (const entry of gateway.sms.history({ status: 'failed' })) entry.createdAt.slice(count);
        const total: number = (await gateway.contacts.list()).pagination.total;
        // @ts-expect-error a message has no such member
        sent.nothing;
        // @ts-expect-error the text is missing
        await gateway.sms.send({ to: String(total) });
        // @ts-expect-error only sends take one
        await gateway.account.get({ idempotencyKey: 'k' });
        const hook = await gateway.webhooks.verify('', new Headers(), 'whsec_');
        if (hook.event === 'sms.failed') hook.data;
        // @ts-expect-error there is no such event
        if (hook.event === 'sms.lost') hook.data;
        try {
          await gateway.account.get();
        } catch (error) {
          if (error instanceof GatewayError && error.code === 'network_error') error.retryAfter;
        }
      }`;
    const from = `from 'messaging-gateway-client';`;
    await consumer.write({
      'typed.mts': `import { Gateway, GatewayError, type SmsMessage } ${from}${typed}`,
      'typed.cts': `import { Gateway, GatewayError, type SmsMessage } ${from}${typed}`,
    });
    const strict = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom,dom.iterable',
      '--types',
      '',
    ];
    await consumer.run('tsc', [...strict, '--module', 'nodenext', 'typed.mts', 'typed.cts']);
    await consumer.run('tsc', [
      ...strict,
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      'typed.mts',
    ]);
  }, 60_000);

  it('has no dependency and ships nothing but what is built, the page and the license', async () => {
    const folder = join(consumer.path, 'node_modules/messaging-gateway-client');
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ license: 'MIT', sideEffects: false, engines: { node: '>=18.3' } });
    expect(manifest.dependencies).toBeUndefined();
    expect(readdirSync(folder).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  });

  /** Returns the sizes in bytes of bundles, minified and compressed. Each has one of the exports of the package. */
  async function gzipBytesOf(exported: Readonly<Record<string, string>>): Promise<number[]> {
    await consumer.link('vite');
    const sources = Object.entries(exported).map(([name, list]) => [
      `${name}.js`,
      `export ${list} from 'messaging-gateway-client';`,
    ]);
    const program = `
      import { build } from 'vite';
      for (const name of ${JSON.stringify(Object.keys(exported))}) {
        const lib = { entry: name + '.js', formats: ['es'], fileName: 'out' };
        const outDir = 'bundled/' + name;
        await build({ configFile: false, logLevel: 'warn', build: { minify: true, target: 'es2022', lib, outDir } });
      }`;
    await consumer.write({ ...Object.fromEntries(sources), 'bundle.mjs': program });
    await consumer.run('node', ['bundle.mjs']);
    return Object.keys(exported).map(
      (name) => gzipSync(readFileSync(join(consumer.path, 'bundled', name, 'out.js')), { level: 9 }).length,
    );
  }

  it('is small, and of what is not used nothing stays', async () => {
    const [all, verify] = await gzipBytesOf({ all: '*', verify: '{ verifyWebhook }' });
    expect(all).toBeLessThan(MAX_GZIP_BYTES);
    expect(verify).toBeLessThan(MAX_VERIFY_GZIP_BYTES);
  });
});
