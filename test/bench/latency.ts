import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { startSmsc } from '../support/smsc.ts';
import { type BenchContext, type BenchResult, median } from './context.ts';

const MESSAGES = 200;

/** Row 5: how long after a POST begins the carrier and the webhook have it, on an idle machine. */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  let carriedAt = 0;
  const smsc = await startSmsc({
    answer: () => {
      carriedAt = performance.now();
      return 'accept';
    },
  });
  const hookAt = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const receiver = createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const at = performance.now();
    const { messageId } = JSON.parse(Buffer.concat(chunks).toString());
    hookAt.set(messageId, at);
    waiting.get(messageId)?.();
    answer.end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const server = await context.startServer({ SMS_ROUTES: `*=${smsc.url}` });
  try {
    const call = async (path: string, body: object) => {
      const answer = await request(`${server.url}/api/v1${path}`, {
        method: 'POST',
        headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const json = (await answer.body.json()) as { id: string };
      if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(json)}`);
      return json;
    };
    const { port } = receiver.address() as AddressInfo;
    await call('/developers/webhooks', { url: `http://127.0.0.1:${port}/`, events: ['sms.sent'] });
    const posts: number[] = [];
    const toCarrier: number[] = [];
    const toHook: number[] = [];
    for (let index = 0; index < MESSAGES; index++) {
      const at = performance.now();
      const { id } = await call('/developers/sms', { to: '+256700123456', message: `Message ${index}` });
      posts.push(performance.now() - at);
      if (!hookAt.has(id)) await new Promise<void>((resolve) => waiting.set(id, resolve));
      toCarrier.push(carriedAt - at);
      toHook.push((hookAt.get(id) ?? Number.NaN) - at);
    }
    const post = median(posts);
    return [
      { name: 'POST, alone, p50', value: post, unit: 'ms' },
      {
        row: 5,
        name: 'POST → carrier, p50',
        value: median(toCarrier),
        unit: 'ms',
        baseline: post,
        ratio: median(toCarrier) / post,
        reach: '25 ms',
      },
      {
        row: 5,
        name: 'POST → webhook, p50',
        value: median(toHook),
        unit: 'ms',
        baseline: post,
        ratio: median(toHook) / post,
        reach: '50 ms',
      },
    ];
  } finally {
    await server.stop();
    await smsc.stop();
    receiver.closeAllConnections();
    receiver.close();
  }
}
