import { readFileSync } from 'node:fs';
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
    expect(await consumer.run('node', ['send.mjs'], environment())).toBe('pending\n');
    expect(await consumer.run('node', ['send.cjs'], environment())).toBe('pending\n');
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
    const manifest = JSON.parse(
      readFileSync(join(consumer.path, 'node_modules/messaging-gateway-client/package.json'), 'utf8'),
    );
    expect(manifest).toMatchObject({ license: 'MIT', sideEffects: false, engines: { node: '>=18.3' } });
    expect(manifest.dependencies).toBeUndefined();
    const listed = await consumer.run('node', [
      '-e',
      `console.log(require('node:fs').readdirSync('node_modules/messaging-gateway-client').sort().join())`,
    ]);
    expect(listed).toBe('LICENSE,README.md,dist,package.json\n');
  });

  /** Returns the size in bytes of a bundle that has this export of the package, minified and compressed. */
  async function gzipBytesOf(exported: string): Promise<number> {
    const lib = { entry: 'bundle.js', formats: ['es'], fileName: 'out' };
    await consumer.write({
      'bundle.js': `export ${exported} from 'messaging-gateway-client';`,
      'vite.config.js': `export default ${JSON.stringify({ build: { minify: true, target: 'es2022', lib } })};`,
    });
    await consumer.run('vite', ['build', '--logLevel', 'warn']);
    return gzipSync(readFileSync(join(consumer.path, 'dist/out.js')), { level: 9 }).length;
  }

  it('is small, and of what is not used nothing stays', async () => {
    const all = await gzipBytesOf('*');
    const verify = await gzipBytesOf('{ verifyWebhook }');
    expect(all).toBeLessThan(MAX_GZIP_BYTES);
    expect(verify).toBeLessThan(MAX_VERIFY_GZIP_BYTES);
  });
});
