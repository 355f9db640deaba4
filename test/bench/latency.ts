import { request } from 'undici';
import { startSmsc } from '../support/smsc.ts';
import { type BenchContext, type BenchResult, median } from './context.ts';
import { startHttpReceiver } from './http-receiver.ts';

const MESSAGES = 200;

/** Row 5: time from the start of a POST until the carrier and until the webhook receive it, on an idle machine. */
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
  const receiver = await startHttpReceiver((body) => {
    const at = performance.now();
    const { messageId } = JSON.parse(body);
    hookAt.set(messageId, at);
    waiting.get(messageId)?.();
  });
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
    await call('/developers/webhooks', { url: receiver.url, events: ['sms.sent'] });
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
    receiver.close();
  }
}
