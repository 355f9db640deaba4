import { type ChildProcess, spawn } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Gateway, signWebhook } from '../../sdk/typescript/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Consumer, installSdk } from '../support/sdk-package.ts';

const EXAMPLES = join(import.meta.dirname, '../../sdk/typescript/examples');

/** Serves the route handlers of the Next.js example with plain HTTP, because a handler maps a Request to a Response. */
const NEXT_SERVER = `
  import { createServer } from 'node:http';
  import * as orders from './next/app/api/orders/route.ts';
  import * as hook from './next/app/api/hook/route.ts';
  createServer(async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { POST } = incoming.url === '/orders' ? orders : hook;
    const body = Buffer.concat(chunks);
    const response = await POST(new Request('http://x' + incoming.url, { method: 'POST', headers: incoming.headers, body }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(Buffer.from(await response.arrayBuffer()));
  }).listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));`;

describe('the examples of the SDK, as they are run', () => {
  let consumer: Consumer;
  let server: TestGateway;
  let running: ChildProcess | undefined;
  beforeAll(async () => {
    server = await startTestGateway();
    consumer = await installSdk();
    await consumer.link('express', 'fastify');
    await cp(EXAMPLES, consumer.path, { recursive: true });
    await consumer.write({ 'next.js': NEXT_SERVER });
  });
  afterEach(() => {
    running?.kill();
  });
  afterAll(async () => {
    await server?.stop();
    await consumer?.remove();
  });

  // Next.js itself is not started: its handlers are plain functions from Request to Response.
  it.each(['express.ts', 'fastify.ts', 'next.js'])(
    '%s sends once for each order, and takes genuine webhooks only',
    async (file) => {
      const { key } = await server.createAccount();
      const gateway = new Gateway({ apiKey: key, baseUrl: server.url });
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      const { secret } = await gateway.webhooks.register({ url: `${url}/hook`, events: ['sms.sent'] });
      running = spawn(process.execPath, [file], {
        cwd: consumer.path,
        env: {
          PATH: process.env.PATH,
          GATEWAY_URL: server.url,
          GATEWAY_API_KEY: key,
          WEBHOOK_SECRET: secret,
          PORT: String(port),
        },
      });
      let written = '';
      for (const stream of [running.stdout, running.stderr]) {
        stream?.on('data', (piece) => {
          written += piece;
        });
      }
      await eventually(() => {
        if (running?.exitCode !== null) throw new Error(written);
        return written.includes('ready\n');
      });
      const order = async () => {
        const body = JSON.stringify({ id: 4711, phone: gateway.testing.numbers.delivered });
        const headers = { 'Content-Type': 'application/json' };
        return (await fetch(`${url}/orders`, { method: 'POST', headers, body })).json();
      };
      const { messageId } = (await order()) as { messageId: string };
      expect(await order()).toEqual({ messageId });
      await eventually(() => written.includes(`sms.sent ${messageId}\n`));
      expect((await gateway.sms.history()).pagination.total).toBe(1);

      const body =
        '{"event":"sms.sent","channel":"sms","messageId":"forged","timestamp":"2026-12-01T09:30:00.000Z","data":{}}';
      const deliver = async (signature: string) => {
        const headers = {
          'Content-Type': 'application/json',
          'X-Service-Signature': signature,
          'X-Service-Delivery': 'd',
        };
        return (await fetch(`${url}/hook`, { method: 'POST', headers, body })).status;
      };
      expect(await deliver(await signWebhook(body, 'whsec_other'))).toBe(400);
      expect(await deliver(await signWebhook(body, secret, Date.now() - 301_000))).toBe(400);
      expect(written).not.toContain('forged');
      expect(await deliver(await signWebhook(body, secret))).toBe(200);
      await eventually(() => written.includes('sms.sent forged\n'));
    },
  );
});
