import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { signWebhook } from '../../sdk/typescript/src/index.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { losesFirstAnswers, startHttpProxy } from '../support/http-proxy.ts';
import { type Consumer, installSdk } from '../support/sdk-package.ts';

const NODE = 'bin/node';
const RUNTIMES = [
  ['Node 18.3', 'node-18-first', NODE, []],
  ['Node 18', 'node-18', NODE, []],
  ['Node 20', 'node-20', NODE, []],
  ['Node 22', 'node-22', NODE, []],
  ['Bun', 'bun', 'bin/bun', []],
  ['Deno', 'deno', 'deno', ['run', '--allow-all', '--node-modules-dir=manual']],
] as const;

/**
 * A program that uses what differs between runtimes: fetch and its errors, WebCrypto, abort signals, async iterators.
 */
const PROGRAM = `
async function main({ Gateway, GatewayError, verifyWebhook }) {
  const { KEY, SIGNED_KEY, SIGNING_SECRET, URL_LOSSY, URL_DEAD, BODY, SIGNATURE } = process.env;
  const gateway = new Gateway({ apiKey: KEY, baseUrl: URL_LOSSY, retryDelayMs: 1 });
  const sent = await gateway.sms.send({ to: gateway.testing.numbers.delivered, message: 'Hello' });
  const settled = await gateway.testing.settled(sent.id);
  const signed = new Gateway({ apiKey: SIGNED_KEY, signingSecret: SIGNING_SECRET, baseUrl: URL_LOSSY });
  const [account] = await Promise.all([signed.account.get(), signed.account.get()]);
  let walked = 0;
  for await (const entry of gateway.sms.history({ limit: 1 })) walked += entry.id === sent.id ? 1 : 0;
  const faultOf = (work) => work.then(() => 'none', (error) => (error instanceof GatewayError ? error.code : String(error)));
  const tries = [];
  const dead = new Gateway({ apiKey: KEY, baseUrl: URL_DEAD, retryDelayMs: 1, onTry: ({ attempt }) => tries.push(attempt) });
  const hook = await verifyWebhook(BODY, new Headers({ 'X-ACME-Signature': SIGNATURE }), 'whsec_x');
  console.log(JSON.stringify({
    status: settled.status,
    currency: account.currency,
    walked,
    refused: await faultOf(gateway.messages.get('x')),
    dead: await faultOf(dead.contacts.create({ name: 'x' })),
    tries,
    timeout: await faultOf(gateway.account.get({ signal: AbortSignal.abort() })),
    hook: hook.event,
    forged: await verifyWebhook(BODY + ' ', { 'x-acme-signature': SIGNATURE }, 'whsec_x').catch((error) => error.name),
  }));
}
`;

describe('the TypeScript SDK', () => {
  let server: TestGateway;
  let account: TestAccount;
  let consumer: Consumer;
  beforeAll(async () => {
    server = await startTestGateway();
    account = await server.createAccount();
    consumer = await installSdk();
    await consumer.write({
      'main.mjs': `import * as sdk from 'messaging-gateway-client';\n${PROGRAM}\nawait main(sdk);`,
      'main.cjs': `const sdk = require('messaging-gateway-client');\n${PROGRAM}\nmain(sdk);`,
    });
  });
  afterAll(async () => {
    await server?.stop();
    await consumer?.remove();
  });

  it.each(RUNTIMES)(
    'works the same on %s, from both kinds of modules, and so does its command line',
    async (_name, folder, program, args) => {
      const lossy = await startHttpProxy(server.url, losesFirstAnswers());
      const signed = await server.createKey(account.accountId, { enableHmac: true });
      const BODY = '{"event":"sms.sent","channel":"sms","timestamp":"2026-12-01T09:30:00.000Z","data":{}}';
      const environment = {
        KEY: account.key,
        SIGNED_KEY: signed.key,
        SIGNING_SECRET: signed.signingSecret ?? '',
        URL_LOSSY: lossy.url,
        URL_DEAD: `http://127.0.0.1:${await freePort()}`,
        BODY,
        SIGNATURE: await signWebhook(BODY, 'whsec_x'),
      };
      const command = join(import.meta.dirname, 'node_modules', folder, program);
      for (const file of ['main.mjs', 'main.cjs']) {
        expect(JSON.parse(await consumer.runWith([command, ...args, file], environment))).toEqual({
          status: 'delivered',
          currency: 'UGX',
          walked: 1,
          refused: 'not_found',
          dead: 'network_error',
          tries: [1, 2, 3, 4],
          timeout: 'network_error',
          hook: 'sms.sent',
          forged: 'WebhookSignatureError',
        });
      }
      expect(lossy.lost).toBe(2);
      const cli = 'node_modules/messaging-gateway-client/dist/esm/cli/main.js';
      const secret = await consumer.runWith([command, ...args, cli, 'secret', '--api-key', 'msg_x']);
      expect(secret).toMatch(/^whsec_[\w-]{43}\n$/);
      await lossy.stop();
    },
  );
});
